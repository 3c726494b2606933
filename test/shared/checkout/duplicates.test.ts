import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { failRun } from "../../../shared/checkout/end.ts";
import { forwardPage } from "../../../shared/checkout/forward.ts";
import { startRun } from "../../../shared/checkout/run.ts";
import { beginRound } from "../../../shared/checkout/seal.ts";
import { interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";
import { newOrder, type TestOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { checkHistory } from "../../support/models/invariants.ts";
import { call } from "../../support/requests/client.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, receipts } from "../../support/servers/workflow.ts";
import { byExtent } from "../../support/setup/extent.ts";

/** Step Functions may invoke a step again while an earlier invocation of it is still running. */

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
  process.env.CARRIER_TIMEOUT_MS = "5000";
});
afterEach(async () => {
  vi.useRealTimers();
  for (const id of started.splice(0)) expect(await checkHistory(id)).toEqual([]);
  await upstream.behave();
});
afterAll(() => upstream.close());

const started: string[] = [];

/** Starts a run and returns the page that it forwards next. */
const startRunOf = async (order: TestOrder) => {
  started.push(order.id);
  const ref = { order_id: order.id, run: `run-of-${order.id}` };
  await startRun(ref, new Date());
  const { pages } = await beginRound(ref, 24);
  const [page] = pages;
  if (!page) throw new Error("there is nothing to forward");
  return page;
};

/** The carrier's delay: longer than what a test does meanwhile, even with a slow table. */
const delay_ms = process.env.TEST_TIMING === "off" ? 4_000 : 2_500;

/** Starts the step and waits until its PUT is in flight; the carrier handles it later. */
const startDelayed = async (order: TestOrder, page: Awaited<ReturnType<typeof startRunOf>>) => {
  await upstream.misbehave({ method: "PUT", action: "delay", delay_ms });
  const ended = forwardPage(page);
  while ((await upstream.calls(order.id)).length === 0) await sleep(10);
  return { ended };
};

/** Advances the clock past the time in which an earlier call may be in flight. */
const passTime = (seconds: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + seconds * 1000 });

const change = async (method: "PATCH" | "DELETE", order: TestOrder, id: string, data?: object) => {
  const json = data && { type: "request_attachment", data };
  const { status } = await call(method, `${order.paths.request(0)}/${id}`, { key: order.key, ...(json && { json }) });
  expect(status).toBe(200);
};

describe("two copies of the forwarding step at once", () => {
  it("withdraw a file that was deleted while the first copy was sending it", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const page = await startRunOf(order);
    const first = await startDelayed(order, page);
    await change("DELETE", order, id);

    const second = await forwardPage(page);

    expect(second).toMatchObject({ outcome: "WAIT" });
    expect(await upstream.calls(order.id)).toEqual(["PUT null"]);
    expect((await first.ended).outcome).toBe("FORWARDED");
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${id}`]);
    expect((await forwardPage(second)).outcome).toBe("FORWARDED");
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "DELETE 200"]);
    expect(await upstream.forwarded(order.id)).toEqual([]);
    expect(await receipts(order.id)).toEqual([`${order.requests[0]} ${id} withdrawn`]);
  });

  it("withdraw the file even if the first copy never records its result", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const page = await startRunOf(order);
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
    await change("DELETE", order, id);
    const second = await forwardPage(page);
    expect(second.outcome).toBe("WAIT");
    expect(second.wait_seconds).toBeGreaterThan(15);
    passTime(second.wait_seconds);
    expect((await forwardPage(second)).outcome).toBe("FORWARDED");
    expect(await upstream.forwarded(order.id)).toEqual([]);
  });

  it("send changed metadata only when no earlier call can overwrite them", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const page = await startRunOf(order);
    const first = await startDelayed(order, page);
    await change("PATCH", order, id, { name: "Renamed" });
    const second = await forwardPage(page);
    expect(second.outcome).toBe("FORWARDED");
    const third = await forwardPage(second);
    expect(third.outcome).toBe("WAIT");
    await first.ended;
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "LOA", received: 1 }]);
    passTime(third.wait_seconds);
    expect((await forwardPage(third)).outcome).toBe("FORWARDED");
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "Renamed" }]);
  });

  it("store each file once", async () => {
    for (let round = 0; round < byExtent({ sample: 2, most: 5, all: 5 }); round += 1) {
      const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
      const places = [await order.attach(0), await order.attach(1)].map(
        (id, index) => `${order.requests[index]} ${id}`,
      );
      const page = await startRunOf(order);
      await Promise.all([forwardPage(page), forwardPage(page), forwardPage(page)]);
      expect((await forwardPage(page)).outcome).toBe("FORWARDED");
      expect(await upstream.forwarded(order.id)).toEqual(places.sort());
      expect(await receipts(order.id)).toEqual(places.map((place) => `${place} forwarded`).sort());
    }
  });

  it("record a withdrawal once", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const page = await startRunOf(order);
    await forwardPage(page);
    await change("DELETE", order, id);
    await upstream.misbehave({ method: "DELETE", action: "delay", delay_ms });
    await Promise.all([forwardPage(page), forwardPage(page)]);
    expect(await receipts(order.id)).toEqual([`${order.requests[0]} ${id} withdrawn`]);
  });
});

describe("a late copy of the forwarding step", () => {
  /** Does something once the step has decided what to send, and is about to write the receipt. */
  const beforeReceipt = (id: string, act: () => Promise<unknown>) => {
    let planned = false;
    return interceptTableCalls(async ({ items }, pass) => {
      if (items.some(({ sk }) => sk === `RECEIPT#${id}`) && !planned) {
        planned = true;
        await act();
      }
      return pass();
    });
  };

  it("sends nothing if the attachment was deleted after the copy read it", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const page = await startRunOf(order);
    const stopIntercepting = beforeReceipt(id, () => change("DELETE", order, id));
    await forwardPage(page);
    stopIntercepting();
    expect(await upstream.calls(order.id)).toEqual([]);
  });

  it("sends nothing if the run ended after the copy checked the lock", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const page = await startRunOf(order);
    const stopIntercepting = beforeReceipt(id, () => failRun(page, "injected failure", new Date()));
    expect((await forwardPage(page)).outcome).toBe("FAILED");
    stopIntercepting();
    expect(await upstream.calls(order.id)).toEqual([]);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${id}`]);
  });
});
