import { afterAll, describe, expect, it } from "vitest";
import { steps } from "../../../shared/checkout/steps.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, stateOf } from "../../support/servers/workflow.ts";

const upstream = await carrier();
afterAll(() => upstream.close());

const failures = (times: number, name = "Error") =>
  Array.from({ length: times }, () => async () => {
    throw Object.assign(new Error("injected failure"), { name });
  });

const stepNames = steps.map(({ name }) => name).filter((name) => name !== "checkout/fail");

describe("a step that fails", () => {
  it("is retried, whether it fails before or after its work", async () => {
    const order = await orderWithOneAttachment();
    const before = Object.fromEntries(stepNames.map((name) => [name, failures(1)]));
    const after = Object.fromEntries(stepNames.map((name) => [name, [async () => {}, ...failures(1)]]));
    const run = await checkOut(order.id, { before, after });
    expect(run.status).toBe("SUCCEEDED");
    expect(run.called).toEqual(stepNames.flatMap((name) => [name, name, name]));
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
  });

  // MiniStack 1.4 reports every error as Runtime.HandlerError, so the workflow must not depend on names.
  it("on every retry ends its run, whichever step it is, and the next run completes the order", async () => {
    const order = await orderWithOneAttachment();
    for (const name of stepNames) {
      const run = await checkOut(order.id, { before: { [name]: failures(4, "Runtime.HandlerError") } });
      expect(run, name).toMatchObject({ status: "FAILED", error: "CheckoutFailed" });
      const reason = "A step failed: Runtime.HandlerError. See its log.";
      const isBegun = name !== "checkout/begin";
      expect([run.cause === reason, (await stateOf(order.id)).reason === reason], name).toEqual([!isBegun, isBegun]);
      expect((await upstream.cart(order.id)).checked_out, name).toBe(false);
      expect(await stateOf(order.id), name).toMatchObject({ state: "CART", sealed: false });
    }
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
  });
});

describe("a step that Lambda throttles", () => {
  const throttled = (times: number) => failures(times, "Lambda.TooManyRequestsException");

  it("eleven times in a row ends the run, and ten times do not", async () => {
    const order = await orderWithOneAttachment();
    const run = (times: number) =>
      checkOut(order.id, { before: { "checkout/forward": throttled(times), "checkout/submit": throttled(times) } });
    expect((await run(11)).status).toBe("FAILED");
    expect((await stateOf(order.id)).reason).toContain("A step failed: Lambda.TooManyRequestsException");
    expect((await run(10)).status).toBe("SUCCEEDED");
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
  });
});
