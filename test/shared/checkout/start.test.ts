import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readActualRun } from "../../../infra/admin/history/actual-run.ts";
import { startCheckout, waitForCheckout } from "../../../infra/admin/orders/start-checkout.ts";
import { startStepFunctions } from "../../../infra/local/step-functions.ts";
import { beginRun, updateRun } from "../../../shared/checkout/checkout-run.ts";
import { firstState } from "../../../shared/checkout/checkout-schema.ts";
import { submitOrder } from "../../../shared/checkout/submit.ts";
import { keys } from "../../../shared/table/keys.ts";
import { beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { loadStep, stateOf } from "../../support/servers/workflow.ts";

let upstream: Awaited<ReturnType<typeof carrier>>;
let stepFunctions: Awaited<ReturnType<typeof startStepFunctions>>;
beforeAll(async () => {
  upstream = await carrier();
  stepFunctions = await startStepFunctions({ load: loadStep, pauseMs: 0 });
  process.env.AWS_ENDPOINT_URL_SFN = stepFunctions.url;
  process.env.STATE_MACHINE_ARN = stepFunctions.stateMachineArn;
});
afterAll(async () => {
  await stepFunctions.close();
  await upstream.close();
});

describe("starting a checkout with the SDK's client", () => {
  it("names the run after the order and its number, and twice at once starts one", async () => {
    const order = await orderWithOneAttachment();
    const [one, other] = await Promise.all([startCheckout(order.id), startCheckout(order.id)]);
    expect([one, other]).toEqual(Array(2).fill(`checkout-${order.id}-1`));
    expect(await waitForCheckout(order.id, one, 10)).toEqual({ run: one, status: "SUCCEEDED", reason: null });
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "POST 200"]);
    expect((await stateOf(order.id)).state).toBe("CHECKED_OUT");
    await storeRun(order.id, { run: "later", reason: "Another run's." });
    expect(await waitForCheckout(order.id, one, 10)).toEqual({ run: one, status: "SUCCEEDED", reason: null });
  });

  it("beside a run that was faster waits for the end of that one", async () => {
    const order = await orderWithOneAttachment();
    const faster = { order_id: order.id, run: "the-faster" };
    await beginRun(faster, new Date());
    const { workflow } = stepFunctions;
    const late = await workflow.start("the-slower", JSON.stringify({ order_id: order.id }));
    expect(await late?.ended).toMatchObject({ error: "AlreadyRunning" });
    await updateRun(faster, { outcome_unknown: true, checked_out: true }, {});
    await submitOrder({ ...firstState(order.id), ...faster });
    await workflow.start("the-faster", JSON.stringify({ order_id: order.id }));
    expect(await waitForCheckout(order.id, "the-slower", 10)).toEqual({
      run: "the-faster",
      status: "SUCCEEDED",
      reason: expect.stringContaining("1 added or changed and not forwarded"),
    });
  });

  it("beside another ends, even if a late copy of its first step has locked the order since", async () => {
    const order = await orderWithOneAttachment();
    await storeRun(order.id, { run: "the-other", status: "RUNNING", started_at: new Date().toISOString() });
    const late = await stepFunctions.workflow.start("the-late", JSON.stringify({ order_id: order.id }));
    expect(await late?.ended).toMatchObject({ error: "AlreadyRunning" });
    await storeRun(order.id, { run: "the-late", status: "RUNNING" });
    const reason = "The run the-other is checking this order out.";
    expect(await waitForCheckout(order.id, "the-late", 10)).toEqual({ run: "the-late", status: "FAILED", reason });
  });

  it("reads a run again whose execution has ended, because it may have recorded its end meanwhile", async () => {
    const { id } = await orderWithOneAttachment();
    const started_at = new Date(Date.now() - 61_000).toISOString();
    await storeRun(id, { run: "gone", status: "RUNNING", started_at });
    let reads = 0;
    const isSecondRead = ({ items }: TableCall) => {
      if (items.some(({ pk, sk }) => pk === keys.checkout(id).pk && sk === keys.checkout(id).sk)) reads += 1;
      return reads === 2;
    };
    beforeTableCall(isSecondRead, () => storeRun(id, { run: "gone", status: "FAILED" }));
    expect(await readActualRun(id)).toMatchObject({ run: "gone", status: "FAILED" });
  });

  it("under a name that is in use returns the running execution, if its input is the same", async () => {
    const { workflow } = stepFunctions;
    const orders = [await orderWithOneAttachment(), await orderWithOneAttachment()] as const;
    const start = (n: 0 | 1) => workflow.start("in-use", JSON.stringify({ order_id: orders[n].id }));
    const first = await start(0);
    expect([await start(0), await start(1)]).toEqual([first, undefined]);
    await first?.ended;
    expect(await start(0)).toBeUndefined();
  });

  it("takes an id in lower case from another system, and refuses at once what is no id", async () => {
    const { workflow } = stepFunctions;
    const start = (order_id: unknown) =>
      workflow.start(`of ${JSON.stringify(order_id)}`, JSON.stringify({ order_id }))?.ended;
    const order = await orderWithOneAttachment();
    expect(await start(order.id.toLowerCase())).toHaveProperty("output");
    expect((await stateOf(order.id)).state).toBe("CHECKED_OUT");
    for (const junk of ["junk", "", "x".repeat(3_000), null, 5, {}, []])
      expect(await start(junk)).toMatchObject({ error: "CheckoutFailed", cause: "The order_id is not a ULID." });
  });

  it("of an order that does not exist fails, and can be repeated", async () => {
    const id = "01J00000000000000000000001";
    for (const attempt of [1, 2]) {
      const run = await startCheckout(id);
      expect(await waitForCheckout(id, run, 10)).toEqual({
        run: `checkout-${id}-${attempt}`,
        status: "FAILED",
        reason: `There is no order ${id}.`,
      });
    }
  });
});
