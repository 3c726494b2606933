import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { steps } from "../../../shared/checkout/steps.ts";
import { orderWithOne } from "../../support/fixtures/orders.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, stateOf } from "../../support/servers/workflow.ts";

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterEach(() => upstream.behave());
afterAll(() => upstream.close());

const broken = (times: number, name = "Error") =>
  Array.from({ length: times }, () => async () => {
    throw Object.assign(new Error("told to break"), { name });
  });

const inUse = steps.filter(({ name }) => name !== "checkout/fail").map(({ name }) => name);

describe("a step that breaks", () => {
  it.each(inUse)("now and then, before or after its work, does not matter: %s", async (name) => {
    const order = await orderWithOne();
    const options = { before: { [name]: broken(1) }, after: { [name]: [async () => {}, ...broken(1)] } };
    expect((await checkOut(order.id, options)).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([order.place]);
    expect(await upstream.calls(order.id)).toEqual(
      name === "checkout/submit" ? ["PUT 201", "POST 200", "POST 200"] : ["PUT 201", "POST 200"],
    );
  });

  // On MiniStack 1.4 every error is called Runtime.HandlerError: the workflow must not go by names.
  it.each(inUse)("for good ends the run, without seals: %s", async (name) => {
    const order = await orderWithOne();
    const run = await checkOut(order.id, { before: { [name]: broken(4, "Runtime.HandlerError") } });
    expect(run).toMatchObject({ status: "FAILED", error: "CheckoutFailed" });
    expect(run.cause).toContain("A step failed: Runtime.HandlerError");
    if (name !== "checkout/finish") expect((await upstream.cart(order.id)).checked_out).toBe(false);
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", seals: name === "checkout/finish" ? 2 : 0 });
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([order.place]);
    const posts = (await upstream.calls(order.id)).filter((call) => call.startsWith("POST"));
    expect(new Set(posts).size).toBe(1);
  });
});

describe("an upstream checkout whose outcome is not known", () => {
  it("is asked about first by the next run, before anything is changed upstream", async () => {
    const order = await orderWithOne();
    await upstream.misbehave({ method: "POST", action: "drop-after" });
    await upstream.misbehave({ method: "POST", action: "status", status: 401 });
    const run = await checkOut(order.id);
    expect(run.cause).toContain("Whether the cart is checked out is not known");
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "FAILED", seals: 2 });
    await order.attach(0);
    const next = await checkOut(order.id);
    expect(next.called).toEqual(["checkout/load", "checkout/submit", "checkout/finish"]);
    expect(await upstream.held(order.id)).toEqual([order.place]);
    expect(await stateOf(order.id)).toMatchObject({ state: "CHECKED_OUT", run: "SUCCEEDED" });
  });

  it("is no longer in doubt when the carrier refuses the cart: the next run begins anew", async () => {
    const order = await orderWithOne();
    await upstream.misbehave({ method: "POST", action: "drop-before" });
    await upstream.misbehave({ method: "POST", action: "status", status: 422 });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect(await stateOf(order.id)).toMatchObject({ run: "FAILED", seals: 0 });
    const added = await order.attach(0);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([order.place, `${order.requests[0]} ${added}`].sort());
  });
});

describe("two runs of one order at once", () => {
  it("are one: the second fails at once and leaves the first alone", async () => {
    const order = await orderWithOne();
    let second: Awaited<ReturnType<typeof checkOut>> | undefined;
    const interfere = async () => {
      second = await checkOut(order.id);
    };
    const first = await checkOut(order.id, { before: { "checkout/close": [interfere] } }, "the-first");
    expect(second).toMatchObject({ status: "FAILED", cause: "The run the-first is checking this order out." });
    expect(first.status).toBe("SUCCEEDED");
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
    expect(await stateOf(order.id)).toMatchObject({ state: "CHECKED_OUT", run: "SUCCEEDED", seals: 2 });
  });

  it("are one however they are timed", async () => {
    const order = await orderWithOne();
    const runs = await Promise.all([checkOut(order.id), checkOut(order.id), checkOut(order.id)]);
    expect(runs.map(({ status }) => status).filter((status) => status === "SUCCEEDED").length).toBeGreaterThan(0);
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
  });
});
