import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { failRun } from "../../../shared/checkout/end.ts";
import { forwardPage } from "../../../shared/checkout/forward.ts";
import { startRun } from "../../../shared/checkout/run.ts";
import { beginRound } from "../../../shared/checkout/seal.ts";
import { interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { checkHistory } from "../../support/models/invariants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { receipts } from "../../support/servers/workflow.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Step Functions may invoke a step again while an earlier invocation of it is still running. */

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
    let sent = () => {};
    const isSent = new Promise<void>((resolve) => {
      sent = resolve;
    });
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
    expect(second.outcome).toBe("FORWARDED");
    const third = await forwardPage(second);
    expect(third.outcome).toBe("WAIT");
    await ended;
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "LOA", received: 1 }]);
    passTime(third.wait_seconds);
    expect((await forwardPage(third)).outcome).toBe("FORWARDED");
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
  it.each<[string, (run: Awaited<ReturnType<typeof startedRun>>) => Promise<unknown>]>([
    ["the attachment was deleted after the copy read it", ({ order }) => order.remove(0, order.attachment)],
    ["the run ended after the copy checked the lock", ({ page }) => failRun(page, "injected failure", new Date())],
  ])("sends nothing if %s", async (_, act) => {
    const run = await startedRun();
    let planned = false;
    const stopIntercepting = interceptTableCalls(async ({ items }, pass) => {
      // The step has decided what to send, and is about to write the receipt.
      if (items.some(({ sk }) => sk === `RECEIPT#${run.order.attachment}`) && !planned) {
        planned = true;
        await act(run);
      }
      return pass();
    });
    await forwardPage(run.page);
    stopIntercepting();
    expect(await upstream.calls(run.order.id)).toEqual([]);
  });
});
