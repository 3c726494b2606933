import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { orderReport } from "../../../infra/admin/report.ts";
import { startRun } from "../../../shared/checkout/checkout-run.ts";
import { failRun } from "../../../shared/checkout/end.ts";
import { forwardPage } from "../../../shared/checkout/forward.ts";
import { beginRound, sealPage } from "../../../shared/checkout/seal.ts";
import { steps } from "../../../shared/checkout/steps.ts";
import { beforeTableCall, interceptTableCalls, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { checkHistory } from "../../support/models/invariants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, loadStep, receipts, stateOf } from "../../support/servers/workflow.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Step Functions may invoke a step again while an earlier invocation runs, and Lambda when its execution has long ended. */

const upstream = await carrier({ timeoutMs: 5_000 });
const started: string[] = [];
afterEach(async () => {
  vi.useRealTimers();
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

/** Starts a run, and returns the page that it seals next. */
const forwardedPage = async () => {
  const { page } = await startedRun();
  await forwardPage(page);
  return page;
};

/** The carrier's delay: longer than what a test does meanwhile, even with a slow table. */
const delay_ms = process.env.TEST_TIMING === "off" ? 4_000 : 2_500;

/** Starts a run whose PUT is in flight; the carrier handles it later. */
const startedDelayed = async () => {
  const { order, page } = await startedRun();
  await upstream.misbehave({ method: "PUT", action: "delay", delay_ms });
  const ended = forwardPage(page);
  while ((await upstream.calls(order.id)).length === 0) await sleep(10);
  return { order, page, ended };
};

/** Advances the clock past the time in which an earlier call may be in flight. */
const passTime = (seconds: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + seconds * 1000 });

describe("two copies of the forwarding step at once", () => {
  it("withdraw a file that was deleted while the first copy was sending it", async () => {
    const { order, page, ended } = await startedDelayed();
    await order.remove(0, order.attachment);
    const second = await forwardPage(page);
    expect(second).toMatchObject({ outcome: "WAIT" });
    expect(await upstream.calls(order.id)).toEqual(["PUT null"]);
    expect((await ended).outcome).toBe("FORWARDED");
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
    // Two copies at once record one withdrawal.
    const both = await Promise.all([forwardPage(second), forwardPage(second)]);
    expect(both.map(({ outcome }) => outcome)).toContain("FORWARDED");
    expect((await upstream.calls(order.id)).slice(0, 2)).toEqual(["PUT 201", "DELETE 200"]);
    expect(await upstream.forwarded(order.id)).toEqual([]);
    expect(await receipts(order.id)).toEqual([`${order.carrierEntry} withdrawn`]);
  });

  it("withdraw the file even if the first copy never records its result", async () => {
    const { order, page } = await startedRun();
    const { promise: isSent, resolve: sent } = Promise.withResolvers<void>();
    const stopIntercepting = interceptTableCalls(({ updates }, pass) => {
      const values = updates.flatMap((update) => Object.values(update.ExpressionAttributeValues ?? {}));
      if (!values.includes("forwarded")) return pass();
      sent();
      return new Promise(() => {});
    });
    void forwardPage(page);
    await isSent;
    stopIntercepting();
    await order.remove(0, order.attachment);
    const second = await forwardPage(page);
    expect(second.outcome).toBe("WAIT");
    expect(second.wait_seconds).toBeGreaterThan(15);
    passTime(second.wait_seconds);
    expect((await forwardPage(second)).outcome).toBe("FORWARDED");
    expect(await upstream.forwarded(order.id)).toEqual([]);
  });

  it("send changed metadata only when no earlier call can overwrite them", async () => {
    const { order, page, ended } = await startedDelayed();
    await order.update(0, order.attachment, { name: "Renamed" });
    const second = await forwardPage(page);
    expect(second.outcome).toBe("WAIT");
    await ended;
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "LOA", received: 1 }]);
    passTime(second.wait_seconds);
    expect((await forwardPage(second)).outcome).toBe("FORWARDED");
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "Renamed" }]);
  });

  it("store a file once", async () => {
    for (let round = 0; round < byExtent({ sample: 2, most: 5, all: 5 }); round += 1) {
      const { order, page } = await startedRun();
      await Promise.all([forwardPage(page), forwardPage(page), forwardPage(page)]);
      expect((await forwardPage(page)).outcome).toBe("FORWARDED");
      expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
      expect(await receipts(order.id)).toEqual([`${order.carrierEntry} forwarded`]);
    }
  });
});

describe("a late copy of the forwarding step", () => {
  it.each<[string, (run: Awaited<ReturnType<typeof startedRun>>) => Promise<unknown>, string]>([
    [
      "the attachment was deleted after the copy read it",
      ({ order }) => order.remove(0, order.attachment),
      "FORWARDED",
    ],
    ["the run ended after the copy checked the lock", ({ page }) => failRun(page, "injected", new Date()), "FAILED"],
  ])("sends nothing if %s", async (_, act, outcome) => {
    const run = await startedRun();
    // The step has decided what to send, and is about to write the receipt.
    const isReceipt = ({ items }: TableCall) => items.some(({ sk }) => sk === `RECEIPT#${run.order.attachment}`);
    beforeTableCall(isReceipt, () => act(run));
    expect((await forwardPage(run.page)).outcome).toBe(outcome);
    expect(await upstream.calls(run.order.id)).toEqual([]);
  });

  it("plans no next attempt once its run has failed", async () => {
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

describe("a copy of the sealing step", () => {
  it("that read the requests before its run failed seals none", async () => {
    const page = await forwardedPage();
    const isSeal = ({ operation }: TableCall) => operation === "TransactWriteItems";
    beforeTableCall(isSeal, () => failRun(page, "injected failure", new Date()));
    expect((await sealPage(page)).outcome).toBe("FAILED");
    expect(await stateOf(page.order_id)).toMatchObject({ run: "FAILED", seals: 0 });
  });

  it("seals none while the failure path is lifting the seals", async () => {
    const page = await forwardedPage();
    await sealPage(page);
    const releasesTheLock = ({ updates }: TableCall) =>
      updates.some(({ ExpressionAttributeValues: values = {} }) => Object.values(values).includes("FAILED"));
    beforeTableCall(releasesTheLock, () => sealPage(page));
    await failRun(page, "injected failure", new Date());
    expect(await stateOf(page.order_id)).toMatchObject({ run: "FAILED", seals: 0 });
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
