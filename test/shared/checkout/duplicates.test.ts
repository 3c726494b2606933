import { afterAll, afterEach, describe, expect, it } from "vitest";
import { orderReport } from "../../../infra/admin/report.ts";
import { startRun } from "../../../shared/checkout/checkout-run.ts";
import { failRun } from "../../../shared/checkout/end.ts";
import { forwardPage } from "../../../shared/checkout/forward.ts";
import { beginRound } from "../../../shared/checkout/seal.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { checkHistory } from "../../support/models/invariants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, loadStep, receipts } from "../../support/servers/workflow.ts";
import { byExtent } from "../../support/setup/extent.ts";

/**
 * Step Functions may invoke a step again while an earlier invocation runs, and Lambda when its execution has long ended. These are
 * copies over real servers; test/simulation tries the rest.
 */

const upstream = await carrier({ timeoutMs: 5_000 });
const started: string[] = [];
afterEach(async () => {
  for (const id of started.splice(0)) expect(await checkHistory(id)).toEqual([]);
  await upstream.behave();
});
afterAll(() => upstream.close());

/** Starts a run of an order with one attachment, and returns the page that it forwards next. */
const startedRun = async () => {
  const order = await orderWithOneAttachment();
  started.push(order.id);
  const ref = { order_id: order.id, run: `run-of-${order.id}` };
  await startRun(ref, new Date());
  const [page] = (await beginRound(ref, 24)).pages;
  if (!page) throw new Error("there is nothing to forward");
  return { order, page };
};

describe("copies of the forwarding step", () => {
  it("store a file once, also at the same time", async () => {
    for (let round = 0; round < byExtent({ sample: 2, most: 5, all: 5 }); round += 1) {
      const { order, page } = await startedRun();
      await Promise.all([forwardPage(page), forwardPage(page), forwardPage(page)]);
      expect((await forwardPage(page)).outcome).toBe("FORWARDED");
      expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
      expect(await receipts(order.id)).toEqual([`${order.carrierEntry} forwarded`]);
    }
  });

  it("plan no next attempt once their run has failed", async () => {
    const { page } = await startedRun();
    await upstream.misbehave({ method: "PUT", times: 4, action: "status", status: 503 });
    const recordsTheWait = ({ updates }: TableCall) =>
      updates.some(({ UpdateExpression }) => UpdateExpression.includes("#consecutive_waits"));
    beforeTableCall(recordsTheWait, () => failRun(page, "injected failure", new Date()));
    expect((await forwardPage(page)).outcome).toBe("FAILED");
    expect((await orderReport(page.order_id))?.requests[0]?.attachments).toMatchObject([
      { receipt: { next_try_at: null } },
    ]);
  });
});

const refuse = () => upstream.misbehave({ method: "POST", action: "status", status: 422 });

type States = Awaited<ReturnType<typeof checkOut>>["states"];

/** Runs late copies of the steps, and expects that neither the order nor the carrier changes. */
const expectNoChange = async (order: string, states: States, when: string, names = steps.map(({ name }) => name)) => {
  const observe = async () => ({ report: await orderReport(order), calls: await upstream.calls(order) });
  const before = await observe();
  for (const name of names) await loadStep(name)?.(states[name] ?? states["checkout/lock"]).catch(() => undefined);
  expect(await observe(), when).toEqual(before);
};

describe("a late copy of each step", () => {
  it("changes nothing once its run has failed, whatever the next runs do", async () => {
    const order = await orderWithOneAttachment();
    await refuse();
    const { states } = await checkOut(order.id);
    await order.attach(0);
    await expectNoChange(order.id, states, "after its run has failed");
    await refuse();
    await checkOut(order.id);
    await order.attach(0);
    await expectNoChange(order.id, states, "after the next has failed");
    const busy = { action: "status", status: 503, headers: { "Retry-After": "600" } } as const;
    await upstream.misbehave({ method: "PUT", ...busy });
    const late = () => expectNoChange(order.id, states, "while a run waits for the carrier", ["checkout/forward"]);
    const last = await checkOut(order.id, { after: { "checkout/forward": [late] } });
    expect(last.status).toBe("SUCCEEDED");
    await order.attach(0);
    await expectNoChange(order.id, states, "after another has checked the order out");
    await expectNoChange(order.id, last.states, "after it has checked the order out");
  });
});
