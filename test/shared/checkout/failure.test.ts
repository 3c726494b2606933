import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, someSteps, stateOf } from "../../support/servers/workflow.ts";

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterEach(() => upstream.behave());
afterAll(() => upstream.close());

const failures = (times: number, name = "Error") =>
  Array.from({ length: times }, () => async () => {
    throw Object.assign(new Error("injected failure"), { name });
  });

const stepNames = someSteps.filter((name) => name !== "checkout/fail");

describe("a step that fails", () => {
  it.each(stepNames)("once before or after its work is retried: %s", async (name) => {
    const order = await orderWithOneAttachment();
    const options = { before: { [name]: failures(1) }, after: { [name]: [async () => {}, ...failures(1)] } };
    expect((await checkOut(order.id, options)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
    expect(await upstream.calls(order.id)).toEqual(
      name === "checkout/submit" ? ["PUT 201", "POST 200", "POST 200"] : ["PUT 201", "POST 200"],
    );
  });

  // MiniStack 1.4 reports every error as Runtime.HandlerError, so the workflow must not depend on names.
  it.each(stepNames)("on every retry ends the run and lifts its seals: %s", async (name) => {
    const order = await orderWithOneAttachment();
    const run = await checkOut(order.id, { before: { [name]: failures(4, "Runtime.HandlerError") } });
    expect(run).toMatchObject({ status: "FAILED", error: "CheckoutFailed" });
    expect(run.cause).toContain("A step failed: Runtime.HandlerError");
    if (name !== "checkout/finish") expect((await upstream.cart(order.id)).checked_out).toBe(false);
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", seals: name === "checkout/finish" ? 2 : 0 });
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
    const posts = (await upstream.calls(order.id)).filter((call) => call.startsWith("POST"));
    expect(new Set(posts).size).toBe(1);
  });
});

describe("a step that Lambda throttles", () => {
  const throttled = (times: number) => failures(times, "Lambda.TooManyRequestsException");

  it.each(["checkout/forward", "checkout/submit"])(
    "ten times in a row waits, and the run succeeds: %s",
    async (name) => {
      const order = await orderWithOneAttachment();
      expect((await checkOut(order.id, { before: { [name]: throttled(10) } })).status).toBe("SUCCEEDED");
      expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
    },
  );

  it("for longer than a carrier is waited for ends the run", async () => {
    const order = await orderWithOneAttachment();
    const run = await checkOut(order.id, { before: { "checkout/forward": throttled(11) } });
    expect(run.cause).toContain("A step failed: Lambda.TooManyRequestsException");
  });
});

describe("an upstream checkout whose outcome is not known", () => {
  it("is resolved by the next run before anything changes upstream", async () => {
    const order = await orderWithOneAttachment();
    await upstream.misbehave({ method: "POST", action: "drop-after" });
    await upstream.misbehave({ method: "POST", action: "status", status: 401 });
    const run = await checkOut(order.id);
    expect(run.cause).toContain("Whether the cart is checked out is not known");
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "FAILED", seals: 2 });
    await order.attach(0);
    const next = await checkOut(order.id);
    expect(next.called).toEqual(["checkout/lock", "checkout/submit", "checkout/finish"]);
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
    expect(await stateOf(order.id)).toMatchObject({ state: "CHECKED_OUT", run: "SUCCEEDED" });
  });

  it("is known once the carrier refuses the cart, and the next run starts from the beginning", async () => {
    const order = await orderWithOneAttachment();
    await upstream.misbehave({ method: "POST", action: "drop-before" });
    await upstream.misbehave({ method: "POST", action: "status", status: 422 });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect(await stateOf(order.id)).toMatchObject({ run: "FAILED", seals: 0 });
    const added = await order.attach(0);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry, `${order.requests[0]} ${added}`].sort());
  });
});

describe("a start beside a running one", () => {
  it("ends at once as AlreadyRunning, and disturbs nothing", async () => {
    const order = await orderWithOneAttachment();
    let second: Awaited<ReturnType<typeof checkOut>> | undefined;
    const interfere = async () => {
      second = await checkOut(order.id);
    };
    const first = await checkOut(order.id, { before: { "checkout/seal-order": [interfere] } }, "the-first");
    expect(second).toMatchObject({
      error: "AlreadyRunning",
      cause: "The run the-first is checking this order out.",
      called: ["checkout/lock"],
    });
    expect(first.status).toBe("SUCCEEDED");
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
    expect(await stateOf(order.id)).toMatchObject({ state: "CHECKED_OUT", run: "SUCCEEDED", seals: 2 });
  });

  it("does not fail: of three at once, one checks the order out", async () => {
    const order = await orderWithOneAttachment();
    const runs = await Promise.all([checkOut(order.id), checkOut(order.id), checkOut(order.id)]);
    const ends = new Set(runs.map(({ status, error }) => error ?? status));
    expect(ends).toContain("SUCCEEDED");
    expect([...ends].filter((end) => end !== "SUCCEEDED" && end !== "AlreadyRunning")).toEqual([]);
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
  });
});
