import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { S3Client } from "@aws-sdk/client-s3";
import { TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { listen } from "../../../infra/local/listen.ts";
import { minimalMetadata } from "../../../shared/attachments/attachment-schema.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { putFile, removeFile } from "../../../shared/attachments/files.ts";
import { markCrashed, readRun, startRun, stopRun, updateRun } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun, Receipt } from "../../../shared/checkout/checkout-schema.ts";
import { failRun, finishRun, isStillUnknown, submitCart } from "../../../shared/checkout/end.ts";
import { forwardPage } from "../../../shared/checkout/forward.ts";
import { planOf, receiptsOf } from "../../../shared/checkout/plan.ts";
import { beginRound, endRound, liftSeal, sealPage } from "../../../shared/checkout/seal.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { dynamodb } from "../../../shared/table/client.ts";
import { collections, keys, type ParentRef } from "../../../shared/table/keys.ts";
import { get, queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { forwardableRequests } from "../../../shared/tenants/orders.ts";
import { forwardableType } from "../../../shared/tenants/tenant-schema.ts";

/** What each step of the checkout decides, from what is stored and what the carrier responds. */

const now = new Date("2026-11-21T10:00:00.000Z");
const at = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
const counts = { attachment_count: 0, attachments_version: 0 };
const week = (7 * 24 + 1) * 3600;

type CarrierResponse = number | readonly [status: number, headers: Record<string, string>, body?: string];
type Call = { readonly name: string; readonly key: string | undefined; readonly body: string };
let respond: (call: Call) => CarrierResponse | Promise<CarrierResponse>;

/** A carrier, and a Lambda with its adapter, whose next response the test chooses. */
const server = await listen(
  createServer(async (incoming, outgoing) => {
    const { method, url = "", headers: sent } = incoming;
    const name = method === "GET" ? "GET cart" : `${method} ${url.split("/").at(-1)}`;
    // A call that is cut off, as its file is not the one uploaded, gets no response.
    const body = await text(incoming).catch(() => undefined);
    if (body === undefined) return outgoing.destroy();
    const response = await respond({ name, key: z.parse(z.optional(z.string()), sent["idempotency-key"]), body });
    const [status, headers, answer = "why"] = typeof response === "number" ? [response, {}] : response;
    outgoing.writeHead(status, headers).end(answer);
  }),
);
afterAll(() => server.close());

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now });
  vi.stubEnv("CARRIER_URL", server.url);
  vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
  // Whatever the jitter, a wait without Retry-After is one second.
  vi.stubEnv("CARRIER_LONGEST_WAIT_SECONDS", "1");
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** Some properties of a result, of which the test reads those of `T`. */
type Expected<T> = T & Readonly<Record<string, unknown>>;

/** Stores an order with requests of these types. */
const storedOrder = async (...types: readonly string[]) => {
  const order = newId(now.getTime());
  const requests = types.map((type) => ({ id: newId(now.getTime()), type, account: "2", order, ...counts }));
  requests.sort((one, other) => (one.id < other.id ? -1 : 1));
  const stored = { ...keys.order(order), id: order, account: "1", state: "CART", ...counts };
  const puts = requests.map((one) => ({
    request: { put: { ...keys.request(one.id), ...one } },
    entry: { put: { ...keys.orderRequest(order, one.id), ...one } },
  }));
  await Promise.all([transact({ order: { put: stored } }), ...puts.map((writes) => transact(writes))]);
  return { order, requests: requests.map(({ id }) => id), ref: { order_id: order, run: "this" } };
};

const lastRun: CheckoutRun = {
  run: "last",
  attempt: 3,
  earlier_runs: ["older"],
  status: "FAILED",
  started_at: at(-60),
  calls_end_by: at(-60),
  ended_at: null,
  reason: null,
  outcome_unknown: false,
  consecutive_waits: 2,
  last_answer: "x",
  next_try_at: "y",
};
const storeRun = (order: string, changes: Partial<CheckoutRun>) =>
  transact({ run: { put: { ...keys.checkout(order), ...lastRun, ...changes } } });
const running = (order: string, changes: Partial<CheckoutRun> = {}) =>
  storeRun(order, { run: "this", status: "RUNNING", ...changes });

const RecordedEvent = z.object({
  type: z.string(),
  account: z.string(),
  actor: z.object({ type: z.string(), id: z.string() }),
  resource: z.object({ id: z.string(), version: z.nullable(z.number()) }),
  expires_at: z.literal(now.getTime() / 1000 + 400 * 86_400),
});
/** The events of an order or a request, each as "type of the account's resource version by the actor". */
const eventsOf = async (of: ParentRef) =>
  (await Array.fromAsync(queryAll(collections.events(of)))).map((event) => {
    const { type, account, actor, resource } = z.parse(RecordedEvent, event);
    return `${type} of ${account}'s ${resource.id} ${resource.version} by ${actor.type} ${actor.id}`;
  });

const parentItem = async (of: ParentRef) => z.parse(z.looseObject({}), await get(keys.parent(of)));
const isSealed = async (of: ParentRef) => "seal" in (await parentItem(of));

/** Does this before the next call of the table. */
const beforeNextCall = (work: () => unknown, isNext = (_: unknown): boolean => true) => {
  const [table, send] = [dynamodb(), dynamodb().send.bind(dynamodb())];
  let done = false;
  vi.spyOn(table, "send").mockImplementation(async (command: Parameters<typeof send>[0]) => {
    if (!done && isNext(command)) {
      done = true;
      await work();
    }
    return send(command);
  });
};
/** Does this before the next write to the table, as another step may. */
const beforeNextWrite = (work: () => Promise<unknown>) =>
  beforeNextCall(work, (command) => command instanceof TransactWriteCommand);

