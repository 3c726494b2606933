import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { createAttachmentRoutes } from "../../../shared/attachments/routes.ts";
import { readForm } from "../../../shared/http/form.ts";
import { attachmentOf, form, rawForm, upload } from "../../support/fixtures/attachments.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call, errorBody, invalidBody } from "../../support/requests/client.ts";
import { eventOf } from "../../support/requests/event.ts";

/** Unusual requests that real clients send, and malformed ones that must be refused. */

const t = await tenants();
const key = t.key("acme");
const path = t.attachments("request", "acme");

const post = (body: FormData, headers = {}) => call("POST", path, { key, body, headers });
const postRaw = (...parts: Parameters<typeof rawForm>) => call("POST", path, { key, ...rawForm(...parts) });
const name: [string, string] = ['Content-Disposition: form-data; name="data[name]"', "LOA"];
const file = (
  parameters: string,
  more = "",
  content: string | Uint8Array = "content",
): [string, string | Uint8Array] => [
  `Content-Disposition: form-data; name="data[file]"${parameters}\r\nContent-Type: application/pdf${more}`,
  content,
];

it("the filename* of an upload is read only from the header of the file's own part", async () => {
  const header = `Content-Disposition: form-data; name="data[file]"; filename*=utf-8''evil.exe`;
  const notes: [string, string] = ['Content-Disposition: form-data; name="data[notes]"', `see filename*=utf-8''evil`];
  const letter = file(`; filename="loa.pdf"; filename*=utf-8''real.pdf`, "", `x\r\n--\r\n${header}\r\n\r\n`);
  expect(attachmentOf(await postRaw(notes, name, letter)).filename).toBe("real.pdf");
  expect(attachmentOf(await postRaw(name, file(`; filename="loa.pdf"`, "", header))).filename).toBe("loa.pdf");
});

describe("a hostile form", () => {
  const { parts } = createAttachmentRoutes.request.reads;
  /** Measures five reads, because some systems count processor time in steps of 10 ms. */
  const timeOf = async ({ body, headers }: ReturnType<typeof rawForm>) => {
    const event = eventOf(createAttachmentRoutes.request, { headers, body });
    const before = process.threadCpuUsage();
    for (let read = 0; read < 5; read += 1)
      await readForm(event, { from: "form", schema: z.unknown(), parts }).catch((error: unknown) => error);
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  };
  const bytes = 4_590_000;
  const fileOf = (content: string) => file(`; filename="a.pdf"`, "", Buffer.alloc(bytes, content));
  const plain = rawForm(name, fileOf("plain"));
  const parameters = Array.from({ length: 2_000 }, (_, index) => `p${index}=v`).join(";");

  it.each([
    ["headers in its file", rawForm(name, fileOf(`\r\n--\r\nCONTENT-DISPOSITION:;FILENAME*=UTF-8''E;O`))],
    ["the beginning of a boundary, again and again", rawForm(name, fileOf("\r\n----patchba"))],
    ["thousands of parts", rawForm(...Array(60_000).fill(name))],
    ["long headers in each part", rawForm(name, ...Array(90).fill([`${name[0]}; ${parameters}`, ""]), fileOf("x"))],
    ["one header of megabytes", rawForm(name, file(`; filename="${"a".repeat(bytes)}"`))],
    [
      "parts after its end",
      { ...plain, body: Buffer.concat([rawForm(name).body, Buffer.alloc(bytes, "\r\n------patchbay\r\n")]) },
    ],
  ])("takes time in proportion to its size, like a plain one: %s", async (_, hostile) => {
    expect((await timeOf(hostile)) / (await timeOf(plain))).toBeLessThan(8);
  });
});

describe("a header", () => {
  const authorization = ["authorization", `Bearer ${key}`];
  const sendLines = async (method: string, below: string, lines: readonly string[], body: string | Buffer = "") => {
    const url = new URL(path + below, process.env.PATCHBAY_URL);
    const headers = ["host", url.host, "content-length", `${body.length}`, ...lines];
    const outgoing = httpRequest(url, { method, headers }).end(body);
    const response = await new Promise<import("node:http").IncomingMessage>((resolve) =>
      outgoing.once("response", resolve),
    );
    return { status: response.statusCode, body: JSON.parse(await text(response)) };
  };

  it("If-Match may be sent in several lines", async () => {
    const { id } = await upload(path, key);
    const response = await sendLines("DELETE", `/${id}`, [...authorization, "if-match", '"1"', "if-match", '"7"']);
    expect(response).toMatchObject({ status: 200, body: { data: { id } } });
  });

  it("Content-Encoding may only be identity, in each of its lines", async () => {
    const { body, headers } = rawForm(name, file(`; filename="a.pdf"`));
    const lines = [...authorization, "content-type", headers["content-type"]];
    const encoded = [...lines, "content-encoding", "gzip", "content-encoding", "identity"];
    expect((await sendLines("POST", "", encoded, body)).status).toBe(415);
  });

  it.each(["idempotency-key", "Idempotency-Key"])(
    "Idempotency-Key may not, not even the same twice: %s",
    async (line) => {
      const { body, headers } = rawForm(name, file(`; filename="a.pdf"`));
      const lines = [
        ...authorization,
        "content-type",
        headers["content-type"],
        "Idempotency-Key",
        "same",
        line,
        "same",
      ];
      const problem = { sub_code: "constraint.type", detail: "must be given only once" };
      expect(await sendLines("POST", "", lines, body)).toEqual({
        status: 422,
        body: invalidBody("header", "/Idempotency-Key", problem),
      });
    },
  );

  it.each([
    ["the same twice", [...authorization, ...authorization]],
    ["once in capitals", [...authorization, "AUTHORIZATION", `Bearer ${key}`]],
    ["with another scheme first", ["authorization", "Basic eDp5", ...authorization]],
    ["with another scheme last", [...authorization, "authorization", "Basic eDp5"]],
    ["in one line", ["authorization", `Bearer ${key}, Bearer ${key}`]],
  ])("Authorization may not: %s is a 401", async (_, lines) => {
    expect((await sendLines("GET", "", authorization)).status).toBe(200);
    const detail = "The access token is missing or invalid.";
    const body = errorBody({ code: "unauthorized", title: "Unauthorized", detail });
    expect(await sendLines("GET", "", lines)).toEqual({ status: 401, body });
  });

  it("Idempotency-Key treats forms with and without `type` as the same request", async () => {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const first = await post(form(), headers);
    const second = await post(form({ type: "request_attachment" }), headers);
    expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(second.body).toEqual(first.body);
  });
});
