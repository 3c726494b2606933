import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { startLambda } from "../../../infra/local/lambda.ts";
import { listen } from "../../../infra/local/listen.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { removeFile } from "../../../shared/attachments/files.ts";
import { newOrder, orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";

const Event = z.strictObject({
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.nullable(z.looseObject({ id: z.string() })),
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
/** The results of the first calls; every other is a 201. */
let results: (() => unknown)[];

/** An adapter function that reads every file. */
const adapter = async (event: unknown) => {
  const parsed = z.parse(Event, event);
  const content = parsed.file && Buffer.from(await (await fetch(parsed.file.url)).arrayBuffer());
  calls.push({ ...parsed, sha256: content ? createHash("sha256").update(content).digest("hex") : undefined });
  return (results.shift() ?? (() => ({ status: 201, body: { ok: true } })))();
};

let lambda: Awaited<ReturnType<typeof startLambda>>;
beforeAll(async () => {
  lambda = await startLambda(new Map([["adapter", adapter]]));
});
beforeEach(() => {
  [calls, results] = [[], []];
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    CARRIER_FUNCTION: "arn:aws:lambda:us-east-1:000000000000:function:adapter",
    CARRIER_TOKEN: "carrier-token",
  });
});
afterAll(async () => {
  delete process.env.CARRIER_FUNCTION;
  await lambda.close();
});

const fails = () => {
  throw new TypeError("the adapter has a defect");
};

describe("a checkout with an adapter function", () => {
  it("passes it every call as JSON, with a URL that returns the file", async () => {
    const order = await orderWithOneAttachment();
    expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
    const [request] = order.requests;
    const headers = { Accept: "application/json", Authorization: "Bearer carrier-token" };
    const file = { bytes: 15, sha256: calls[0]?.sha256, content_type: "application/pdf", filename: "loa.pdf" };
    expect(calls).toEqual([
      {
        method: "PUT",
        path: `/carts/${order.id}/requests/${request}/attachments/${order.attachment}`,
        headers: { ...headers, "Idempotency-Key": `forward-${request}-${order.attachment}-1` },
        body: { id: order.attachment, request_id: request, name: "LOA", notes: null, file_hint: "DEFAULT", ...file },
        file: { ...file, url: expect.stringContaining("X-Amz-Expires=900") },
        sha256: file.sha256,
      },
      {
        method: "POST",
        path: `/carts/${order.id}/checkout`,
        headers: { ...headers, "Idempotency-Key": `checkout-${order.id}` },
        body: null,
        file: null,
      },
    ]);
    expect(await receipts(order.id)).toEqual([`${order.carrierEntry} forwarded`]);
    expect((await stateOf(order.id)).state).toBe("CHECKED_OUT");
  });

  it.each([
    ["fails", fails],
    ["returns nothing", () => undefined],
    ["returns 503", () => ({ status: 503 })],
    ["returns 429 with Retry-After", () => ({ status: 429, headers: { "Retry-After": "1" } })],
  ])("calls it again, with the same key, if it %s", async (_, result) => {
    const order = await orderWithOneAttachment();
    results = [result, result];
    expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
    const puts = calls.filter(({ method }) => method === "PUT").map(({ headers }) => headers["Idempotency-Key"]);
    expect([puts.length, new Set(puts).size]).toEqual([3, 1]);
  });

  it("fails with the status and the beginning of the body if it refuses", async () => {
    const order = await orderWithOneAttachment();
    results = [() => ({ status: 422, body: "not a letter of authorization" })];
    expect(await checkOut(order.id)).toMatchObject({
      status: "FAILED",
      cause: expect.stringContaining("was refused by the carrier, not forwarded: 422 not a letter of authorization"),
    });
  });

  it.each([404, 409, 429])(
    "waits for a function that Lambda cannot invoke, and takes its %i for no answer",
    async (status) => {
      const order = await newOrder(addMessagingNumbers);
      let invocations = 0;
      const { url, close } = await listen(
        createServer((_, response) => {
          invocations += 1;
          response.writeHead(status, { "x-amzn-ErrorType": "SomeException" }).end("{}");
          if (invocations === 2) process.env.AWS_ENDPOINT_URL_LAMBDA = lambda.url;
        }),
      );
      process.env.AWS_ENDPOINT_URL_LAMBDA = url;
      expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
      await close();
      expect([invocations, calls.map(({ method }) => method)]).toEqual([2, ["POST"]]);
    },
  );

  it("withdraws what was deleted after it was forwarded", async () => {
    const order = await orderWithOneAttachment();
    const remove = () => call("DELETE", `${order.paths.request(0)}/${order.attachment}`, { key: order.key });
    expect(await checkOut(order.id, { after: { "checkout/forward": [remove] } })).toMatchObject({
      status: "SUCCEEDED",
    });
    expect(calls.map(({ method, body }) => [method, body?.id])).toEqual([
      ["PUT", order.attachment],
      ["DELETE", undefined],
      ["POST", undefined],
    ]);
  });

  it("fails, and does not call it, if a file is gone from storage", async () => {
    const order = await orderWithOneAttachment();
    await removeFile(fileKey({ type: "request", id: order.requests[0] ?? "" }, order.attachment));
    expect(await checkOut(order.id)).toMatchObject({
      status: "FAILED",
      cause: expect.stringContaining("its file is gone from storage"),
    });
    expect(calls).toEqual([]);
  });
});