describe("the start of a run", () => {
  const beside = { next: "ALREADY_RUNNING" };
  const takenOver = { next: "PAGINATE", ended: ["order.checkout_failed"] };
  it.each<[string, Partial<CheckoutRun> | undefined, Expected<{ readonly ended?: string[] }>]>([
    ["without a run before", undefined, { next: "PAGINATE", wait_seconds: 0 }],
    ["after one that failed", {}, { next: "PAGINATE", wait_seconds: 0 }],
    ["after one that failed with calls in flight", { calls_end_by: at(7.1) }, { next: "PAGINATE", wait_seconds: 8 }],
    ["after one that crashed", { status: "CRASHED" }, { next: "PAGINATE", wait_seconds: 150 }],
    ["after one that crashed, with later calls", { status: "CRASHED", calls_end_by: at(151) }, { wait_seconds: 151 }],
    ["after one whose outcome is unknown", { outcome_unknown: true }, { next: "SUBMIT" }],
    ["beside one", { status: "RUNNING" }, { reason: "The run last is checking this order out.", ...beside }],
    ["beside one that stops", { status: "STOPPING" }, beside],
    ["beside one that is too old", { status: "RUNNING", started_at: at(-week) }, { wait_seconds: 150, ...takenOver }],
    ["of itself again", { run: "this", status: "RUNNING", calls_end_by: at(3) }, { next: "PAGINATE", wait_seconds: 3 }],
    ["of itself after its end", { run: "this" }, { next: "FAIL", reason: "The run this has ended." }],
    ["of an earlier one", { earlier_runs: ["older", "this"] }, { next: "FAIL", reason: "The run this has ended." }],
  ])("%s", async (_, last, { ended = [], ...start }) => {
    const { order, ref } = await storedOrder();
    if (last) await storeRun(order, last);
    expect(await startRun(ref, now)).toMatchObject(start);
    const events = ended.map((type) => `${type} of 1's ${order} null by checkout last`);
    expect(await eventsOf({ type: "order", id: order })).toEqual(events);
  });

  it("locks the order", async () => {
    const { order, ref } = await storedOrder();
    const fresh = { run: "this", status: "RUNNING", started_at: at(0), ended_at: null, reason: null };
    const none = { outcome_unknown: false, consecutive_waits: 0, last_answer: null, next_try_at: null };
    await startRun(ref, now);
    const first = { ...fresh, ...none, attempt: 1, earlier_runs: [], calls_end_by: at(0) };
    expect(await readRun(order)).toEqual(first);
    const earlier_runs = Array.from({ length: 20 }, (_, index) => `run ${index}`);
    await storeRun(order, { earlier_runs, outcome_unknown: true });
    await startRun(ref, now);
    expect(await readRun(order)).toEqual({
      ...{ ...first, attempt: 4, earlier_runs: ["last", ...earlier_runs.slice(0, 19)], outcome_unknown: true },
    });
  });

  it.each([true, false])("keeps the order's seal only if the outcome is unknown: %s", async (outcome_unknown) => {
    const { order, ref } = await storedOrder();
    await storeRun(order, { status: "CRASHED", outcome_unknown });
    await sealBy("last", { type: "order", id: order });
    await startRun(ref, now);
    expect(await isSealed({ type: "order", id: order })).toBe(outcome_unknown);
  });

  it("beside another that starts at the same time finds its lock", async () => {
    for (const last of [undefined, {}]) {
      const { order, ref } = await storedOrder();
      if (last) await storeRun(order, last);
      const both = await Promise.all([startRun(ref, now), startRun({ ...ref, run: "other" }, now)]);
      expect(both.map(({ next }) => next).sort()).toEqual(["ALREADY_RUNNING", "PAGINATE"]);
    }
  });
});

describe("a change of a run", () => {
  it("is made while the run has its lock", async () => {
    const { order, ref } = await storedOrder();
    await running(order);
    expect(await updateRun(ref, { reason: "new" })).toBe(true);
    expect(await updateRun({ ...ref, run: "other" }, { reason: "other" })).toBe(false);
    await stopRun(ref, "the first reason", { consecutive_waits: 9 });
    await stopRun(ref, "the second reason");
    expect(await updateRun(ref, { reason: "late" })).toBe(false);
    const stopped = { status: "STOPPING", reason: "the first reason", consecutive_waits: 9, next_try_at: null };
    expect(await readRun(order)).toMatchObject(stopped);
  });

  it("to crashed is made once, with an event", async () => {
    const { order } = await storedOrder();
    await running(order);
    const run = await readRun(order);
    if (!run) throw new Error("no run");
    expect([await markCrashed(order, run, now), await markCrashed(order, run, now)]).toEqual([true, false]);
    const reason = "The run stopped without reporting a result.";
    expect(await readRun(order)).toMatchObject({ status: "CRASHED", ended_at: at(0), reason });
    const event = `order.checkout_failed of 1's ${order} null by checkout this`;
    expect(await eventsOf({ type: "order", id: order })).toEqual([event]);
  });
});

