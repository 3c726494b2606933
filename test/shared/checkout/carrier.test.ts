import { createServer } from "node:http";
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { orderReport } from "../../../infra/admin/orders/report.ts";
import { listen } from "../../../infra/local/listen.ts";
import { carrierToken, renewedCarrierToken } from "../../../shared/checkout/carrier-token.ts";
import { newOrder, orderWithOneAttachment, type TestOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { carrier, type Misbehaviour } from "../../support/servers/carrier.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";

/** Whole checkouts whose carrier fails. carrier-client.cases.test.ts tests each response and each network error. */

const upstream = await carrier();
afterEach(async () => {
  await upstream.behave();
  vi.useRealTimers();
  vi.unstubAllEnvs();
});
afterAll(() => upstream.close());

const busy = (seconds: number) =>
  ({ action: "status", status: 429, headers: { "Retry-After": String(seconds) } }) as const;

/** The calls that the carrier got, as "idempotency key status". */
const keysOf = async ({ id }: TestOrder) =>
  (await upstream.cart(id)).calls.map(({ idempotency_key, status }) => `${idempotency_key} ${status}`);

describe("a carrier that fails or is busy", () => {
  it.each([
    ["does not respond, or to the end", ["drop-before", "drop-after", "cut"]],
    ["responds too late, or 500", ["delay", "status"]],
  ] as const)(
    "is called again with the same keys, and stores a file and checks a cart out once: it %s",
    async (_, actions) => {
      // On a busy machine, even an attempt without a fault may exceed this timeout.
      if (actions.some((action) => action === "delay")) vi.stubEnv("CARRIER_TIMEOUT_MS", "400");
      const order = await orderWithOneAttachment();
      for (const method of ["PUT", "POST"])
        for (const action of actions) await upstream.misbehave({ method, action, status: 500, delay_ms: 700 });
      expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
      expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
      const { calls } = await upstream.cart(order.id);
      expect(calls.length).toBeGreaterThanOrEqual(2 * (actions.length + 1));
      expect(new Set(calls.map((call) => call.idempotency_key)).size).toBe(2);
      expect(await stateOf(order.id)).toMatchObject({ state: "CHECKED_OUT", run: "SUCCEEDED" });
    },
  );

  it("is waited for by the workflow, for the longest of the waits that it asks for", async () => {
    const order = await orderWithOneAttachment();
    const ids = [order.attachment, await order.attach(0), await order.attach("order")];
    for (const [index, path] of ids.entries())
      await upstream.misbehave({ method: "PUT", path, ...busy([600, 3000, 1200][index] ?? 0) });
    await upstream.misbehave({ method: "POST", times: 2, ...busy(120) });
    const run = await checkOut(order.id);
    expect(run.status).toBe("SUCCEEDED");
    expect(run.waits.filter((seconds) => seconds > 0)).toEqual([3000, 120, 120]);
    const called = (name: string) => run.called.filter((each) => each === name).length;
    expect([called("checkout/forward"), called("checkout/submit")]).toEqual([2, 3]);
    expect((await upstream.forwarded(order.id)).length).toBe(3);
  });
});

describe("a carrier that refuses", () => {
  it("an attachment fails the run with its reason, and gets its new metadata under a new key in the next run", async () => {
    const order = await orderWithOneAttachment();
    const [request] = order.requests;
    await upstream.misbehave({ method: "PUT", action: "status", status: 422 });
    const run = await checkOut(order.id);
    expect(run).toMatchObject({ status: "FAILED", error: "CheckoutFailed" });
    expect(run.cause).toBe("The carrier or the malware scan has refused an attachment or the cart: see the order.");
    const reason = `The attachment ${order.attachment} of the request ${request} was refused by the carrier, not forwarded: 422 {"reason":"injected refusal"}`;
    expect(await receipts(order.id)).toEqual([`${order.carrierEntry} refused`]);
    expect(await stateOf(order.id)).toEqual({ state: "CART", run: "FAILED", sealed: false, reason });
    expect((await upstream.cart(order.id)).checked_out).toBe(false);
    await order.update(0, order.attachment, { name: "Renamed" });
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    const called = await keysOf(order);
    expect(called.map((call) => call.split(" ")[1])).toEqual(["422", "201", "200"]);
    expect(new Set(called).size).toBe(3);
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "Renamed", received: 1 }]);
  });
});

/** Moves the clock to a time when no call can be in progress. */
const passTime = () => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 200_000 });

