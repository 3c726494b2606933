import { createServer } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { listen } from "../../../infra/local/listen.ts";
import { newOrder, orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { carrier, type Misbehaviour } from "../../support/servers/carrier.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterEach(() => upstream.behave());
afterAll(() => upstream.close());

/** Checks an order out whose file the carrier stores once, although its calls fail. Returns the number of calls. */
const callsToStoreOnce = async (fault: Omit<Misbehaviour, "method" | "times">) => {
  const order = await orderWithOneAttachment();
  await upstream.misbehave({ method: "PUT", times: 2, ...fault });
  expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
  expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
  const { calls } = await upstream.cart(order.id);
  const puts = calls.filter(({ method }) => method === "PUT");
  expect(new Set(puts.map((call) => call.idempotency_key)).size).toBe(1);
  return puts.length;
};

describe("a carrier that fails or is busy", () => {
  it.each([
    ["500", { action: "status", status: 500 }],
    ["a connection broken before the carrier reads", { action: "drop-before" }],
    ["a connection broken after the carrier acts", { action: "drop-after" }],
    ["a truncated response", { action: "cut" }],
  ] as const)("is called again after %s, and stores the file once", async (_, fault) => {
    expect(await callsToStoreOnce(fault)).toBe(3);
  });

  it("is called again after no response in time, and stores the file once", async () => {
    vi.stubEnv("CARRIER_TIMEOUT_MS", "400");
    onTestFinished(() => void vi.unstubAllEnvs());
    // On a busy machine, an attempt without a fault may exceed this timeout, too.
    expect(await callsToStoreOnce({ action: "delay", delay_ms: 700 })).toBeGreaterThanOrEqual(3);
  });

  it.each(["drop-after", "cut"] as const)(
    "checks a cart out once although its response is lost (%s)",
    async (action) => {
      const order = await orderWithOneAttachment();
      await upstream.misbehave({ method: "POST", path: "/checkout$", times: 2, action });
      expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
      const { calls, checked_out } = await upstream.cart(order.id);
      expect(checked_out).toBe(true);
      expect(new Set(calls.filter(({ method }) => method === "POST").map((call) => call.idempotency_key)).size).toBe(1);
      expect(await stateOf(order.id)).toMatchObject({ state: "CHECKED_OUT", run: "SUCCEEDED" });
    },
  );

  it("accepts a cart that is already checked out", async () => {
    const order = await newOrder(addMessagingNumbers);
    await upstream.misbehave({ method: "POST", path: "/checkout$", action: "status", status: 409 });
    expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
    expect((await stateOf(order.id)).state).toBe("CHECKED_OUT");
  });

  it("is waited for by the workflow if it asks for a long wait", async () => {
    const order = await orderWithOneAttachment();
    const busy = { action: "status", status: 429, headers: { "Retry-After": "120" } } as const;
    await upstream.misbehave({ method: "PUT", times: 3, ...busy });
    await upstream.misbehave({ method: "POST", times: 2, ...busy });
    const run = await checkOut(order.id);
    expect(run.status).toBe("SUCCEEDED");
    expect(run.called.filter((name) => name === "checkout/forward").length).toBe(4);
    expect(run.called.filter((name) => name === "checkout/submit").length).toBe(3);
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
  });

  it("gets the longest of several waits that it asks for", async () => {
    const order = await orderWithOneAttachment();
    const others = [await order.attach(0), await order.attach("order")];
    const busy = { method: "PUT", action: "status", status: 429 } as const;
    for (const [index, id] of [order.attachment, ...others].entries())
      await upstream.misbehave({ ...busy, path: id, headers: { "Retry-After": String([600, 3000, 1200][index]) } });
    const run = await checkOut(order.id);
    expect(run.status).toBe("SUCCEEDED");
    expect(Math.max(...run.waits)).toBe(3000);
    expect((await upstream.forwarded(order.id)).length).toBe(3);
  });

  it("fails the run if it stays unavailable, and the next run forwards what is missing", async () => {
    const order = await orderWithOneAttachment();
    const second = await order.attach("order");
    const busy = { status: 503, headers: { "Retry-After": "60" } } as const;
    await upstream.misbehave({ method: "PUT", path: second, times: 100, action: "status", ...busy });
    const run = await checkOut(order.id);
    expect(run).toMatchObject({ status: "FAILED", error: "CheckoutFailed" });
    expect(run.cause).toContain(second);
    expect(run.cause).toContain("it responded with 503");
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "FAILED", seals: 0, reason: run.cause });
    await upstream.behave();
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect((await upstream.forwarded(order.id)).length).toBe(2);
    const { calls } = await upstream.cart(order.id);
    expect(calls.filter(({ path }) => path.endsWith(order.attachment)).length).toBe(1);
  });
});