describe("the end of a run", () => {
  it("checks the order out, and may be repeated", async () => {
    const { order, ref } = await storedOrder();
    await running(order, { outcome_unknown: true });
    await finishRun(ref, now);
    await finishRun(ref, now);
    expect(await parentItem({ type: "order", id: order })).toMatchObject({ state: "CHECKED_OUT" });
    const ended = { status: "SUCCEEDED", outcome_unknown: false, ended_at: at(0), last_answer: null };
    expect(await readRun(order)).toMatchObject({ ...ended, next_try_at: null });
    const event = `order.checked_out of 1's ${order} null by checkout this`;
    expect(await eventsOf({ type: "order", id: order })).toEqual([event]);
  });

  it.each<[string, Partial<CheckoutRun>]>([
    ["another run has the lock", { run: "other" }],
    ["another run has ended", { run: "other", status: "SUCCEEDED" }],
    ["it is stopping", { status: "STOPPING" }],
  ])("throws where %s", async (_, changes) => {
    const { order, ref } = await storedOrder();
    await running(order, changes);
    await expect(finishRun(ref, now)).rejects.toThrow("The run this has lost its lock.");
  });

  const doubt = " Whether the cart is checked out is not known: the next run asks that first.";
  it.each<[string, Partial<CheckoutRun>, string, string, string]>([
    ["running", {}, "default", "FAILED", "neither"],
    ["stopping", { status: "STOPPING", reason: "why" }, "why", "FAILED", "neither"],
    ["in doubt", { status: "STOPPING", reason: "why", outcome_unknown: true }, `why${doubt}`, "FAILED", "both"],
    ["another's", { run: "other" }, "default", "RUNNING", "both"],
    ["another's that stops", { run: "other", status: "STOPPING", reason: "why" }, "default", "STOPPING", "both"],
    ["over", { status: "SUCCEEDED", reason: "why" }, "why", "SUCCEEDED", "both"],
  ])("as a failure, of a run that is %s", async (_, changes, reason, status, sealed) => {
    const { order, requests, ref } = await storedOrder(forwardableType, forwardableType);
    await running(order, { earlier_runs: ["crashed"], ...changes });
    const seal = (run: string) => ({ set: { seal: { run, version: 0, at: at(0) } }, when: {} });
    const [first = "", second = ""] = requests;
    await transact({
      order: { update: keys.order(order), ...seal("this") },
      first: { update: keys.request(first), ...seal("crashed") },
      second: { update: keys.request(second), ...seal("unknown") },
    });
    expect(await failRun(ref, "default", now)).toEqual({ reason });
    expect((await readRun(order))?.status).toBe(status);
    const left = [await isSealed({ type: "order", id: order })];
    for (const id of requests) left.push(await isSealed({ type: "request", id }));
    expect(left).toEqual(sealed === "both" ? [true, true, true] : [false, false, true]);
    const event = `order.checkout_failed of 1's ${order} null by checkout this`;
    expect(await eventsOf({ type: "order", id: order })).toEqual(status === "FAILED" ? [event] : []);
  });

  it("leaves a seal that another run sets meanwhile", async () => {
    const { order } = await storedOrder();
    const of = { type: "order", id: order } as const;
    await sealBy("this", of);
    beforeNextWrite(() => sealBy("other", of));
    await liftSeal(of, ["this"]);
    expect(await parentItem({ type: "order", id: order })).toMatchObject({ seal: { run: "other" } });
  });
});

/** A carrier that responds to each call with the next of these statuses. Returns the calls. */
const carrierThat = (...statuses: readonly CarrierResponse[]) => {
  const left = [...statuses];
  const calls: string[] = [];
  respond = ({ name }) => {
    calls.push(name);
    return left.shift() ?? 599;
  };
  return calls;
};
const busy = [503, { "Retry-After": "60" }] as const;
const says = (checked_out: unknown) => [200, {}, JSON.stringify({ checked_out })] as const;

const sealBy = (run: string, of: ParentRef) =>
  transact({ seal: { update: keys.parent(of), set: { seal: { run, version: 0, at: at(0) } }, when: {} } });

describe("the checkout of the cart", () => {
  const [done, failed] = [{ outcome: "CHECKED_OUT" }, { outcome: "FAILED", wait_seconds: 0 }];
  const refused = "The carrier refused to check the cart out: 422 why";
  const unavailable = "The carrier was unavailable for too long to check the cart out: it responded with 503.";
  const untouched = { outcome_unknown: false, calls_end_by: at(0) };
  const waiting = { ...untouched, consecutive_waits: 4, last_answer: "it responded with 503", next_try_at: at(60) };
  it.each<[string, CarrierResponse[], number, object, object]>([
    ["is done", [200], 0, { ...done, wait_seconds: 0 }, { outcome_unknown: true, calls_end_by: at(0) }],
    ["was done", [409], 0, done, { status: "RUNNING" }],
    ["is refused", [422], 0, failed, { ...untouched, status: "STOPPING", reason: refused }],
    ["is refused after it may be done", [500, 401], 0, failed, { outcome_unknown: true, calls_end_by: at(0) }],
    ["is redirected", [302], 0, failed, { outcome_unknown: true, status: "STOPPING" }],
    ["may be in progress", [504, 422], 0, failed, { outcome_unknown: false, calls_end_by: at(30) }],
    ["waits", [busy], 3, { outcome: "WAIT", consecutive_waits: 4, wait_seconds: 60 }, waiting],
    ["waits the last time", [busy], 9, { outcome: "WAIT", consecutive_waits: 10 }, { status: "RUNNING" }],
    [
      "has waited too long",
      [busy],
      10,
      { ...failed, consecutive_waits: 10 },
      { status: "STOPPING", reason: unavailable },
    ],
  ])("%s", async (_, statuses, waits, submitted, stored) => {
    const { order, ref } = await storedOrder();
    await running(order);
    await sealBy("this", { type: "order", id: order });
    const calls = carrierThat(...statuses);
    expect(await submitCart(ref, waits, now)).toMatchObject({ ...ref, ...submitted });
    expect(await readRun(order)).toMatchObject(stored);
    expect(calls).toEqual(statuses.map(() => "POST checkout"));
  });

  it.each<[string, Partial<CheckoutRun> | undefined]>([
    ["a run", undefined],
    ["its lock", { run: "other" }],
  ])("is not called without %s", async (_, changes) => {
    const { order, ref } = await storedOrder();
    if (changes) await running(order, changes);
    await sealBy("this", { type: "order", id: order });
    const calls = carrierThat(200);
    expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "FAILED", wait_seconds: 0 });
    expect(calls).toEqual([]);
  });
});

