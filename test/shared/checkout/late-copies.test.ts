import { Readable } from "node:stream";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { handler as finish } from "../../../functions/checkout/finish.ts";
import { handler as submit } from "../../../functions/checkout/submit.ts";
import { orderReport } from "../../../infra/admin/report.ts";
import { callCarrier } from "../../../shared/checkout/carrier-client.ts";
import { filePartBody } from "../../../shared/checkout/carrier-form.ts";
import { readRun, startRun } from "../../../shared/checkout/checkout-run.ts";
import { failRun } from "../../../shared/checkout/end.ts";
import { forwardPage } from "../../../shared/checkout/forward.ts";
import { forwardOne } from "../../../shared/checkout/forward-attachment.ts";
import { attachmentsOf, receiptsOf } from "../../../shared/checkout/plan.ts";
import { beginRound, endRound, sealPage } from "../../../shared/checkout/seal.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { beforeTableCall, interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { sha256Of } from "../../support/fixtures/upload-content.ts";
import { captureLogs } from "../../support/servers/captured-logs.ts";
import { type CarrierResponse, scriptedCarrier } from "../../support/servers/scripted-carrier.ts";

/** A copy of a step that Step Functions has repeated runs on with what it has read, and a carrier acts on calls late. */

const carrier = await scriptedCarrier();
afterAll(() => carrier.close());

