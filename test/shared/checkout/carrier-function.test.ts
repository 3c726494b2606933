import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { SignatureV4 } from "@smithy/signature-v4";
import { afterAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { startLambda } from "../../../infra/local/lambda.ts";
import { listen } from "../../../infra/local/listen.ts";
import { invokeAdapter } from "../../../shared/checkout/carrier-function.ts";
import { dynamodb } from "../../../shared/table/client.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";

/** Whole checkouts whose carrier is an adapter function. carrier-client.cases.test.ts tests each result of such a function. */

const Event = z.strictObject({
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.nullable(z.looseObject({})),
  file: z.nullable(
    z.strictObject({
      url: z.url(),
      bytes: z.number(),
      sha256: z.string(),
      content_type: z.string(),
      filename: z.string(),
    }),
  ),
});

let calls: (z.infer<typeof Event> & { readonly sha256: string | undefined })[];
/** The results of the first calls. Later calls are done. */
let results: (() => unknown)[];

/** An adapter function that reads every file. */
const adapter = async (event: unknown) => {
  const parsed = z.parse(Event, event);
  const content = parsed.file && Buffer.from(await (await fetch(parsed.file.url)).arrayBuffer());
  calls.push({ ...parsed, sha256: content ? createHash("sha256").update(content).digest("hex") : undefined });
  return (results.shift() ?? (() => ({ status: 200, body: { checked_out: true } })))();
};

const lambda = await startLambda(new Map([["adapter", adapter]]));
Object.assign(process.env, {
  AWS_ENDPOINT_URL_LAMBDA: lambda.url,
  CARRIER_FUNCTION: "arn:aws:lambda:us-east-1:000000000000:function:adapter",
  CARRIER_TOKEN: "the-carrier-token",
});
beforeEach(() => {
  [calls, results] = [[], []];
});
afterAll(() => lambda.close());

const fails = () => {
  throw new TypeError("the adapter has a defect");
};

describe("a checkout with an adapter function", () => {
  it("passes it every call as JSON, with a URL that returns the file, and again with the same key if it fails", async () => {
    const order = await orderWithOneAttachment();
    results = [fails, () => undefined, () => ({ status: 503 })];
    expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
    const [request] = order.requests;
    const headers = {
      Accept: "application/json",
      "Accept-Encoding": "identity",
      Authorization: "Bearer the-carrier-token",
    };
    const file = { bytes: 15, sha256: calls[0]?.sha256, content_type: "application/pdf", filename: "loa.pdf" };
    const put = {
      method: "PUT",
      path: `/carts/${order.id}/requests/${request}/attachments/${order.attachment}`,
      headers: { ...headers, "Idempotency-Key": `forward-${request}-${order.attachment}-1` },
      body: { id: order.attachment, request_id: request, name: "LOA", notes: null, file_hint: "DEFAULT", ...file },
      file: { ...file, url: expect.stringContaining("X-Amz-Expires=900") },
      sha256: file.sha256,
    };
    const post = {
      method: "POST",
      path: `/carts/${order.id}/checkout`,
      headers: { ...headers, "Idempotency-Key": expect.stringMatching(`^checkout-${order.id}-[0-9a-f]{16}$`) },
      body: {
        attachments: [
          {
            request_id: request,
            id: order.attachment,
            idempotency_key: put.headers["Idempotency-Key"],
            sha256: file.sha256,
          },
        ],
      },
      file: null,
    };
    expect(calls).toEqual([put, put, put, put, post]);
    expect(await receipts(order.id)).toEqual([`${order.carrierEntry} forwarded`]);
    expect((await stateOf(order.id)).state).toBe("CHECKED_OUT");
  });

  it("asks it whether the cart is checked out after a call whose outcome is unknown", async () => {
    const order = await orderWithOneAttachment();
    results = [() => ({ status: 201 }), () => ({ status: 500 }), ...Array(12).fill(() => ({ status: 403 }))];
    expect(await checkOut(order.id)).toMatchObject({ status: "FAILED" });
    // By then, no call can be in progress.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 200_000 });
    onTestFinished(() => void vi.useRealTimers());
    results = [() => ({ status: 200, body: { checked_out: true } })];
    expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
    const headers = {
      Accept: "application/json",
      "Accept-Encoding": "identity",
      Authorization: "Bearer the-carrier-token",
    };
    const get = {
      method: "GET",
      path: `/carts/${order.id}`,
      headers: { ...headers, "Cache-Control": "no-cache, no-store" },
      body: null,
      file: null,
    };
    expect([new Set(calls.map(({ method }) => method)), calls.at(-1)]).toEqual([new Set(["PUT", "POST", "GET"]), get]);
  });
});

it("returns null for no body, which is not the carrier's word that it has nothing to withdraw", async () => {
  const { url, close } = await listen(createServer((_, response) => response.end('{"status":404,"body":null}')));
  onTestFinished(close);
  vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", url);
  const call = { method: "DELETE", path: "/carts/1", headers: {}, body: null, file: null };
  expect(await invokeAdapter("adapter", call, Date.now() + 5_000)).toMatchObject({ status: 404, text: "" });
  vi.unstubAllEnvs();
});

/** No emulator verifies the signature. On AWS, a wrong one makes every call return 403. */
it("is invoked with a signature for Lambda that covers the host, the body and the time", async () => {
  const { promise: received, resolve } = Promise.withResolvers<{ headers: IncomingHttpHeaders; body: string }>();
  const { url, close } = await listen(
    createServer(async (request, response) => {
      resolve({ headers: request.headers, body: await text(request) });
      response.end(JSON.stringify({ status: 204 }));
    }),
  );
  onTestFinished(close);
  vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", url);
  const call = { method: "GET", path: "/carts/1", headers: {}, body: null, file: null };
  expect((await invokeAdapter("adapter", call, Date.now() + 5_000)).status).toBe(204);
  vi.unstubAllEnvs();
  const { headers, body } = await received;
  const { credentials, sha256 } = dynamodb().config;
  const signer = new SignatureV4({ service: "lambda", region: "us-east-1", credentials, sha256 });
  const { host = "", hostname } = new URL(url);
  const path = "/2015-03-31/functions/adapter/invocations";
  const request = { method: "POST", protocol: "http:", hostname, path, headers: { host }, body };
  const signingDate = new Date(String(headers["x-amz-date"]).replace(/^(....)(..)(.....)(..)(..Z)$/, "$1-$2-$3:$4:$5"));
  expect(headers.authorization).toBe((await signer.sign(request, { signingDate })).headers.authorization);
});
