import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, expect, it, onTestFinished, vi } from "vitest";
import { type LambdaHandler, startLambda } from "../../../infra/local/lambda.ts";
import { listen } from "../../../infra/local/listen.ts";
import { callCarrier } from "../../../shared/checkout/carrier-client.ts";
import { filePartBody } from "../../../shared/checkout/carrier-form.ts";

/** A call through the adapter in docs/examples has the same result as a direct one, as specified in shared/checkout/README.md. */

const example = new URL("../../../docs/examples/carrier-adapter.mjs", import.meta.url);
const { handler }: { readonly handler: LambdaHandler } = await import(example.href);
const lambda = await startLambda(new Map([["adapter", handler]]));
afterAll(() => lambda.close());

const content = Buffer.from("%PDF-1.7 signed");
const file = { bytes: content.length, sha256: createHash("sha256").update(content).digest("hex") };
const metadata = {
  id: "A",
  request_id: "R",
  name: "LOA",
  notes: null,
  file_hint: "LOA" as const,
  filename: "loä.pdf",
  ...file,
};

/** The carrier's response. Without a status, the carrier breaks the connection. With status 0, it never responds. */
type Row = { readonly status?: number; readonly headers?: Record<string, string>; readonly body?: string };
let row: Row = {};
let stored = content;
let received: unknown[] = [];

/** The carrier, which also serves the file. */
const server = createServer(async (incoming, outgoing) => {
  if (incoming.url === "/file") return outgoing.end(stored);
  const { method, url, headers } = incoming;
  const body = await buffer(incoming);
  const form =
    body.length > 0 &&
    (await new Response(body, { headers: { "Content-Type": `${headers["content-type"]}` } }).formData());
  const sent = form ? form.get("file") : null;
  const parts = form && [
    JSON.parse(String(form.get("metadata"))),
    sent instanceof File && [sent.name, sent.type, await sent.text()],
  ];
  received.push([method, url, headers.authorization, headers["idempotency-key"], parts]);
  if (url === "/elsewhere") return outgoing.end();
  if (row.status === undefined) return outgoing.destroy();
  if (row.status > 0) outgoing.writeHead(row.status, row.headers).end(row.body);
});
const { url, close } = await listen(server);
afterAll(() => close());

const call = async (method: "PUT" | "DELETE" | "POST", path: string, adapter: string) => {
  vi.stubEnv("CARRIER_FUNCTION", adapter);
  vi.stubEnv("CARRIER_URL", adapter ? url : `${url}/`);
  received = [];
  const sent = { ...metadata, bytes: file.bytes };
  const part = { sent, contentType: "application/pdf", ...file, open: async () => Readable.from([content]) };
  const outcome = await callCarrier({
    method,
    path,
    idempotencyKey: "key",
    // Shortens the retries of a call that gets no response.
    ...(!row.status && { endsBy: Date.now() + 1_000 }),
    ...(method === "PUT" && {
      body: () => filePartBody("boundary", metadata, part),
      described: async () => ({
        body: metadata,
        file: { ...file, url: `${url}/file`, content_type: "application/pdf", filename: metadata.filename },
      }),
    }),
  });
  return { outcome, received };
};

const later = { "Retry-After": "3600" };
const rows: [name: string, method: "PUT" | "DELETE" | "POST", row: Row, kind: string][] = [
  ["a PUT that is done", "PUT", { status: 201, body: '{"ok": true}' }, "done"],
  ["an empty response", "PUT", { status: 204 }, "done"],
  ["a DELETE that is done", "DELETE", { status: 200 }, "done"],
  ["a DELETE of what is gone", "DELETE", { status: 410, body: "{}" }, "gone"],
  ["a DELETE that a proxy denies", "DELETE", { status: 404, body: "<html>" }, "denied"],
  ["a checkout", "POST", { status: 200, body: '{"checked_out": true}' }, "done"],
  ["a checkout that is accepted", "POST", { status: 204 }, "accepted"],
  ["a cart that differs", "POST", { status: 412, body: '{"attachments": []}' }, "differs"],
  ["a maintenance page", "PUT", { status: 200, body: "<html>", headers: later }, "nothing"],
  ["a repeated checkout", "POST", { status: 409 }, "conflict"],
  ["too many calls", "PUT", { status: 429, headers: later }, "nothing"],
  ["an outage", "POST", { status: 503, headers: later }, "nothing"],
  ["an error that is tried again", "PUT", { status: 500, headers: later }, "nothing"],
  ["a broken connection", "PUT", {}, "nothing"],
  ["no response in time", "PUT", { status: 0 }, "nothing"],
  ["a wrong token", "PUT", { status: 401 }, "denied"],
  ["a refusal", "PUT", { status: 422, body: "no such number" }, "refused"],
  ["a conflict", "PUT", { status: 409 }, "conflict"],
  ["a redirect", "PUT", { status: 302, headers: { Location: "/elsewhere" } }, "nothing"],
  ["a redirect of a body", "PUT", { status: 308, headers: { Location: "/elsewhere" } }, "nothing"],
];

it.each(rows)("%s means the same through the adapter in docs/examples: %s", async (_name, method, response, kind) => {
  vi.stubEnv("CARRIER_TOKEN", "the-carrier-token").stubEnv("CARRIER_SECRET_ARN", "");
  vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", lambda.url);
  vi.stubEnv("CARRIER_TIMEOUT_MS", response.status === 0 ? "300" : "20000");
  row = response;
  const path = "/carts/O/requests/R/attachments/A";
  const [direct, adapted] = [await call(method, path, ""), await call(method, path, "adapter")];
  expect([direct.outcome.settles, adapted.outcome.settles]).toEqual([kind, kind]);
  expect(adapted.received[0]).toEqual(direct.received[0]);
  expect(direct.received[0]).toEqual([
    method,
    path,
    "Bearer the-carrier-token",
    "key",
    method === "PUT" && expect.any(Array),
  ]);
  const said = ({ outcome: { status, text, wait_seconds } }: typeof direct) => [wait_seconds, status && text];
  expect(said(adapted)).toEqual(said(direct));
});

it("sends nothing if storage has another file", async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", lambda.url);
  stored = Buffer.from("%PDF-1.7 forged");
  const { outcome, received: sent } = await call("PUT", "/carts/O/requests/R/attachments/A", "adapter");
  expect([outcome.settles, sent]).toEqual(["nothing", []]);
});

it.each(["keep-alive", "close"])("sends the rest after an early 2xx, or fails: Connection: %s", async (Connection) => {
  const large = Buffer.alloc(20_000_000);
  const sha256 = createHash("sha256").update(large).digest("hex");
  const { promise: whole, resolve } = Promise.withResolvers<void>();
  const early = await listen(
    createServer((incoming, outgoing) => {
      if (incoming.url === "/file") return outgoing.end(large);
      outgoing.writeHead(201, { Connection }).end();
      incoming.on("end", resolve).on("error", () => {});
      return incoming.resume();
    }),
  );
  onTestFinished(() => early.close());
  vi.stubEnv("CARRIER_URL", early.url);
  const sent = { url: `${early.url}/file`, bytes: large.length, sha256, content_type: "image/tiff", filename: "a.tif" };
  const event = { method: "PUT", path: "/", headers: {}, body: metadata, file: sent };
  const result = Promise.resolve(handler(event, { functionName: "adapter", awsRequestId: "1" }));
  if (Connection === "close") return expect(result).rejects.toThrow();
  expect(await result).toMatchObject({ status: 201 });
  return whole;
});
