import { afterAll, beforeAll, expect, it } from "vitest";
import { handler } from "../../../functions/checkout/settle.ts";
import { orderWithOne } from "../../support/fixtures/orders.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, stateOf } from "../../support/servers/workflow.ts";

/** What Step Functions reports to EventBridge of an execution that has ended, as much as the function reads. */
const ended = (run: string, order: string) =>
  handler({
    "detail-type": "Step Functions Execution Status Change",
    detail: { name: run, status: "FAILED", input: JSON.stringify({ order_id: order }) },
  });

const breaking = (times: number) =>
  Array.from({ length: times }, () => async () => {
    throw new Error("told to break");
  });

/** Everything fails, the failure path too, as often as the workflow tries it. */
const failTwice = (order: string, run: string) =>
  checkOut(order, { before: { "checkout/gather": breaking(4), "checkout/fail": breaking(4) } }, run);

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(() => upstream.close());

it("a checkout whose failure path fails too leaves its order locked, until the end of its execution is reported", async () => {
  const order = await orderWithOne();
  expect(await failTwice(order.id, "twice-1")).toMatchObject({
    status: "FAILED",
    cause: expect.stringContaining("too"),
  });
  expect(await stateOf(order.id)).toMatchObject({ run: "RUNNING" });
  expect((await checkOut(order.id)).cause).toBe("The run twice-1 is checking this order out.");

  await ended("twice-1", order.id);
  expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "CRASHED" });
  expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
  expect(await upstream.held(order.id)).toEqual([order.place]);
});

it("the late report of an earlier execution leaves the lock of the current one alone", async () => {
  const order = await orderWithOne();
  await failTwice(order.id, "late-1");
  await ended("late-1", order.id);
  await failTwice(order.id, "late-2");
  await ended("late-1", order.id);
  expect(await stateOf(order.id)).toMatchObject({ run: "RUNNING" });
});

it("a report of a checkout that has settled its own failure, or of none of ours, changes nothing", async () => {
  const order = await orderWithOne();
  await checkOut(order.id, { before: { "checkout/gather": breaking(4) } }, "orderly-1");
  const before = await stateOf(order.id);
  expect(before).toMatchObject({ run: "FAILED" });
  await ended("orderly-1", order.id);
  expect(await stateOf(order.id)).toEqual(before);
  await handler({ detail: { name: "other", status: "FAILED", input: "[]" } });
});