const now = new Date("2026-11-21T10:00:00.000Z");
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now });
  vi.stubEnv("CARRIER_URL", carrier.url);
  vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
  vi.stubEnv("CARRIER_LONGEST_WAIT_SECONDS", "1");
  // Makes the jittered waits last no time.
  vi.spyOn(Math, "random").mockReturnValue(-1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** A run of an order with two requests, the first of which has an attachment, and the page that it forwards. */
const started = async () => {
  const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
  const requests = order.requests.toSorted();
  const first = order.requests.indexOf(requests[0] ?? "");
  const own = await order.attach(first);
  const ref = { order_id: order.id, run: `run-of-${order.id}` };
  await startRun(ref, new Date());
  const { pages, ...round } = await beginRound(ref, 24);
  const [page] = pages;
  if (!page) throw new Error("there is nothing to forward");
  const receiptsOfBoth = async () => (await Promise.all(requests.map(receiptsOf))).flat();
  return { ...order, requests, first, own, ref, round, page, receiptsOfBoth };
};

/** Does something while the first call is in progress: what its step has read is old by then. */
const duringFirstCall = (act: () => Promise<unknown>, response: CarrierResponse = 201): string[] => {
  const calls: string[] = [];
  carrier.respondWith(async (call) => {
    calls.push(call);
    if (calls.length > 1) return 201;
    await act();
    return response;
  });
  return calls;
};

describe("a copy of the forwarding step that runs on", () => {
  it("withdraws nothing that was added after it read the list", async () => {
    const { own, page, attach, receiptsOfBoth } = await started();
    let added = "";
    const calls = duringFirstCall(async () => {
      added = await attach("order");
      expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    });
    await forwardPage(page);
    expect(calls.toSorted()).toEqual([`PUT ${own}`, `PUT ${own}`, `PUT ${added}`, `PUT ${added}`].sort());
    expect((await receiptsOfBoth()).map(({ state }) => state)).toEqual(Array(3).fill("forwarded"));
  });

  it("sends no metadata that were changed after it read them", async () => {
    const { page, own, first, attach, update, remove, receiptsOfBoth } = await started();
    await remove(first, own);
    const shared = await attach("order");
    carrier.respondInTurn(201, 201);
    await forwardPage(page);
    const late = await attach(first);
    const calls = duringFirstCall(async () => {
      await update("order", shared, { name: "New" });
      expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    });
    await forwardPage(page);
    expect(calls.toSorted()).toEqual([`PUT ${late}`, `PUT ${late}`, `PUT ${shared}`, `PUT ${shared}`].sort());
    const receipts = (await receiptsOfBoth()).filter(({ attachment }) => attachment === shared);
    const current = { state: "forwarded", version: 2, sent: { name: "New" } };
    expect(receipts).toMatchObject([current, current]);
  });

  it("announces nothing from an old list, so that a kill loses nothing that a receipt says", async () => {
    const { id, page, own, first, requests, update, receiptsOfBoth } = await started();
    const [old] = await attachmentsOf({ type: "request", id: requests[0] ?? "" });
    await update(first, own, { name: "New" });
    carrier.respondInTurn(201);
    await forwardPage(page);
    const [receipt] = await receiptsOfBoth();
    if (!old) throw new Error("there is no attachment");
    const writes: string[] = [];
    const stop = interceptTableCalls(({ operation }, pass) => {
      if (operation === "TransactWriteItems") writes.push(operation);
      return pass();
    });
    const target = { ref: page, request: requests[0] ?? "", accounts: { order: id, request: id } };
    expect(await forwardOne(target, { ...old, receipt })).toEqual({ kind: "done" });
    stop();
    expect([writes, await receiptsOfBoth()]).toEqual([[], [receipt]]);
  });

  it("calls no carrier for a request that its run has sealed since", async () => {
    const { id, page, own, first, round, attach, remove, update } = await started();
    const shared = await attach("order");
    const other = await attach(first);
    carrier.respondInTurn(...Array(4).fill(201));
    const { wait_seconds: _, ...forwarded } = await forwardPage(page);
    expect(await sealPage(forwarded)).toMatchObject({ outcome: "SEALED", passes_left: 23 });
    // These are too late, and stay at the carrier as they were sealed.
    await remove(first, own);
    await update(first, other, { name: "New" });
    const calls = carrier.respondInTurn(201, 201, 201, 201);
    expect([await forwardPage(page), calls]).toMatchObject([{ outcome: "FAILED" }, []]);
    expect(await readRun(id)).toMatchObject({ status: "RUNNING", reason: null });
    // The order has changed, too: the next round forwards everything.
    await remove("order", shared);
    const results = [{ outcome: "SEALED", passes_left: 23 } as const];
    const next = await endRound(round, 24, results);
    expect(next).toMatchObject({ next: "PAGINATE", passes_left: 23 });
    expect(await forwardPage({ ...page, passes_left: next.passes_left })).toMatchObject({ outcome: "FORWARDED" });
    expect(calls.toSorted()).toEqual([`DELETE ${own}`, `DELETE ${shared}`, `DELETE ${shared}`, `PUT ${other}`].sort());
  });

  it("seals no request that its run has sealed since, and so lets no older copy call the carrier", async () => {
    const { page, own, first, requests, remove } = await started();
    carrier.respondInTurn(201);
    const { wait_seconds: _, ...older } = await forwardPage(page);
    const { wait_seconds: __, ...newer } = await forwardPage(older);
    const sealed = async () => (await get(keys.request(requests[0] ?? "")))?.seal;
    // One copy writes after the newer step has sealed, and one begins after that.
    beforeTableCall(
      ({ updates }) => updates.some(({ UpdateExpression = "" }) => UpdateExpression.includes("#seal")),
      async () => expect(await sealPage(newer)).toMatchObject({ outcome: "SEALED" }),
    );
    for (const _copy of [1, 2]) expect(await sealPage(older)).toMatchObject({ outcome: "CHANGED" });
    expect(await sealed()).toMatchObject({ passes_left: newer.passes_left });
    expect(await sealPage(newer)).toMatchObject({ outcome: "SEALED" });
    await remove(first, own);
    const calls = carrier.respondInTurn(200);
    expect([await forwardPage(older), calls]).toMatchObject([{ outcome: "FAILED" }, []]);
  });

  it.each([
    ["refused, as the cart is checked out", 409],
    ["refused", 422],
    ["answered with 503", 503],
  ] as const)("whose call is %s changes nothing of a run that has checked the cart out", async (_, status) => {
    const { id, page, ref, round, own, first, remove, receiptsOfBoth } = await started();
    const checkOut = async () => {
      expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
      expect(await sealPage(page)).toMatchObject({ outcome: "SEALED" });
      const results = [{ outcome: "SEALED", passes_left: 20 } as const];
      expect(await endRound(round, 24, results)).toMatchObject({ next: "SUBMIT" });
      expect(await submit(ref)).toMatchObject({ outcome: "CHECKED_OUT" });
    };
    duringFirstCall(checkOut, [status, { "Retry-After": "60" }]);
    await forwardPage({ ...page, consecutive_waits: 10 });
    expect(await readRun(id)).toMatchObject({ status: "RUNNING", reason: null, next_try_at: null });
    expect(await receiptsOfBoth()).toMatchObject([{ attachment: own, state: "forwarded", status: 201 }]);
    // A copy that begins now makes no call.
    await remove(first, own);
    pass(600);
    const calls = carrier.respondInTurn();
    expect([await forwardPage(page), calls]).toMatchObject([{ outcome: "FAILED" }, []]);
    expect(await finish(ref)).toHaveProperty("reason", expect.stringContaining("1 deleted and not withdrawn"));
    expect(await orderReport(id)).toMatchObject({ state: "CHECKED_OUT", left_behind: { not_forwarded: 0 } });
  });

  it("whose process is frozen while it sends a file does not send the end of it after its time", async () => {
    vi.stubEnv("CARRIER_TIMEOUT_MS", "1000");
    const calls = carrier.respondInTurn(201, 201);
    const [sent, bytes, sha256] = [
      { name: "LOA", notes: null, file_hint: "LOA", filename: "a" } as const,
      0,
      sha256Of(""),
    ];
    let opened = 0;
    const open = async () => {
      opened += 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_300);
      pass(300);
      return Readable.from([]);
    };
    const body = () => filePartBody("limit", {}, { sent, contentType: "application/pdf", bytes, sha256, open });
    const outcome = await callCarrier({ method: "PUT", path: "/late", body });
    expect(outcome).toMatchObject({ kind: "unavailable", reason: "it did not respond in time", mayBeInProgress: true });
    // The carrier reads what was sent before it reads this.
    vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
    await callCarrier({ method: "DELETE", path: "/next" });
    expect([opened, calls]).toEqual([1, ["DELETE next"]]);
  });

  it("whose call is answered with 503 plans no next attempt once its run has failed", async () => {
    const { id, page, ref, receiptsOfBoth } = await started();
    duringFirstCall(() => failRun(ref, "why", new Date()), [503, { "Retry-After": "60" }]);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
    expect(await readRun(id)).toMatchObject({ status: "FAILED", consecutive_waits: 0, next_try_at: null });
    expect(await receiptsOfBoth()).toMatchObject([{ state: "pending", next_try_at: null }]);
  });

  it("whose call is refused leaves the decision to the copy that has announced it since", async () => {
    const { id, page, own, receiptsOfBoth } = await started();
    duringFirstCall(async () => expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" }), 422);
    expect(await forwardPage(page)).toMatchObject({ outcome: "WAIT" });
    expect(await readRun(id)).toMatchObject({ status: "RUNNING", reason: null });
    expect(await receiptsOfBoth()).toMatchObject([{ attachment: own, state: "forwarded", status: 201, attempts: 2 }]);
  });

  it("sends what was withdrawn and comes back under another key", async () => {
    const { page, own, receiptsOfBoth, requests } = await started();
    carrier.respondInTurn(201);
    await forwardPage(page);
    const key = keys.receipt(requests[0] ?? "", own);
    await transact({ receipt: { update: key, set: { state: "withdrawn" }, remove: ["withdrawals"], when: {} } });
    const fetched = vi.spyOn(globalThis, "fetch");
    carrier.respondInTurn(201);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    const sent = fetched.mock.calls.map(([, init]) => new Headers(init?.headers).get("idempotency-key"));
    expect(sent).toEqual([`forward-${requests[0]}-${own}-1-1`]);
    expect(await receiptsOfBoth()).toMatchObject([{ state: "forwarded", withdrawals: 1 }]);
  });
});

describe("a call that got no response, and may be processed later", () => {
  const later = { "Retry-After": "60" };
  it.each<[string, number, CarrierResponse[]]>([
    ["it has ended later than announced", 600, [[504, later]]],
    [
      "the next call is over at once",
      0,
      [
        [504, later],
        [503, later],
      ],
    ],
  ])("is withdrawn only when that is over, also where %s", async (_, seconds, responses) => {
    const { first, own, page, remove } = await started();
    for (const response of responses) {
      duringFirstCall(async () => pass(seconds), response);
      await forwardPage(page);
    }
    await remove(first, own);
    const calls = carrier.respondInTurn(200);
    const waiting = await forwardPage(page);
    expect([waiting.outcome, calls]).toEqual(["WAIT", []]);
    expect(waiting.wait_seconds).toBeGreaterThanOrEqual(40);
    pass(waiting.wait_seconds);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    expect(calls).toEqual([`DELETE ${own}`]);
  });

  /** The PUT gets no response, but perhaps another one in its last attempt. */
  const unanswered = async (last: CarrierResponse) => {
    const order = await started();
    carrier.respondInTurn(504, 504, 504, last);
    await forwardPage(order.page);
    return order;
  };

  it.each<[string, CarrierResponse]>([
    ["504", 504],
    ["503", 503],
    ["429", [429, {}]],
  ])("is withdrawn, and replaced, only when that is over, also where its last attempt got a %s", async (_, last) => {
    for (const change of ["remove", "update"] as const) {
      const order = await unanswered(last);
      if (change === "remove") await order.remove(order.first, order.own);
      else await order.update(order.first, order.own, { name: "New" });
      const calls = carrier.respondInTurn(200);
      const waiting = await forwardPage(order.page);
      expect([waiting.outcome, calls]).toEqual(["WAIT", []]);
      expect(waiting.wait_seconds).toBeGreaterThanOrEqual(40);
      pass(waiting.wait_seconds);
      expect(await forwardPage(order.page)).toMatchObject({ outcome: "FORWARDED" });
      expect(calls).toEqual([`${change === "remove" ? "DELETE" : "PUT"} ${order.own}`]);
    }
  });

  it("is withdrawn only when that is over, also where its file is gone in the next attempt", async () => {
    const { first, own, page, remove } = await started();
    const calls = duringFirstCall(() => remove(first, own), 504);
    expect([await forwardPage(page), calls]).toMatchObject([{ outcome: "FORWARDED" }, [`PUT ${own}`]]);
    const waiting = await forwardPage(page);
    expect([waiting.outcome, calls.length]).toEqual(["WAIT", 1]);
    pass(waiting.wait_seconds);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    expect(calls).toEqual([`PUT ${own}`, `DELETE ${own}`]);
  });
});

it("a copy of the last step of a run that was stopped ends as expected, which is no defect", async () => {
  const { id, ref } = await started();
  await transact({ run: { update: keys.checkout(id), set: { status: "STOPPING" }, when: {} } });
  const { lines, stop } = captureLogs();
  await expect(finish(ref)).rejects.toThrow("has lost its lock.");
  stop();
  const logged = lines();
  expect(logged).toMatchObject([{ level: "ERROR", message: "step", error: { name: "LostLock" } }]);
  expect(logged[0]).not.toHaveProperty("Defects");
});
