import { Readable } from "node:stream";
import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
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
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200", "POST 200"]);
  });

  // MiniStack 1.4 reports every error as Runtime.HandlerError, so the workflow must not depend on names.
  it("on every retry ends its run and lifts its seals, whichever step it is", async () => {
    const order = await orderWithOneAttachment();
    for (const name of stepNames) {
      const run = await checkOut(order.id, { before: { [name]: failures(4, "Runtime.HandlerError") } });
      expect(run, name).toMatchObject({ status: "FAILED", error: "CheckoutFailed" });
      expect(run.cause, name).toContain("A step failed: Runtime.HandlerError");
      const isCheckedOut = name === "checkout/finish";
      expect((await upstream.cart(order.id)).checked_out, name).toBe(isCheckedOut);
      expect(await stateOf(order.id), name).toMatchObject({ state: "CART", seals: isCheckedOut ? 2 : 0 });
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
    expect((await run(11)).cause).toContain("A step failed: Lambda.TooManyRequestsException");
    expect((await run(10)).status).toBe("SUCCEEDED");
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
  });
});

describe("S3 that breaks the connection in the middle of a file", () => {
  const beginning = async function* () {
    yield Buffer.from("%PDF");
    throw Object.assign(new Error("aborted"), { code: "ECONNRESET" });
  };
  /** S3 returns the beginning of a file this number of times, then whole files. */
  const breakFiles = (times: number) => {
    let left = times;
    const { send } = S3Client.prototype;
    const spy = vi.spyOn(S3Client.prototype, "send").mockImplementation(async function (this: S3Client, command) {
      const response = await Reflect.apply(send, this, [command]);
      if (!(command instanceof GetObjectCommand) || left === 0) return response;
      left -= 1;
      response.Body.destroy();
      return { ...response, Body: Readable.from(beginning()) };
    });
    onTestFinished(() => spy.mockRestore());
  };

  it("is retried, and the file reaches the carrier once", async () => {
    const order = await orderWithOneAttachment();
    // Once more than the workflow would repeat a step that throws.
    breakFiles(4);
    const run = await checkOut(order.id);
    expect(run.status).toBe("SUCCEEDED");
    expect(run.called.filter((name) => name === "checkout/forward").length).toBe(5);
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
  });
});
