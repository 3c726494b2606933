import { createHash } from "node:crypto";
import { S3Client } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { putFile, removeFile } from "../../../shared/attachments/files.ts";
import { minimalMetadata } from "../../../shared/attachments/schema.ts";
import { failRun, finishRun, submitCart } from "../../../shared/checkout/end.ts";
import { forwardPage } from "../../../shared/checkout/forward.ts";
import { forwardedRequests, planOf, receiptsOf } from "../../../shared/checkout/plan.ts";
import { markCrashed, readRun, startRun, stopRun, updateRun } from "../../../shared/checkout/run.ts";
import type { CheckoutRun, Receipt } from "../../../shared/checkout/schema.ts";
import { beginRound, endRound, sealPage } from "../../../shared/checkout/seal.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { collections, keys, type ParentRef } from "../../../shared/table/keys.ts";
import { get, queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { forwardedType } from "../../../shared/tenants/schema.ts";

/** What each step of the checkout decides, from what is stored and what the carrier responds. */

const now = new Date("2026-11-21T10:00:00.000Z");
const at = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
const counts = { attachment_count: 0, attachments_version: 0 };
const week = (7 * 24 + 1) * 3600;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now });
  vi.stubEnv("CARRIER_URL", "http://carrier.test");
  vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
  vi.stubEnv("CARRIER_LONGEST_WAIT_SECONDS", "900");
  vi.spyOn(Math, "random").mockReturnValue(-1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

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
  ...{ run: "last", attempt: 3, earlier_runs: ["older"], status: "FAILED", started_at: at(-60), calls_end_by: at(-60) },
  ...{ ended_at: null, reason: null, outcome_unknown: false, consecutive_waits: 2, last_answer: "x", next_try_at: "y" },
};
const storeRun = (order: string, changes: Partial<CheckoutRun>) =>
  transact({ run: { put: { ...keys.checkout(order), ...lastRun, ...changes } } });
const running = (order: string, changes: Partial<CheckoutRun> = {}) =>
  storeRun(order, { run: "this", status: "RUNNING", ...changes });

const eventsOf = async (of: ParentRef) =>
  (await Array.fromAsync(queryAll(collections.events(of)))).map(
    (event) => z.parse(z.looseObject({ type: z.string() }), event).type,
  );

const parentItem = async (of: ParentRef) => z.parse(z.looseObject({}), await get(keys.parent(of)));