describe("a carrier that refuses", () => {
  it("an attachment fails the run with its reason, and is called again by the next run", async () => {
    const order = await orderWithOneAttachment();
    await upstream.misbehave({ method: "PUT", action: "status", status: 422 });
    const run = await checkOut(order.id);
    expect(run).toMatchObject({ status: "FAILED", error: "CheckoutFailed" });
    expect(run.cause).toBe(
      `The attachment ${order.attachment} of the request ${order.requests[0]} was refused by the carrier, not forwarded: 422 {"error":"injected fault"}`,
    );
    expect(await receipts(order.id)).toEqual([`${order.carrierEntry} refused`]);
    expect(await stateOf(order.id)).toEqual({ state: "CART", run: "FAILED", seals: 0, reason: run.cause });
    expect((await upstream.cart(order.id)).checked_out).toBe(false);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
  });

  it("the checkout leaves the order in CART without seals, and the next run includes what was added since", async () => {
    const order = await orderWithOneAttachment();
    await upstream.misbehave({ method: "POST", action: "status", status: 422 });
    const run = await checkOut(order.id);
    expect(run.cause).toBe('The carrier refused to check the cart out: 422 {"error":"injected fault"}');
    expect(await stateOf(order.id)).toEqual({ state: "CART", run: "FAILED", seals: 0, reason: run.cause });
    const added = await order.attach(0);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry, `${order.requests[0]} ${added}`].sort());
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 422", "PUT 201", "POST 200"]);
  });

  it("our token fails the run", async () => {
    const order = await orderWithOneAttachment();
    process.env.CARRIER_TOKEN = "another";
    expect((await checkOut(order.id)).cause).toContain("401");
    process.env.CARRIER_TOKEN = "carrier-token";
  });
});

describe("a carrier that redirects", () => {
  it.each([302, 308])("fails the run at once with %i", async (status) => {
    const order = await orderWithOneAttachment();
    const headers = { Location: `${upstream.url}/elsewhere` };
    await upstream.misbehave({ method: "PUT", times: 100, action: "status", status, headers });
    const run = await checkOut(order.id);
    expect(run.cause).toBe(
      `The attachment ${order.attachment} of the request ${order.requests[0]} was refused by the carrier, not forwarded: it redirects to another address`,
    );
    expect(await upstream.calls(order.id)).toEqual([`PUT ${status}`]);
    await upstream.behave();
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
  });

  it("the checkout leaves the outcome of an earlier attempt unknown", async () => {
    const order = await orderWithOneAttachment();
    await upstream.misbehave({ method: "POST", action: "drop-after" });
    await upstream.misbehave({ method: "POST", action: "status", status: 302, headers: { Location: "/" } });
    expect((await checkOut(order.id)).cause).toContain("Whether the cart is checked out is not known");
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
  });
});

describe("a carrier that rejects the token", () => {
  /** Starts a stand-in Secrets Manager that returns these tokens in turn, and the last one from then on. */
  const secrets = async (...tokens: readonly string[]) => {
    let reads = 0;
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify({ SecretString: tokens[Math.min(reads, tokens.length - 1)] }));
      reads += 1;
    });
    const { url } = await listen(server, 0);
    vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url);
    vi.stubEnv("CARRIER_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:000000000000:secret:carrier");
    // Moves the clock, so that tokens cached by earlier tests expire.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + secretsRead * 600_000 });
    secretsRead += 1;
    return { reads: () => reads, close: () => server.close() };
  };
  let secretsRead = 1;
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });

  it("is called once more after one new read of the secret for all calls", async () => {
    const order = await newOrder(addMessagingNumbers);
    for (let nth = 0; nth < 6; nth += 1) await order.attach(0);
    const secret = await secrets("the-old-token", "carrier-token");
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect((await upstream.forwarded(order.id)).length).toBe(6);
    expect(secret.reads()).toBe(2);
    secret.close();
  });

  it("fails the run if the secret has no other token", async () => {
    const order = await orderWithOneAttachment();
    const secret = await secrets("the-old-token");
    const run = await checkOut(order.id);
    expect(run.cause).toContain("was refused by the carrier, not forwarded: 401");
    expect(secret.reads()).toBe(2);
    secret.close();
  });
});