describe("whether the cart may be checked out", () => {
  const refused = (status: number | null) =>
    ({ kind: "refused", status, answer: "", reason: null, mayBeInProgress: false }) as const;
  const unavailable = {
    kind: "unavailable",
    reason: "",
    wait_seconds: 0,
    mayHaveActed: false,
    mayBeInProgress: false,
  } as const;
  it.each<readonly [ReturnType<typeof refused> | typeof unavailable, "no" | "open" | "unknown"]>([
    [refused(422), "no"],
    ...[null, 302, 401, 403, 404, 413, 425, 451].map((status) => [refused(status), "unknown"] as const),
    [unavailable, "open"],
  ])("%j: %s", (response, meaning) => {
    const unknown = (before: boolean, mayHaveActed: boolean) =>
      isStillUnknown(response.kind === "refused" ? response : { ...response, mayHaveActed }, before);
    const table = [unknown(false, false), unknown(false, true), unknown(true, false), unknown(true, true)];
    const all = {
      no: [false, false, false, false],
      open: [false, true, true, true],
      unknown: [true, true, true, true],
    };
    expect(table).toEqual(all[meaning]);
  });
});

describe("a run after a checkout of the cart whose outcome is unknown", () => {
  /** An order that the run "last" has sealed, and this run continues. */
  const stored = async (changes: Partial<CheckoutRun> = {}) => {
    const { order, requests, ref } = await storedOrder(forwardableType);
    const parents = [{ type: "order", id: order } as const, { type: "request", id: requests[0] ?? "" } as const];
    await running(order, { outcome_unknown: true, earlier_runs: ["last"], ...changes });
    for (const parent of parents) await sealBy("last", parent);
    const [ofOrder, ofRequest] = parents;
    if (!ofOrder || !ofRequest) throw new Error("no parents");
    const seals = async () => [await isSealed(ofOrder), await isSealed(ofRequest)];
    return { order, ref, ofOrder, seals };
  };
  const [kept, lifted] = [
    [true, true],
    [false, true],
  ];
  const open = { outcome: "OPEN", reason: "The carrier has not checked the cart out: start the checkout again." };
  const settled = { outcome_unknown: false, calls_end_by: at(0), consecutive_waits: 0, status: "RUNNING" };
  const unknown = { outcome_unknown: true, calls_end_by: at(-60), status: "RUNNING" };
  const stopped = { ...unknown, status: "STOPPING" };
  const failed = { outcome: "FAILED" };
  it.each<[string, CarrierResponse[], object, object, boolean[]]>([
    ["is open", [says(false)], open, settled, lifted],
    ["is checked out", [says(true)], { outcome: "CHECKED_OUT" }, unknown, kept],
    ["waits for the answer", [busy], { outcome: "WAIT", wait_seconds: 60, consecutive_waits: 4 }, unknown, kept],
    ["gets no permission", [403], failed, stopped, kept],
    ["is redirected", [302], failed, stopped, kept],
    ["gets another answer", [says("no")], failed, stopped, kept],
    ["gets no JSON", [200], failed, stopped, kept],
    ...[404, 405, 501].map((status): [string, CarrierResponse[], object, object, boolean[]] => [
      `repeats the call if the carrier cannot say, ${status}`,
      [status, 200],
      { outcome: "CHECKED_OUT" },
      { outcome_unknown: true, calls_end_by: at(0) },
      kept,
    ]),
    ["repeats a call that is refused", [404, 422], failed, { outcome_unknown: false, status: "STOPPING" }, kept],
  ])("%s", async (_, answers, submitted, run, seals) => {
    const { order, ref, seals: left } = await stored();
    const calls = carrierThat(...answers);
    expect(await submitCart(ref, 3, now)).toMatchObject({ ...ref, ...submitted });
    expect(calls).toEqual(["GET cart", "POST checkout"].slice(0, answers.length));
    expect([await readRun(order), await left()]).toMatchObject([run, seals]);
  });

  it("asks only once no earlier call can be in progress", async () => {
    const { ref } = await stored({ calls_end_by: at(9.5) });
    const calls = carrierThat(says(false));
    expect(await submitCart(ref, 3, now)).toMatchObject({ outcome: "WAIT", wait_seconds: 10, consecutive_waits: 3 });
    expect(calls).toEqual([]);
    expect(await submitCart(ref, 3, new Date(at(9.5)))).toMatchObject({ outcome: "OPEN" });
  });

  it("never repeats the call if the order is not sealed: what is missing is forwarded first", async () => {
    const { ref, ofOrder } = await stored();
    await liftSeal(ofOrder, ["last"]);
    const calls = carrierThat(404);
    expect([await submitCart(ref, 0, now), calls]).toMatchObject([{ outcome: "OPEN" }, ["GET cart"]]);
  });

  it("goes on without asking again if it crashed after it lifted the seal", async () => {
    const { ref } = await stored();
    const calls = carrierThat(says(false));
    for (const _ of ["crashes", "is repeated"])
      expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "OPEN" });
    expect(calls).toEqual(["GET cart"]);
  });

  it.each<[string, CarrierResponse]>([
    ["is open", says(false)],
    ["cannot be said", 404],
  ])("changes nothing in a late copy of the step that learns that it %s", async (_, learned) => {
    const { order, ref, ofOrder } = await stored();
    const calls = carrierThat(learned, says(false), 500, 503, 503, busy);
    beforeNextWrite(async () => {
      expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "OPEN" });
      await sealBy("this", ofOrder);
      expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "WAIT" });
    });
    expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "FAILED" });
    expect(calls).toEqual(["GET cart", "GET cart", ...Array(4).fill("POST checkout")]);
    expect([await readRun(order), await isSealed(ofOrder)]).toMatchObject([{ outcome_unknown: true }, true]);
  });
});

