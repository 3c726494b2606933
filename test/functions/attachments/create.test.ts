import { beforeAll, describe, expect, it } from "vitest";
import { attachmentOf, form, pageOf, pdf, rawForm, upload } from "../../support/fixtures/attachments.ts";
import { sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call, codeOf, invalidParametersOf } from "../../support/requests/client.ts";

describe.each(sampledParentTypes("request"))("attachments of a %s", (kind) => {
  let path: string;
  let key: string;
  let parentId: string;

  beforeAll(async () => {
    const t = await tenants();
    parentId = kind === "request" ? t.request("acme") : t.order("acme");
    key = t.key("acme");
    path = t.attachments(kind, "acme");
  });

  const post = (body: FormData, headers = {}) => call("POST", path, { key, body, headers });
  const postRaw = (...parts: Parameters<typeof rawForm>) => call("POST", path, { key, ...rawForm(...parts) });

  const ulid = expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const filePart = (parameters: string, type?: string): [string, string] => [
    `Content-Disposition: form-data; name="data[file]"${parameters}${type ? `\r\nContent-Type: ${type}` : ""}`,
    "content",
  ];
  const namePart: [string, string] = ['Content-Disposition: form-data; name="data[name]"', "LOA"];

  describe("an upload", () => {
    it("returns 201 with the whole document, an ETag and a request id", async () => {
      const response = await post(
        form({
          type: `${kind}_attachment`,
          "data[name]": "  Letter of authorization ",
          "data[notes]": "signed",
          "data[file_hint]": "LOA",
          "data[reference_id]": "7B3E4C1A-0000-4000-8000-00000000ABCD",
          "data[filename]": "signed loa.pdf",
        }),
      );
      expect(response.status).toBe(201);
      expect(response.body).toEqual({
        type: `${kind}_attachment`,
        data: {
          id: ulid,
          name: "Letter of authorization",
          notes: "signed",
          file_hint: "LOA",
          reference_id: "7b3e4c1a-0000-4000-8000-00000000abcd",
          filename: "signed loa.pdf",
          inserted_at: timestamp,
          updated_at: timestamp,
        },
        ...(kind === "request" && { associations: { request: { type: "request", data: { id: parentId } } } }),
      });
      expect(response.headers.get("etag")).toBe('"1"');
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("x-request-id")).toMatch(/.+/);
    });

    it("decodes parts that a generated client sends as JSON", async () => {
      const id = "0d9f2c6e-0000-4000-8000-00000000abcd";
      const part = (name: string, json: string): [string, string] => [
        `Content-Disposition: form-data; name="data[${name}]"\r\nContent-Type: application/json`,
        json,
      ];
      const parts = [part("file_hint", '"LOA"'), part("reference_id", `"${id}"`), part("notes", "{a: 1}")];
      const response = await postRaw(namePart, ...parts, filePart(`; filename="a.pdf"`));
      expect(attachmentOf(response)).toMatchObject({ file_hint: "LOA", reference_id: id, notes: "{a: 1}" });
    });

    it("fills in the defaults and uses the file's own name", async () => {
      const response = await post(form({}, pdf("Gebühren – 请求.pdf")));
      expect(attachmentOf(response)).toMatchObject({
        name: "LOA",
        notes: null,
        file_hint: "DEFAULT",
        reference_id: null,
        filename: "Gebühren – 请求.pdf",
      });
    });

    it("ignores unknown parts, and treats empty optional ones as left out, as HTML forms send them", async () => {
      const empty = {
        type: "",
        "data[notes]": "",
        "data[file_hint]": "",
        "data[reference_id]": "",
        "data[filename]": "",
      };
      const response = await post(form({ ...empty, "data[color]": "red", unknown: "1" }));
      expect([response.status, attachmentOf(response)]).toEqual([
        201,
        expect.objectContaining({ notes: null, file_hint: "DEFAULT", reference_id: null, filename: "loa.pdf" }),
      ]);
    });

    it("accepts the parent's id in lower case", async () => {
      const response = await call("POST", path.replace(parentId, parentId.toLowerCase()), { key, body: form() });
      expect(response.status).toBe(201);
      if (kind === "request")
        expect(response.body).toMatchObject({ associations: { request: { data: { id: parentId } } } });
    });

    it("counts characters, not UTF-16 units or bytes", async () => {
      expect((await post(form({ "data[name]": "😀".repeat(255) }))).status).toBe(201);
      expect(invalidParametersOf(await post(form({ "data[name]": "😀".repeat(256) })))).toEqual([
        "body /data/name constraint.length",
      ]);
    });

    it("accepts a file of 4.2 MB", async () => {
      const content = new File([new Uint8Array(4.2 * 1024 * 1024).fill(7)], "big.bin");
      expect((await post(form({}, content))).status).toBe(201);
    });
  });

  describe("an uploaded file's name", () => {
    it.each([
      [`; filename="../../etc/passwd"`, "passwd"],
      [`; filename="C:\\\\Users\\\\ann\\\\loa.pdf"`, "loa.pdf"],
      [`; filename="C:\\Users\\ann\\loa.pdf"`, "loa.pdf"],
      [`; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.pdf`, "naïve €.pdf"],
      [`; filename="a\u0007b.pdf"`, "ab.pdf"],
      [`; filename="C:\\tmp\\b.pdf"`, "b.pdf"],
      [`; filename="a%22b%0D%0Ac.pdf"`, `a"bc.pdf`],
      [`; filename="a\\"b.pdf"`, `a"b.pdf`],
      [`; filename="100%25; a.pdf"`, "100%25; a.pdf"],
      [`; FileName=plain.pdf`, "plain.pdf"],
      [`; filename="ä.pdf"`, "ä.pdf"],
      [`; filename=".."`, "attachment"],
      [`; filename=""`, "attachment"],
    ])("%s is stored as %s", async (parameters, expected) => {
      expect(attachmentOf(await postRaw(namePart, filePart(parameters, "application/pdf"))).filename).toBe(expected);
    });

    it("is `attachment` if the client sends none", async () => {
      for (const type of ["application/octet-stream", "application/pdf"])
        expect(attachmentOf(await postRaw(namePart, filePart("", type))).filename, type).toBe("attachment");
    });
  });

  describe("an invalid upload", () => {
    it("names every invalid part of the form in one response", async () => {
      const response = await post(
        form(
          {
            type: "switch",
            "data[name]": " ",
            "data[notes]": "n".repeat(4001),
            "data[file_hint]": "loa",
            "data[reference_id]": "no-uuid",
            "data[filename]": "a/b",
          },
          null,
        ),
      );
      expect(response.status).toBe(422);
      expect(response.body).toEqual({
        errors: [
          ["/type", "constraint.enum", `must be ${kind}_attachment`],
          ["/data/file", "constraint.required", "can't be blank"],
          ["/data/name", "constraint.required", "can't be blank"],
          ["/data/notes", "constraint.length", "must be at most 4000 characters"],
          ["/data/file_hint", "constraint.enum", "must be one of DEFAULT, LOA"],
          ["/data/reference_id", "constraint.format", "must be a UUID"],
          ["/data/filename", "constraint.format", "must not contain /, \\ or control characters"],
        ].map(([pointer, sub_code, detail]) => ({
          code: "invalid_parameter",
          title: "Invalid Parameter",
          detail,
          sub_code,
          source: { in: "body", pointer },
        })),
      });
    });

    it.each<[string, () => Promise<Awaited<ReturnType<typeof call>>>, string]>([
      ["without a name", () => post(form({ "data[name]": undefined })), "/data/name constraint.required"],
      [
        "with a name that is too long",
        () => post(form({ "data[name]": "n".repeat(256) })),
        "/data/name constraint.length",
      ],
      ["with an empty file", () => post(form({}, pdf("loa.pdf", ""))), "/data/file constraint.length"],
      [
        "with a text in place of the file",
        () => post(form({ "data[file]": "loa.pdf" }, null)),
        "/data/file constraint.type",
      ],
      [
        "with two files",
        () => postRaw(namePart, filePart(`; filename="a"`, "text/plain"), filePart(`; filename="b"`, "text/plain")),
        "/data/file constraint.type",
      ],
      ["with two names", () => postRaw(namePart, namePart, filePart(`; filename="a"`)), "/data/name constraint.type"],
      [
        "with a filename that is too long",
        () => post(form({ "data[filename]": "f".repeat(256) })),
        "/data/filename constraint.length",
      ],
      ["with an empty name", () => post(form({ "data[name]": "" })), "/data/name constraint.required"],
    ])("%s returns 422", async (_, send, parameter) => {
      const response = await send();
      expect(response.status).toBe(422);
      expect(invalidParametersOf(response)).toEqual([`body ${parameter}`]);
    });

    it("that is cut off, has no boundary or has too many parts returns 422", async () => {
      const { body, headers } = rawForm(namePart, filePart(`; filename="a"`));
      const many = Array.from({ length: 150 }, () => namePart);
      for (const [label, sent] of [
        ["cut off", { body: body.subarray(0, body.length - 20), headers }],
        ["without a boundary", { body, headers: { "content-type": "multipart/form-data" } }],
        ["with 150 parts", rawForm(...many)],
      ] as const)
        expect(invalidParametersOf(await call("POST", path, { key, ...sent })), label).toEqual(["body  malformed"]);
    });

    it("of another media type returns 415", async () => {
      const headers = { "content-type": "application/pdf" };
      const response = await call("POST", path, { key, body: "%PDF-1.7", headers });
      expect(response.status).toBe(415);
      expect(response.body).toEqual({
        errors: [
          {
            code: "unsupported_media_type",
            title: "Unsupported Media Type",
            detail: "The Content-Type must be multipart/form-data.",
            sub_code: "none",
            params: { expected: "multipart/form-data" },
          },
        ],
      });
    });

    it("with a file over the limit returns 413 from the function or from the gateway", async () => {
      for (const size of [4_600_001, 7_000_000, 11_000_000]) {
        const response = await post(form({}, new File([new Uint8Array(size)], "big.bin")));
        expect([response.status, codeOf(response)], `${size} bytes`).toEqual([413, "payload_too_large"]);
        expect(response.body, `${size} bytes`).toMatchObject({ errors: [{ params: { limit_bytes: 4_600_000 } }] });
      }
    });
  });

  describe("a reference_id", () => {
    const reference = "11111111-2222-3333-4444-555555555555";

    it("is unique under its parent regardless of case, and free again after a delete", async () => {
      const first = await upload(path, key, { "data[reference_id]": reference });
      const again = await post(form({ "data[reference_id]": reference.toUpperCase() }));
      expect(again.status).toBe(422);
      expect(again.body).toEqual({
        errors: [
          {
            code: "invalid_parameter",
            title: "Invalid Parameter",
            detail: "has already been taken",
            sub_code: "constraint.unique",
            source: { in: "body", pointer: "/data/reference_id" },
            params: { resource: { id: first.id, type: `${kind}_attachment` } },
          },
        ],
      });
      expect((await call("DELETE", `${path}/${first.id}`, { key })).status).toBe(200);
      expect((await post(form({ "data[reference_id]": reference }))).status).toBe(201);
    });

    it("may be used again under another parent", async () => {
      const t = await tenants();
      for (const name of ["acme", "sibling"])
        await upload(t.attachments(kind, name), t.key("acme"), {
          "data[reference_id]": reference,
        });
    });

    it("is given to one of 12 concurrent uploads, and the total counts only that one", async () => {
      const t = await tenants();
      const own = { path: t.attachments(kind, "acme"), key: t.key("acme") };
      const responses = await Promise.all(
        Array.from({ length: 12 }, () =>
          call("POST", own.path, { key: own.key, body: form({ "data[reference_id]": reference }) }),
        ),
      );
      expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(422)]);
      expect(pageOf(await call("GET", own.path, { key: own.key }))).toMatchObject({ total: 1 });
    });
  });
});