describe("a refusal of the checkout of the cart, after which a wrong letter is replaced by the right one", () => {
  const own = { body: { reason: "The letter is not signed." } };
  it.each<[string, number, Partial<Misbehaviour>, boolean]>([
    ...[401, 404, 499].flatMap((status): [string, number, object, boolean][] => [
      ["settles that it is not checked out", status, {}, true],
      ["settles nothing after a call that may have acted", status, { action: "status", status: 500 }, false],
    ]),
    ["settles nothing while a call may be in progress", 422, { action: "drop-before" }, false],
    ["settles nothing while a call may be in progress, with a reason", 400, { action: "drop-before", ...own }, false],
  ])("%s: %i", async (_, status, { body, action, ...earlier }, isSettled) => {
    const order = await orderWithOneAttachment();
    if (action) await upstream.misbehave({ method: "POST", action, ...earlier });
    // The GET fails with the same status, as it does at gateways without that route.
    await upstream.misbehave({
      method: "POST",
      action: "status",
      status,
      times: 12,
      ...(body !== undefined && { body }),
    });
    await upstream.misbehave({ method: "GET", path: order.id, action: "status", status, times: 9 });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect((await stateOf(order.id)).sealed).toBe(!isSettled);
    await order.remove(0, order.attachment);
    const right = await order.attach(0, "right");
    await upstream.behave();
    await upstream.misbehave({ method: "GET", path: order.id, action: "status", status, times: 9 });
    passTime();
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    await upstream.behave();
    const sent = isSettled ? right : order.attachment;
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${sent}`]);
    expect((await orderReport(order.id))?.late_changes?.not_forwarded).toBe(isSettled ? 0 : 1);
  });
});

describe("a carrier that requires a token", () => {
  let hours = 0;
  /** Starts Secrets Manager with a secret that is each of these tokens in turn. Returns how often it has been read. */
  const secretOf = async (tokens: readonly string[]) => {
    let reads = 0;
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/x-amz-json-1.1" });
      response.end(JSON.stringify({ SecretString: tokens[reads] }));
      reads += 1;
    });
    const { url } = await listen(server, 0);
    onTestFinished(() => void server.close());
    vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", url);
    vi.stubEnv("CARRIER_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:000000000000:secret:carrier");
    // Lets a token that an earlier test has read expire.
    hours += 1;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
    return () => reads;
  };

  it("gets the one in the secret, which is read once in five minutes", async () => {
    const reads = await secretOf(["the-first-carrier-token", "the-second-carrier-token"]);
    expect(await Promise.all([carrierToken(), carrierToken()])).toEqual([
      "the-first-carrier-token",
      "the-first-carrier-token",
    ]);
    expect([await carrierToken(), reads()]).toEqual(["the-first-carrier-token", 1]);
    vi.advanceTimersByTime(301_000);
    expect(await carrierToken()).toBe("the-second-carrier-token");
  });

  it("gets the new one after a single read for all calls whose token is rejected at the same moment", async () => {
    const reads = await secretOf(["the-old-carrier-token", "the-new-carrier-token", "the-newer-carrier-token"]);
    const rejected = await carrierToken();
    const renewed = await Promise.all(Array.from({ length: 3 }, () => renewedCarrierToken(rejected)));
    expect([renewed, reads()]).toEqual([
      ["the-new-carrier-token", "the-new-carrier-token", "the-new-carrier-token"],
      2,
    ]);
  });

  it("is not called while its secret is empty, which is read again at the next call, and may end in a newline", async () => {
    await secretOf(["", "the-first-carrier-token\n"]);
    await expect(carrierToken()).rejects.toThrow("the secret with its token is empty");
    expect(await carrierToken()).toBe("the-first-carrier-token");
  });

  it("is not called while its token is so short that masking it would change the carrier's words", async () => {
    await secretOf(["a-short-token"]);
    await expect(carrierToken()).rejects.toThrow("the token in its secret has fewer than 16 characters");
    vi.stubEnv("CARRIER_SECRET_ARN", "").stubEnv("CARRIER_TOKEN", "test");
    await expect(carrierToken()).rejects.toThrow("the token in CARRIER_TOKEN has fewer than 16 characters");
  });

  it("is called once more after one new read of the secret for all calls", async () => {
    const order = await newOrder(addMessagingNumbers);
    await Promise.all(Array.from({ length: 6 }, () => order.attach(0)));
    const reads = await secretOf(["the-old-carrier-token", "the-carrier-token"]);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect((await upstream.forwarded(order.id)).length).toBe(6);
    expect(reads()).toBe(2);
  });

  it.each([
    [
      "rejects the new token, too",
      ["the-old-carrier-token", "the-older-carrier-token"],
      [],
      '401 {"error":"the token is invalid"}',
      2,
    ],
    [
      "rejects the new token later",
      ["the-old-carrier-token", "the-carrier-token"],
      [429, 401],
      '401 {"error":"injected fault"}',
      2,
    ],
    ["permits nothing", ["the-carrier-token"], [403], '403 {"error":"injected fault"}', 1],
  ])("refuses the call if it %s", async (_, tokens, statuses, why, times) => {
    const order = await orderWithOneAttachment();
    const reads = await secretOf(tokens);
    for (const status of statuses) await upstream.misbehave({ method: "PUT", action: "status", status });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect((await stateOf(order.id)).reason).toContain(why);
    expect(reads()).toBe(times);
  });

  it("refuses the call at once where there is no secret", async () => {
    const order = await orderWithOneAttachment();
    await upstream.misbehave({ method: "PUT", action: "status", status: 401 });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect((await stateOf(order.id)).reason).toContain('401 {"error":"injected fault"}. Check the carrier\'s token,');
    expect(await upstream.calls(order.id)).toEqual(["PUT 401"]);
  });
});