describe("the start of a run", () => {
  it.each<[string, Partial<CheckoutRun> | undefined, object]>([
    ["without a run before", undefined, { next: "PAGINATE", wait_seconds: 0 }],
    ["after one that failed", {}, { next: "PAGINATE", wait_seconds: 0 }],
    ["after one that failed with calls in flight", { calls_end_by: at(7.1) }, { next: "PAGINATE", wait_seconds: 8 }],
    ["after one that crashed", { status: "CRASHED" }, { next: "PAGINATE", wait_seconds: 150 }],
    ["after one that crashed, with later calls", { status: "CRASHED", calls_end_by: at(151) }, { wait_seconds: 151 }],
    ["after one whose outcome is unknown", { outcome_unknown: true }, { next: "SUBMIT" }],
    [
      "beside one",
      { status: "RUNNING" },
      { next: "ALREADY_RUNNING", reason: "The run last is checking this order out." },
    ],
    ["beside one that stops", { status: "STOPPING" }, { next: "ALREADY_RUNNING" }],
    [
      "beside one that is too old",
      { status: "RUNNING", started_at: at(-week) },
      { next: "PAGINATE", wait_seconds: 150 },
    ],
    ["of itself again", { run: "this", status: "RUNNING", calls_end_by: at(3) }, { next: "PAGINATE", wait_seconds: 3 }],
    ["of itself after its end", { run: "this" }, { next: "FAIL", reason: "The run this has ended." }],
    ["of an earlier one", { earlier_runs: ["older", "this"] }, { next: "FAIL", reason: "The run this has ended." }],
  ])("%s", async (_, last, start) => {
    const { order, ref } = await storedOrder();
    if (last) await storeRun(order, last);
    expect(await startRun(ref, now)).toMatchObject(start);
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

  it("beside another that starts at the same time finds its lock", async () => {
    for (const last of [undefined, {}]) {
      const { order, ref } = await storedOrder();
      if (last) await storeRun(order, last);
      const both = await Promise.all([startRun(ref, now), startRun({ ...ref, run: "other" }, now)]);
      expect(both.map(({ next }) => next).sort()).toEqual(["ALREADY_RUNNING", "PAGINATE"]);
    }
  });

  it("is refused without an order, and is over after its checkout", async () => {
    const absent = { order_id: "absent", run: "this" };
    expect(await startRun(absent, now)).toEqual({ next: "FAIL", reason: "There is no order absent." });
    const { order, ref } = await storedOrder();
    await transact({ order: { update: keys.order(order), set: { state: "CHECKED_OUT" }, when: {} } });
    expect(await startRun(ref, now)).toEqual({ next: "END" });
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
    expect(await eventsOf({ type: "order", id: order })).toEqual(["order.checkout_failed"]);
  });
});

describe("the end of a run", () => {
  it("checks the order out, and may be repeated", async () => {
    const { order, ref } = await storedOrder();
    await running(order, { outcome_unknown: true });
    await finishRun(ref, now);
    await finishRun(ref, now);
    expect(await parentItem({ type: "order", id: order })).toMatchObject({ state: "CHECKED_OUT" });
    const ended = {
      status: "SUCCEEDED",
      outcome_unknown: false,
      ended_at: at(0),
      last_answer: null,
      next_try_at: null,
    };
    expect(await readRun(order)).toMatchObject(ended);
    expect(await eventsOf({ type: "order", id: order })).toEqual(["order.checked_out"]);
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
    ["over", { status: "SUCCEEDED", reason: "why" }, "why", "SUCCEEDED", "both"],
  ])("as a failure, of a run that is %s", async (_, changes, reason, status, sealed) => {
    const { order, requests, ref } = await storedOrder(forwardedType, forwardedType);
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
    const parents = [{ type: "order", id: order }, ...requests.map((id) => ({ type: "request", id }))] as const;
    const left = await Promise.all(
      parents.map(
        async ({ type, id }) =>
          "seal" in (await parentItem(type === "order" ? { type: "order", id } : { type: "request", id })),
      ),
    );
    expect(left).toEqual(sealed === "both" ? [true, true, true] : [false, false, true]);
    expect(await eventsOf({ type: "order", id: order })).toEqual(status === "FAILED" ? ["order.checkout_failed"] : []);
  });
});

type CarrierResponse = number | readonly [number, Record<string, string>];

/** A carrier that responds to each call with the next of these statuses. Returns the calls. */
const carrierThat = (...statuses: readonly CarrierResponse[]) => {
  const left = [...statuses];
  const calls: string[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    calls.push(`${init?.method} ${String(url).split("/").at(-1)}`);
    if (init?.body instanceof ReadableStream) for await (const _ of init.body);
    const next = left.shift() ?? 599;
    const [status, headers] = typeof next === "number" ? [next, {}] : next;
    return new Response("why", { status, headers });
  });
  return calls;
};
const busy = [503, { "Retry-After": "60" }] as const;

describe("the checkout of the cart", () => {
  it.each<[string, CarrierResponse[], number, object, object]>([
    [
      "is done",
      [200],
      0,
      { outcome: "CHECKED_OUT", wait_seconds: 0 },
      { outcome_unknown: true, calls_end_by: at(150) },
    ],
    ["was done", [409], 0, { outcome: "CHECKED_OUT" }, { status: "RUNNING" }],
    [
      "is refused",
      [422],
      0,
      { outcome: "FAILED", wait_seconds: 0 },
      {
        status: "STOPPING",
        outcome_unknown: false,
        calls_end_by: at(-60),
        reason: "The carrier refused to check the cart out: 422 why",
      },
    ],
    ["is refused after it may be done", [500, 401], 0, { outcome: "FAILED" }, { outcome_unknown: true }],
    [
      "waits",
      [busy],
      3,
      { outcome: "WAIT", consecutive_waits: 4, wait_seconds: 60 },
      {
        consecutive_waits: 4,
        outcome_unknown: false,
        calls_end_by: at(-60),
        last_answer: "it responded with 503",
        next_try_at: at(60),
      },
    ],
    ["waits the last time", [busy], 9, { outcome: "WAIT", consecutive_waits: 10 }, { status: "RUNNING" }],
    [
      "has waited too long",
      [busy],
      10,
      { outcome: "FAILED", consecutive_waits: 10 },
      {
        status: "STOPPING",
        reason: "The carrier was unavailable for too long to check the cart out: it responded with 503.",
      },
    ],
  ])("%s", async (_, statuses, waits, submitted, stored) => {
    const { order, ref } = await storedOrder();
    await running(order);
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
    const calls = carrierThat(200);
    expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "FAILED", wait_seconds: 0 });
    expect(calls).toEqual([]);
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
    const { order, requests, ref } = await storedOrder(...Array.from({ length: count }, () => forwardedType));
    await transact({ order: { update: keys.order(order), set: { attachments_version: 5 }, when: {} } });
    const { pages, ...round } = await beginRound(ref, 7);
    expect(round).toEqual({ ...ref, version: 5 });
    const found = pages.map(
      ({ after, through }) => requests.filter((id) => (after === null || id > after) && id <= through).length,
    );
    expect(found).toEqual(sizes);
    expect(pages.every((page) => page.passes_left === 7 && page.consecutive_waits === 0 && page.run === "this")).toBe(
      true,
    );
  });

  const ended = (outcome: "SEALED" | "FAILED", passes_left: number, reason?: string) => ({
    outcome,
    passes_left,
    ...(reason && { reason }),
  });
  it.each<[string, ReturnType<typeof ended>[], number, Partial<CheckoutRun>, number, object]>([
    ["seals the order", [ended("SEALED", 5)], 9, {}, 0, { next: "SUBMIT", passes_left: 5 }],
    ["seals an order without requests", [], 9, {}, 0, { next: "SUBMIT", passes_left: 8 }],
    [
      "has failed with a page",
      [ended("SEALED", 5), ended("FAILED", 4, "why")],
      9,
      {},
      0,
      { next: "FAIL", passes_left: 4, reason: "why" },
    ],
    ["has failed without a reason", [ended("FAILED", 4)], 9, {}, 0, { next: "FAIL", passes_left: 4 }],
    ["has lost its lock", [], 9, { status: "STOPPING" }, 0, { next: "FAIL", passes_left: 8 }],
    ["is followed by another", [ended("SEALED", 1)], 9, {}, 1, { next: "PAGINATE", passes_left: 1 }],
    [
      "is the last",
      [ended("SEALED", 0)],
      9,
      {},
      1,
      { next: "FAIL", passes_left: 0, reason: "The attachments of the order keep changing: try again later." },
    ],
  ])("%s", async (_, results, passes, changes, version, end) => {
    const { order, ref } = await storedOrder();
    await running(order, changes);
    expect(await endRound({ ...ref, version }, passes, results)).toEqual({ ...ref, ...end });
    const seal = { run: "this", version: 0, at: at(0) };
    expect(await parentItem({ type: "order", id: order })).toEqual(
      "next" in end && end.next === "SUBMIT"
        ? expect.objectContaining({ seal })
        : expect.not.objectContaining({ seal }),
    );
  });

  it.each([
    ["seals its requests", 101, 2, "RUNNING", "SEALED"],
    ["has lost its lock", 2, 2, "STOPPING", "FAILED"],
  ] as const)("with a page that %s", async (_, count, passes_left, status, outcome) => {
    const { order, requests, ref } = await storedOrder(...Array.from({ length: count }, () => forwardedType));
    await running(order, { status });
    const page = {
      ...ref,
      after: requests[0] ?? null,
      through: requests.at(-1) ?? "",
      passes_left,
      consecutive_waits: 0,
    };
    expect(await sealPage(page)).toEqual({ ...page, outcome });
    const sealed = await Promise.all(requests.map(async (id) => "seal" in (await parentItem({ type: "request", id }))));
    expect(sealed.filter(Boolean).length).toBe(outcome === "SEALED" ? count - 1 : 0);
  });
});