describe("the checkout of the cart, twice at once", () => {
  it("is in doubt until the call that was announced last has its response", async () => {
    const { order, ref } = await storedOrder();
    await running(order);
    await sealBy("this", { type: "order", id: order });
    let calls = 0;
    respond = async () => {
      calls += 1;
      // Another copy announces its call while this one is in progress, and returns first.
      if (calls === 1) await submitCart(ref, 0, now);
      return 422;
    };
    await submitCart(ref, 0, now);
    expect([calls, await readRun(order)]).toMatchObject([2, { outcome_unknown: false, status: "STOPPING" }]);
    // The call that was in progress before it still may be.
    expect((await readRun(order))?.calls_end_by).toBe(at(150.001));
  });
});

describe("a round", () => {
  it.each([
    [0, []],
    [1, [1]],
    [8, [8]],
    [9, [8, 1]],
    [65, [9, 9, 9, 9, 9, 9, 9, 2]],
  ])("divides %i requests into pages of %j", async (count, sizes) => {
    const { order, requests, ref } = await storedOrder(...Array.from({ length: count }, () => forwardableType));
    await transact({ order: { update: keys.order(order), set: { attachments_version: 5 }, when: {} } });
    const { pages, ...round } = await beginRound(ref, 7);
    expect(round).toEqual({ ...ref, version: 5 });
    const found = pages.map(
      ({ after, through }) => requests.filter((id) => (after === null || id > after) && id <= through).length,
    );
    expect(found).toEqual(sizes);
    for (const page of pages) expect(page).toMatchObject({ passes_left: 7, consecutive_waits: 0, run: "this" });
  });

  type Ended = { readonly outcome: "SEALED" | "FAILED"; readonly passes_left: number; readonly reason?: string };
  const sealed = (passes_left: number): Ended => ({ outcome: "SEALED", passes_left });
  const failed = { outcome: "FAILED", passes_left: 4 } as const;
  const changing = "The attachments of the order keep changing: try again later.";
  it.each<[string, Ended[], Partial<CheckoutRun>, number, Expected<{ readonly next: string }>]>([
    ["seals the order", [sealed(5)], {}, 0, { next: "SUBMIT", passes_left: 5 }],
    ["seals an order without requests", [], {}, 0, { next: "SUBMIT", passes_left: 8 }],
    ["has failed", [sealed(5), { ...failed, reason: "why" }], {}, 0, { next: "FAIL", passes_left: 4, reason: "why" }],
    ["has failed without a reason", [failed], {}, 0, { next: "FAIL", passes_left: 4 }],
    ["has lost its lock", [], { status: "STOPPING" }, 0, { next: "FAIL", passes_left: 8 }],
    ["is followed by another", [sealed(1)], {}, 1, { next: "PAGINATE", passes_left: 1 }],
    ["is the last", [sealed(0)], {}, 1, { next: "FAIL", passes_left: 0, reason: changing }],
  ])("%s", async (_, results, changes, version, end) => {
    const { order, ref } = await storedOrder();
    await running(order, changes);
    expect(await endRound({ ...ref, version }, 9, results)).toEqual({ ...ref, ...end });
    const { seal } = await parentItem({ type: "order", id: order });
    expect(seal).toEqual(end.next === "SUBMIT" ? { run: "this", version: 0, at: at(0) } : undefined);
  });

  const touch = (id = "") =>
    transact({ request: { update: keys.request(id), add: { attachments_version: 1 }, when: {} } });
  it.each([
    ["seals its requests", 101, 0, "RUNNING", "SEALED"],
    ["has lost its lock", 2, 2, "STOPPING", "FAILED"],
    ["changes meanwhile", 2, 1, "RUNNING", "CHANGED"],
    ["changes meanwhile for the last time", 2, 0, "RUNNING", "FAILED"],
  ] as const)("with a page that %s", async (title, count, passes_left, status, outcome) => {
    const { order, requests, ref } = await storedOrder(...Array.from({ length: count }, () => forwardableType));
    await running(order, { status });
    if (title.startsWith("changes")) beforeNextWrite(() => touch(requests.at(-1)));
    const page = { ...ref, after: requests[0] ?? null, through: requests.at(-1) ?? "", passes_left };
    expect(await sealPage({ ...page, consecutive_waits: 0 })).toMatchObject({ ...page, outcome });
    const sealed = await Promise.all(requests.map((id) => isSealed({ type: "request", id })));
    expect(sealed.filter(Boolean).length).toBe(outcome === "SEALED" ? count - 1 : 0);
  });
});