describe("a page", () => {
  const bytes = Buffer.from("%PDF");
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const uploaded = (text: string) => ({
    content: new Uint8Array(Buffer.from(text)),
    sha256: createHash("sha256").update(text).digest("hex"),
    ...{ filename: "a.pdf", contentType: "application/pdf" },
  });
  /** An order with one request, and an attachment of each. */
  const stored = async () => {
    const { order, requests, ref } = await storedOrder(forwardedType);
    await running(order);
    const request = requests[0] ?? "";
    const attach = async (parent: ParentRef) => {
      const id = newId(now.getTime());
      const data = {
        ...minimalMetadata("LOA"),
        id,
        filename: "a.pdf",
        content_type: "application/pdf",
        version: 1,
        detected_type: null,
        encrypted: null,
      };
      const item = { ...data, bytes: 4, sha256, inserted_at: at(0), updated_at: at(0) };
      await putFile(fileKey(parent, id), {
        content: new Uint8Array(bytes),
        sha256,
        filename: "a.pdf",
        contentType: "application/pdf",
      });
      await transact({ item: { put: { ...keys.attachment(parent, id), ...item } } });
      return id;
    };
    const ids = [await attach({ type: "order", id: order }), await attach({ type: "request", id: request })];
    const page = { ...ref, after: null, through: request, passes_left: 3, consecutive_waits: 1 };
    return { order, request, ids, page, ref };
  };
  const statesOf = async (request: string) => (await receiptsOf(request)).map(({ state }) => state).sort();

  it("forwards what is missing once, withdraws what was deleted, and is then sealed", async () => {
    const { order, request, ids, page } = await stored();
    const calls = carrierThat(201, 200, 404);
    expect(await sealPage(page)).toEqual({ ...page, outcome: "CHANGED" });
    expect(await sealPage({ ...page, passes_left: 0 })).toMatchObject({ outcome: "FAILED" });
    await running(order);
    const done = { ...page, passes_left: 2, consecutive_waits: 0, outcome: "FORWARDED", wait_seconds: 0 };
    expect(await forwardPage(page)).toEqual(done);
    expect(await readRun(order)).toMatchObject({ consecutive_waits: 0, last_answer: null, next_try_at: null });
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    expect(await statesOf(request)).toEqual(["forwarded", "forwarded"]);
    expect(await planOf(request, [])).toMatchObject({
      account: "2",
      version: 0,
      forward: [],
      withdraw: [{ attachment: ids[0] }],
    });
    await transact({ gone: { delete: keys.attachment({ type: "request", id: request }, ids[1] ?? "") } });
    expect((await forwardPage(page)).outcome).toBe("FORWARDED");
    expect(await statesOf(request)).toEqual(["forwarded", "withdrawn"]);
    expect(calls.sort()).toEqual([`DELETE ${ids[1]}`, ...ids.map((id) => `PUT ${id}`)].sort());
    expect((await sealPage(page)).outcome).toBe("SEALED");
    const events = ["order_attachment.forwarded", "request_attachment.forwarded", "request_attachment.withdrawn"];
    expect((await eventsOf({ type: "request", id: request })).sort()).toEqual(events);
  });

  it.each<[string, number, number, object, object]>([
    [
      "waits",
      3,
      1,
      { outcome: "WAIT", passes_left: 2, consecutive_waits: 2, wait_seconds: 60 },
      { status: "RUNNING", consecutive_waits: 2, next_try_at: at(60), last_answer: "it responded with 503" },
    ],
    ["waits the last time", 2, 9, { outcome: "WAIT", consecutive_waits: 10 }, { status: "RUNNING" }],
    ["has waited too often", 3, 10, { outcome: "FAILED", wait_seconds: 0 }, { status: "STOPPING" }],
    ["has no pass left", 1, 1, { outcome: "FAILED", passes_left: 0 }, { status: "STOPPING" }],
  ])("%s for a carrier that is unavailable", async (_, passes_left, consecutive_waits, page, run) => {
    const { order, request, page: first } = await stored();
    carrierThat(busy, busy);
    expect(await forwardPage({ ...first, passes_left, consecutive_waits })).toMatchObject(page);
    expect(await readRun(order)).toMatchObject(run);
    const receipts = await receiptsOf(request);
    const next =
      "outcome" in page && page.outcome === "WAIT" ? at(Number("wait_seconds" in page ? page.wait_seconds : 60)) : null;
    expect(
      receipts.map(({ state, last_answer, next_try_at, in_flight_until }) => [
        state,
        last_answer,
        next_try_at,
        in_flight_until,
      ]),
    ).toEqual(receipts.map(() => ["pending", "it responded with 503", next, null]));
  });

  it("that has progressed waits the first time", async () => {
    const { page } = await stored();
    carrierThat(201, busy);
    expect(await forwardPage({ ...page, consecutive_waits: 10 })).toMatchObject({
      outcome: "WAIT",
      consecutive_waits: 1,
    });
  });

  it("fails with the reason of a refusal", async () => {
    const { order, request, page } = await stored();
    carrierThat(422, 422);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED", wait_seconds: 0 });
    const run = await readRun(order);
    expect(run?.reason).toMatch(
      /^The attachment \w+ of the request \w+ was refused by the carrier, not forwarded: 422 why$/,
    );
    expect(await statesOf(request)).toEqual(["refused", "refused"]);
    expect(await receiptsOf(request)).toMatchObject([
      { status: 422, answer: "why" },
      { status: 422, answer: "why" },
    ]);
  });

  it("calls no carrier without its lock, and leaves no announcement", async () => {
    const { order, request, page } = await stored();
    await running(order, { run: "other" });
    const calls = carrierThat();
    expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
    expect([calls, await statesOf(request)]).toEqual([[], []]);
  });

  it.each([
    [300_000, "FORWARDED"],
    [300_001, "MORE"],
  ])("whose work has taken %i ms is %s", async (ms, outcome) => {
    const { page } = await stored();
    carrierThat(201, 201);
    let reads = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now.getTime() + (reads++ === 0 ? 0 : ms));
    expect(await forwardPage(page)).toMatchObject({ outcome, wait_seconds: 0 });
  });

  it("is called with the same key for the same metadata, until its announced time", async () => {
    const { order, request, ids, page } = await stored();
    const timeout = vi.spyOn(AbortSignal, "timeout");
    const keysOf: (string | null)[] = [];
    const bodies: string[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (_, init) => {
      keysOf.push(new Headers(init?.headers).get("idempotency-key"));
      if (init?.body instanceof ReadableStream) bodies.push(await new Response(init.body).text());
      return new Response(null, { status: 200 });
    });
    await forwardPage(page);
    expect(keysOf.sort()).toEqual(ids.map((id) => `forward-${request}-${id}-1`).sort());
    for (const id of ids) {
      const body = bodies.find((each) => each.includes(id)) ?? "";
      expect(body).toMatch(`--patchbay-${request}-${id}\r\n`);
      expect(body).toMatch(`{"id":"${id}","request_id":"${request}"`);
    }
    expect(timeout).toHaveBeenCalledWith(30_001);
    await transact({ gone: { delete: keys.attachment({ type: "request", id: request }, ids[1] ?? "") } });
    await forwardPage(page);
    await submitCart(page, 0, now);
    expect(keysOf.slice(2)).toEqual([`withdraw-${request}-${ids[1]}-1`, `checkout-${order}`]);
  });

  const removed = (of: ParentRef, id: string) => removeFile(fileKey(of, id));
  it.each<[string, (of: ParentRef, id: string) => Promise<unknown>, object, RegExp | null]>([
    ["is gone", removed, { outcome: "FAILED" }, /its file is gone from storage\.$/],
    [
      "is another",
      (of, id) => putFile(fileKey(of, id), { ...uploaded("%PDG") }),
      { outcome: "FAILED" },
      /its stored file is not the one uploaded\.$/,
    ],
    [
      "is unavailable",
      async () => {
        const error = Object.assign(new Error("injected"), { name: "SlowDown" });
        vi.spyOn(S3Client.prototype, "send").mockImplementation(() => Promise.reject(error));
      },
      { outcome: "WAIT", wait_seconds: 0 },
      null,
    ],
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
    ],
  ])("whose file %s", async (_, change, outcome, reason) => {
    const { order, request, ids, page } = await stored();
    await transact({ other: { delete: keys.attachment({ type: "order", id: order }, ids[0] ?? "") } });
    await change({ type: "request", id: request }, ids[1] ?? "");
    carrierThat(201);
    expect(await forwardPage(page)).toMatchObject(outcome);
    const run = await readRun(order);
    expect(run?.reason ?? null).toEqual(reason && expect.stringMatching(reason));
    const receipt = {
      state: "pending",
      answer: reason ? expect.stringMatching(/^its /) : expect.anything(),
      last_answer: null,
    };
    const waits = { state: "pending", answer: null, last_answer: "S3 is unavailable" };
    expect(await receiptsOf(request)).toMatchObject(["wait_seconds" in outcome ? waits : receipt]);
  });

  it.each<[string, Partial<Receipt>, string, number]>([
    ["new metadata wait", { state: "pending", version: 0, in_flight_until: at(90) }, "FORWARDED", 0],
    ["an announced version is repeated", { state: "pending", in_flight_until: at(90) }, "FORWARDED", 0],
    ["an earlier version waits", { state: "forwarded", version: 0, in_flight_until: at(90) }, "WAIT", 90],
    ["an earlier version is replaced", { state: "forwarded", version: 0, in_flight_until: at(0) }, "FORWARDED", 0],
  ])("whose call may be in flight: %s", async (_, changes, outcome, wait_seconds) => {
    const { order, request, ids, page } = await stored();
    await transact({ other: { delete: keys.attachment({ type: "order", id: order }, ids[0] ?? "") } });
    const id = ids[1] ?? "";
    const sent = { name: "LOA", notes: null, file_hint: "LOA", filename: "older.pdf" };
    const call = { attachment: id, of: "request", at: at(-9), sha256, bytes: 4, sent, version: 1, attempts: 1 };
    const ends = { status: null, answer: null, last_answer: null, next_try_at: null };
    await transact({ receipt: { put: { ...keys.receipt(request, id), ...call, ...ends, ...changes } } });
    carrierThat(201);
    expect(await forwardPage(page)).toMatchObject({ outcome, wait_seconds });
  });

  it("whose repeated call is refused gets its current metadata next", async () => {
    const { order, request, ids, page } = await stored();
    await transact({ other: { delete: keys.attachment({ type: "order", id: order }, ids[0] ?? "") } });
    const id = ids[1] ?? "";
    const sent = { name: "Older", notes: null, file_hint: "LOA", filename: "a.pdf" };
    const call = { attachment: id, of: "request", at: at(-9), sha256, bytes: 4, sent, version: 0, attempts: 1 };
    const ends = { status: null, answer: null, last_answer: null, next_try_at: null, in_flight_until: null };
    await transact({ receipt: { put: { ...keys.receipt(request, id), ...call, ...ends, state: "pending" } } });
    carrierThat(422, 201);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED", consecutive_waits: 0 });
    expect(await receiptsOf(request)).toMatchObject([{ state: "refused", status: 422, answer: "why", version: 0 }]);
    await forwardPage(page);
    expect(await receiptsOf(request)).toMatchObject([{ state: "forwarded", status: 201, version: 1, attempts: 3 }]);
  });

  it("is described to an adapter function, with a file that exists", async () => {
    vi.stubEnv("CARRIER_FUNCTION", "the-adapter");
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", "http://lambda.test");
    const { order, request, ids, page } = await stored();
    const [ofOrder, id] = [ids[0] ?? "", ids[1] ?? ""];
    await transact({ other: { delete: keys.attachment({ type: "order", id: order }, ofOrder) } });
    const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response('{"status":200}'));
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    const file = { bytes: 4, sha256, content_type: "application/pdf", filename: "a.pdf" };
    expect(JSON.parse(String(fetched.mock.calls[0]?.[1]?.body))).toMatchObject({
      body: { id, request_id: request, name: "LOA", bytes: 4, sha256, content_type: "application/pdf" },
      file: { ...file, url: expect.stringContaining("X-Amz-Expires=900") },
    });
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
  });

  it("leaves out other requests, and those after its last", async () => {
    const { order, requests, ref } = await storedOrder(forwardedType, "OTHER", forwardedType);
    const [first, last] = [requests[0] ?? "", requests.at(-1) ?? ""];
    const all = await forwardedRequests(order);
    expect(await forwardedRequests(order, { after: null, through: last })).toEqual(all);
    expect(await forwardedRequests(order, { after: first })).toEqual(all.filter((id) => id > first));
    expect(await forwardedRequests(order, { through: first })).toEqual(all.filter((id) => id <= first));
    expect(all.length).toBe(2);
    expect(ref.order_id).toBe(order);
  });
});