describe("a page", () => {
  const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
  const sha256 = hashOf("%PDF");
  const uploaded = (text: string) => ({
    content: new Uint8Array(Buffer.from(text)),
    sha256: hashOf(text),
    filename: "a.pdf",
    contentType: "application/pdf",
  });
  const detected = { content_type: "application/pdf", detected_type: null, encrypted: null };
  const metadata = { ...minimalMetadata("LOA"), ...detected, filename: "a.pdf", version: 1, bytes: 4, sha256 };
  const attach = async (parent: ParentRef) => {
    const id = newId(now.getTime());
    await putFile(fileKey(parent, id), uploaded("%PDF"));
    const item = { ...keys.attachment(parent, id), ...metadata, id, inserted_at: at(0), updated_at: at(0) };
    await transact({ item: { put: item } });
    return id;
  };
  const pageOf = (ref: { readonly order_id: string; readonly run: string }, through = "") => ({
    ...{ ...ref, after: null, through, passes_left: 3, consecutive_waits: 1 },
  });
  /** An order with one request, and an attachment of each. */
  const stored = async () => {
    const { order, requests, ref } = await storedOrder(forwardableType);
    await running(order);
    const request = requests[0] ?? "";
    const ids = [await attach({ type: "order", id: order }), await attach({ type: "request", id: request })] as const;
    const removeMetadata = (own: boolean) => {
      const [of, id] = own ? (["request", ids[1]] as const) : (["order", ids[0]] as const);
      const parent: ParentRef = { type: of, id: own ? request : order };
      return transact({ gone: { delete: keys.attachment(parent, id) } });
    };
    return { order, request, ids, page: pageOf(ref, request), removeMetadata };
  };
  /** The same with the request's attachment only. */
  const storedOne = async () => {
    const { ids, ...all } = await stored();
    await all.removeMetadata(false);
    const id = ids[1];
    const sent = { name: "LOA", notes: null, file_hint: "LOA", filename: "older.pdf" };
    const call = { attachment: id, of: "request", at: at(-9), sha256, bytes: 4, sent, version: 1, attempts: 1 };
    const ends = { status: null, answer: null, last_answer: null, next_try_at: null, in_flight_until: null };
    const storeReceipt = (changes: Partial<Receipt>) =>
      transact({ receipt: { put: { ...keys.receipt(all.request, id), ...call, ...ends, ...changes } } });
    return { ...all, id, storeReceipt };
  };
  const statesOf = async (request: string) => (await receiptsOf(request)).map(({ state }) => state).sort();

  it("forwards what is missing once, withdraws what was deleted, and is then sealed", async () => {
    const { order, request, ids, page, removeMetadata } = await stored();
    const calls = carrierThat(201, 200, 404, 200);
    expect(await sealPage(page)).toEqual({ ...page, outcome: "CHANGED" });
    expect(await sealPage({ ...page, passes_left: 0 })).toMatchObject({ outcome: "FAILED" });
    await running(order);
    const done = { ...page, passes_left: 2, consecutive_waits: 0, outcome: "FORWARDED", wait_seconds: 0 };
    expect(await forwardPage(page)).toEqual(done);
    expect(await readRun(order)).toMatchObject({ consecutive_waits: 0, last_answer: null, next_try_at: null });
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    expect(await statesOf(request)).toEqual(["forwarded", "forwarded"]);
    const planned = { account: "2", version: 0, forward: [], withdraw: [{ attachment: ids[0] }] };
    expect(await planOf(request, [])).toMatchObject(planned);
    await removeMetadata(true);
    const changed = { name: "New", version: 2 };
    const key = keys.attachment({ type: "order", id: order }, ids[0]);
    await transact({ item: { update: key, set: changed, when: {} } });
    expect((await sealPage(page)).outcome).toBe("CHANGED");
    expect((await forwardPage(page)).outcome).toBe("FORWARDED");
    expect(await statesOf(request)).toEqual(["forwarded", "withdrawn"]);
    const puts = [ids[0], ...ids].map((id) => `PUT ${id}`);
    expect(calls.sort()).toEqual([`DELETE ${ids[1]}`, ...puts].sort());
    expect((await sealPage(page)).outcome).toBe("SEALED");
    const events = [
      ...[1, 2].map((version) => `order_attachment.forwarded of 1's ${ids[0]} ${version}`),
      ...["forwarded", "withdrawn"].map((state) => `request_attachment.${state} of 2's ${ids[1]} 1`),
    ];
    const recorded = await eventsOf({ type: "request", id: request });
    expect(recorded.sort()).toEqual(events.map((event) => `${event} by checkout this`));
  });

  it.each<[number, CarrierResponse, string, string[]]>([
    [1, 201, "FORWARDED", ["forwarded", "forwarded"]],
    // Eight are forwarded at once.
    [9, busy, "WAIT", Array(8).fill("pending")],
  ])(
    "of two requests with %i files each, whose carrier responds with %j, is %s",
    async (files, response, outcome, states) => {
      const { order, requests, ref } = await storedOrder(forwardableType, forwardableType);
      await running(order);
      for (const id of requests)
        await Promise.all(Array.from({ length: files }, () => attach({ type: "request", id })));
      carrierThat(...states.map(() => response));
      expect(await forwardPage(pageOf(ref, requests[1]))).toMatchObject({ outcome });
      expect((await Promise.all(requests.map(statesOf))).flat()).toEqual(states);
    },
  );

  it("whose attachment is deleted before its call has nothing to do", async () => {
    const { request, page, removeMetadata } = await storedOne();
    const calls = carrierThat();
    beforeNextWrite(() => removeMetadata(true));
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    expect([calls, await statesOf(request)]).toEqual([[], []]);
  });

  it("has failed if its run ends during a call", async () => {
    const { order, page } = await storedOne();
    respond = async () => {
      await running(order, { run: "other" });
      return busy;
    };
    expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED", wait_seconds: 0 });
  });

  const waiting = {
    status: "RUNNING",
    consecutive_waits: 2,
    next_try_at: at(60),
    last_answer: "it responded with 503",
  };
  const tooLong = expect.stringMatching(/the carrier was unavailable for too long \(it responded with 503\)\.$/);
  it.each<[string, number, number, Expected<{ readonly outcome: string }>, object]>([
    ["waits", 3, 1, { outcome: "WAIT", passes_left: 2, consecutive_waits: 2, wait_seconds: 60 }, waiting],
    ["waits the last time", 2, 9, { outcome: "WAIT", consecutive_waits: 10 }, { status: "RUNNING" }],
    ["has waited too often", 3, 10, { outcome: "FAILED", wait_seconds: 0 }, { status: "STOPPING", last_answer: "x" }],
    ["has no pass left", 1, 1, { outcome: "FAILED", passes_left: 0 }, { status: "STOPPING", reason: tooLong }],
  ])("%s for a carrier that is unavailable", async (_, passes_left, consecutive_waits, page, run) => {
    const { order, request, page: first } = await stored();
    carrierThat(busy, busy);
    expect(await forwardPage({ ...first, passes_left, consecutive_waits })).toMatchObject(page);
    expect(await readRun(order)).toMatchObject(run);
    const next_try_at = page.outcome === "WAIT" ? at(60) : null;
    const receipt = { state: "pending", last_answer: "it responded with 503", next_try_at, in_flight_until: null };
    expect(await receiptsOf(request)).toMatchObject([receipt, receipt]);
  });

  it("that has progressed waits the first time", async () => {
    const { request, page } = await stored();
    carrierThat(201, busy);
    expect(await forwardPage({ ...page, consecutive_waits: 10 })).toMatchObject({
      outcome: "WAIT",
      consecutive_waits: 1,
    });
    expect(await statesOf(request)).toEqual(["forwarded", "pending"]);
  });

  it.each([
    [422, false],
    // The cart may be checked out.
    [409, true],
  ])("fails with the reason of a refusal, %i", async (status, outcome_unknown) => {
    const { order, request, page } = await stored();
    carrierThat(status, status);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED", wait_seconds: 0 });
    const reason = /^The attachment \w+ of the request \w+ was refused by the carrier, not forwarded: 4\d\d why$/;
    expect(await readRun(order)).toMatchObject({ reason: expect.stringMatching(reason), outcome_unknown });
    const refused = { state: "refused", status, answer: "why", reason: null };
    expect(await receiptsOf(request)).toMatchObject([refused, refused]);
  });

  it.each<Partial<CheckoutRun>>([{ run: "other" }, { status: "STOPPING" }])(
    "calls no carrier without its lock, %j, and leaves its receipts as they are",
    async (changes) => {
      const { order, request, page, storeReceipt, removeMetadata } = await storedOne();
      await running(order, changes);
      const calls = carrierThat();
      expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
      expect([calls, await statesOf(request)]).toEqual([[], []]);
      await storeReceipt({ state: "forwarded" });
      const receipts = await receiptsOf(request);
      expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
      await removeMetadata(true);
      expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
      expect([calls, await receiptsOf(request)]).toEqual([[], receipts]);
    },
  );

  const tooMuch = "There is more to forward than one run can take.";
  it.each([
    [300_000, 3, "FORWARDED", null],
    [300_001, 3, "MORE", null],
    [300_001, 1, "FAILED", tooMuch],
  ])("whose work has taken %i ms, with %i passes left, is %s", async (ms, passes_left, outcome, reason) => {
    const { order, page } = await stored();
    carrierThat(201, 201);
    beforeNextCall(() => vi.setSystemTime(now.getTime() + ms));
    expect(await forwardPage({ ...page, passes_left })).toMatchObject({ outcome, wait_seconds: 0 });
    expect((await readRun(order))?.reason).toBe(reason);
  });

  it("is called with the same key for the same metadata, until its announced time", async () => {
    const { order, request, ids, page, removeMetadata } = await stored();
    const timeout = vi.spyOn(AbortSignal, "timeout");
    const keysOf: (string | undefined)[] = [];
    const bodies: string[] = [];
    respond = ({ key, body }) => {
      keysOf.push(key);
      bodies.push(body);
      return 200;
    };
    await forwardPage(page);
    expect(keysOf.sort()).toEqual(ids.map((id) => `forward-${request}-${id}-1`).sort());
    for (const id of ids) {
      const body = bodies.find((each) => each.includes(id)) ?? "";
      expect(body).toMatch(`--patchbay-${request}-${id}\r\n`);
      expect(body).toMatch(`{"id":"${id}","request_id":"${request}"`);
    }
    expect(timeout).toHaveBeenCalledWith(30_001);
    await removeMetadata(true);
    await forwardPage(page);
    await sealBy("this", { type: "order", id: order });
    await submitCart(page, 0, now);
    expect(keysOf.slice(2)).toEqual([`withdraw-${request}-${ids[1]}-1`, `checkout-${order}`]);
  });

  it("is called no longer than announced", async () => {
    const { page } = await storedOne();
    const timeout = vi.spyOn(AbortSignal, "timeout");
    carrierThat(201);
    // The call is made 130 s after it was announced.
    vi.spyOn(Date, "now").mockImplementation(() => now.getTime() + 130_000);
    await forwardPage(page);
    expect(timeout).toHaveBeenCalledWith(4 * 30_001 + 3 * 5_000 - 130_000);
  });

  const failingS3 = async (properties: object) => {
    const error = Object.assign(new Error("injected"), properties);
    vi.spyOn(S3Client.prototype, "send").mockImplementation(() => Promise.reject(error));
  };
  const removed = (of: ParentRef, id: string) => removeFile(fileKey(of, id));
  const noted = { state: "pending", last_answer: null, next_try_at: null };
  const unavailable = { state: "pending", answer: null, last_answer: "S3 is unavailable", next_try_at: at(1) };
  it.each<[string, (of: ParentRef, id: string) => Promise<unknown>, object, RegExp | null, object]>([
    ["is gone", removed, { outcome: "FAILED" }, /its file is gone from storage\.$/, noted],
    [
      "is another",
      (of, id) => putFile(fileKey(of, id), uploaded("%PDG")),
      { outcome: "FAILED" },
      /its stored file is not the one uploaded\.$/,
      noted,
    ],
    ["is unavailable", () => failingS3({ name: "SlowDown" }), { outcome: "WAIT" }, null, unavailable],
    [
      "is deleted meanwhile",
      async (of, id) => {
        await removed(of, id);
        const { send } = S3Client.prototype;
        vi.spyOn(S3Client.prototype, "send").mockImplementation(async function (this: S3Client, command) {
          await transact({ gone: { delete: keys.attachment(of, id) } });
          return Reflect.apply(send, this, [command]);
        });
      },
      { outcome: "FORWARDED" },
      null,
      noted,
    ],
  ])("whose file %s", async (_, change, outcome, reason, receipt) => {
    const { order, request, id, page } = await storedOne();
    await change({ type: "request", id: request }, id);
    carrierThat(201);
    expect(await forwardPage(page)).toMatchObject(outcome);
    expect((await readRun(order))?.reason ?? null).toEqual(reason && expect.stringMatching(reason));
    const answer = reason ? expect.stringMatching(/^its /) : expect.anything();
    expect(await receiptsOf(request)).toMatchObject([{ answer, ...receipt }]);
  });

  it("whose file may not be read fails, for the workflow to repeat", async () => {
    const { page } = await storedOne();
    await failingS3({ name: "AccessDenied" });
    carrierThat(201);
    await expect(forwardPage(page)).rejects.toThrow("injected");
  });

  const inFlight = { in_flight_until: at(90) };
  it.each<[string, Partial<Receipt>, "FORWARDED" | "WAIT"]>([
    ["new metadata wait", { state: "pending", version: 0, ...inFlight }, "FORWARDED"],
    ["an announced version is repeated", { state: "pending", ...inFlight }, "FORWARDED"],
    ["an earlier version waits", { state: "forwarded", version: 0, ...inFlight }, "WAIT"],
    ["an earlier version is replaced", { state: "forwarded", version: 0, in_flight_until: at(0) }, "FORWARDED"],
    ["a deleted one waits", { state: "forwarded", ...inFlight }, "WAIT"],
    ["a deleted one is withdrawn", { state: "forwarded", in_flight_until: at(0) }, "FORWARDED"],
  ])("whose call may be in flight: %s", async (title, changes, outcome) => {
    const { request, page, storeReceipt, removeMetadata } = await storedOne();
    await storeReceipt(changes);
    if (title.startsWith("a deleted")) await removeMetadata(true);
    carrierThat(201);
    expect(await forwardPage(page)).toMatchObject({ outcome, wait_seconds: outcome === "WAIT" ? 90 : 0 });
    expect(await receiptsOf(request)).toMatchObject([{ next_try_at: outcome === "WAIT" ? at(90) : null }]);
  });

  it.each([
    [422, { state: "refused", status: 422, answer: "why", version: 0 }],
    [200, { state: "forwarded", status: 200, version: 0 }],
  ])("whose repeated call gets a %i gets its current metadata next", async (status, repeated) => {
    const { request, page, storeReceipt } = await storedOne();
    await storeReceipt({ state: "pending", version: 0 });
    carrierThat(status, 201);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED", consecutive_waits: 0 });
    expect(await receiptsOf(request)).toMatchObject([repeated]);
    await forwardPage(page);
    expect(await receiptsOf(request)).toMatchObject([{ state: "forwarded", status: 201, version: 1, attempts: 3 }]);
  });

  it("is described to an adapter function only with the file that was uploaded", async () => {
    vi.stubEnv("CARRIER_FUNCTION", "the-adapter");
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", server.url);
    const { order, request, id, page } = await storedOne();
    const calls = carrierThat();
    for (const [change, reason] of [
      [() => putFile(fileKey({ type: "request", id: request }, id), uploaded("longer")), /is not the one uploaded\.$/],
      [() => removeFile(fileKey({ type: "request", id: request }, id)), /its file is gone from storage\.$/],
    ] as const) {
      await running(order);
      await transact({ receipt: { delete: keys.receipt(request, id) } });
      await change();
      expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
      expect((await readRun(order))?.reason).toMatch(reason);
    }
    await running(order);
    await transact({ receipt: { delete: keys.receipt(request, id) } });
    await failingS3({ name: "SlowDown" });
    expect([await forwardPage(page), calls]).toMatchObject([{ outcome: "WAIT" }, []]);
  });

  it("leaves out other requests, and those after its last", async () => {
    const { order, requests, ref } = await storedOrder(forwardableType, "OTHER", forwardableType);
    const [first, last] = [requests[0] ?? "", requests.at(-1) ?? ""];
    const all = await forwardableRequests(order);
    expect(await forwardableRequests(order, { after: null, through: last })).toEqual(all);
    expect(await forwardableRequests(order, { after: first })).toEqual(all.filter((id) => id > first));
    expect(await forwardableRequests(order, { through: first })).toEqual(all.filter((id) => id <= first));
    expect(all.length).toBe(2);
    expect(ref.order_id).toBe(order);
  });
});
