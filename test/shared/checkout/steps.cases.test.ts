import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { S3Client } from "@aws-sdk/client-s3";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { handler as finish } from "../../../functions/checkout/finish.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { putFile, removeFile } from "../../../shared/attachments/files.ts";
import { doubt, markCrashed, readRun, startRun, withoutResult } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun, Receipt } from "../../../shared/checkout/checkout-schema.ts";
import { failRun, finishRun, submitCart } from "../../../shared/checkout/end.ts";
import { forwardPage, mostSevere } from "../../../shared/checkout/forward.ts";
import { planOf, receiptsOf } from "../../../shared/checkout/plan.ts";
import { announcement, isInFlight, replaceReceipt, secondsInFlight } from "../../../shared/checkout/receipts.ts";
import { beginRound, endRound, liftSeal, sealPage } from "../../../shared/checkout/seal.ts";
import { collections, keys, type ParentRef } from "../../../shared/table/keys.ts";
import { get, queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { forwardableType } from "../../../shared/tenants/tenant-schema.ts";
import { beforeTableCall, interceptTableCalls, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { newOrder } from "../../support/fixtures/orders.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { sha256Of } from "../../support/fixtures/upload-content.ts";
import { type CarrierResponse, scriptedCarrier } from "../../support/servers/scripted-carrier.ts";

/** What each step of the checkout decides, where whole checkouts do not show it. */

const now = new Date("2026-11-21T10:00:00.000Z");
const at = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString();
const week = (7 * 24 + 1) * 3600;

const busy = [503, { "Retry-After": "60" }] as const;
const was503 = "it responded with 503";
const says = (checked_out: unknown) => [200, {}, JSON.stringify({ checked_out })] as const;

const isWrite = ({ operation }: TableCall) => operation === "TransactWriteItems";

const carrier = await scriptedCarrier();
afterAll(() => carrier.close());

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now });
  vi.stubEnv("CARRIER_URL", carrier.url);
  vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
  // Whatever the jitter, a wait without Retry-After is one second.
  vi.stubEnv("CARRIER_LONGEST_WAIT_SECONDS", "1");
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe("the start of a run", () => {
  it("locks the order, and knows the twenty runs before it", async () => {
    const { order, ref } = await storedOrder();
    expect(await startRun(ref, now)).toEqual({ next: "PAGINATE", wait_seconds: 0 });
    const fresh = { run: "this", status: "RUNNING", started_at: at(0), ended_at: null, reason: null };
    const none = { outcome_unknown: false, consecutive_waits: 0, last_answer: null, next_try_at: null };
    const first = { ...fresh, ...none, attempt: 1, earlier_runs: [], calls_end_by: at(0) };
    expect(await readRun(order)).toEqual(first);
    const earlier_runs = Array.from({ length: 20 }, (_, index) => `run ${index}`);
    await storeRun(order, { earlier_runs });
    await startRun(ref, now);
    const known = ["last", ...earlier_runs.slice(0, 19)];
    expect(await readRun(order)).toEqual({ ...first, attempt: 4, earlier_runs: known });
  });

  const beside = { next: "ALREADY_RUNNING" };
  it.each<[string, Partial<CheckoutRun>, object, boolean]>([
    ["after one that failed with calls in flight", { calls_end_by: at(7.1) }, { wait_seconds: 8 }, false],
    ["after one that succeeded", { status: "SUCCEEDED" }, { wait_seconds: 0 }, false],
    ["after one that crashed", { status: "CRASHED" }, { next: "PAGINATE", wait_seconds: 180 }, false],
    ["after one with later calls", { status: "CRASHED", calls_end_by: at(181) }, { wait_seconds: 181 }, false],
    ["after one whose outcome is unknown", { outcome_unknown: true }, { next: "SUBMIT" }, true],
    ["beside one that stops", { status: "STOPPING" }, beside, true],
    ["beside one that is almost too old", { status: "RUNNING", started_at: at(1 - week) }, beside, true],
    ["after one that is too old", { status: "RUNNING", started_at: at(-week) }, { wait_seconds: 180 }, false],
    ["of itself again", { run: "this", status: "RUNNING", calls_end_by: at(3) }, { wait_seconds: 3 }, true],
    ["of itself after its end", { run: "this" }, { next: "FAIL" }, true],
  ])("%s: what it does, and whether the order stays sealed", async (_, last, start, sealed) => {
    const { order, ref, parent } = await storedOrder();
    await storeRun(order, last);
    await sealBy("last", parent);
    expect(await startRun(ref, now)).toMatchObject(start);
    expect(await isSealed(parent)).toBe(sealed);
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

it("no run begins while the order is being checked out, whatever it has read first", async () => {
  const { order, ref } = await storedOrder();
  const other = { ...ref, run: "other" };
  await running(order);
  let reads = 0;
  const isSecondRead = ({ operation }: TableCall) => operation === "GetItem" && ++reads === 2;
  beforeTableCall(isSecondRead, () => finishRun(ref, now));
  expect(await startRun(other, now)).toEqual({ next: "END" });
  expect([reads, await readRun(order)]).toMatchObject([2, { run: "this", status: "SUCCEEDED" }]);
});

describe("the end of a run", () => {
  it("leaves nothing to be done", async () => {
    const { order, ref } = await storedOrder();
    await running(order, { outcome_unknown: true });
    expect([await finishRun(ref, now), await finishRun(ref, now)]).toEqual([null, null]);
    const ended = { status: "SUCCEEDED", outcome_unknown: false, ended_at: at(0) };
    expect(await readRun(order)).toMatchObject({ ...ended, last_answer: null, next_try_at: null });
  });

  it.each<[string, Partial<CheckoutRun>]>([
    ["another run has ended", { run: "other", status: "SUCCEEDED" }],
    ["it is stopping", { status: "STOPPING" }],
  ])("throws where %s", async (_, changes) => {
    const { order, ref } = await storedOrder();
    await running(order, changes);
    await expect(finishRun(ref, now)).rejects.toThrow("The run this has lost its lock.");
  });

  it.each<[string, Partial<CheckoutRun>, string, boolean[]]>([
    ["is running lifts its seals and those of crashed runs", {}, "FAILED", [false, false, true]],
    ["has lost its lock lifts none", { run: "other", status: "STOPPING", reason: "x" }, "STOPPING", [true, true, true]],
  ])("as a failure of a run that %s", async (_, changes, status, sealed) => {
    const { order, ref, parents } = await storedOrder(forwardableType, forwardableType);
    await running(order, { earlier_runs: ["crashed"], ...changes });
    for (const [index, each] of parents.entries()) await sealBy(["this", "crashed", "unknown"][index] ?? "", each);
    for (const _ of ["fails", "is repeated"]) expect(await failRun(ref, "default", now)).toEqual({ reason: "default" });
    expect([(await readRun(order))?.status, await Promise.all(parents.map(isSealed))]).toEqual([status, sealed]);
  });

  it("is recorded once, also beside a copy of its last step and a late report of a crash", async () => {
    const { order, ref, parent } = await storedOrder();
    await running(order, { status: "STOPPING" });
    const stopping = await readRun(order);
    const isRecorded = ({ items }: TableCall) => items.some(({ sk }) => sk.startsWith("EVENT#"));
    beforeTableCall(isRecorded, () => failRun(ref, "a copy", now));
    await failRun(ref, "late", now);
    expect(stopping && (await markCrashed(order, stopping, now))).toBe(false);
    const events = await Array.fromAsync(queryAll(collections.events(parent)), ({ type }) => type);
    expect(events.sort()).toEqual(["order.checkout_failed", "order.created"]);
  });

  it("as a crash has the reason for which it was stopping", async () => {
    const { order } = await storedOrder();
    await running(order, { status: "STOPPING", reason: "It was refused: 422", outcome_unknown: true });
    const stopping = await readRun(order);
    expect(stopping && (await markCrashed(order, stopping, now))).toBe(true);
    const reason = `It was refused: 422. ${withoutResult} ${doubt}`;
    expect(await readRun(order)).toMatchObject({ status: "CRASHED", reason });
  });

  it("counts what the carrier lacks of the requests that have changed since their seal", async () => {
    const { order, ref, parents, attach } = await storedOrder(forwardableType, forwardableType);
    await running(order);
    for (const of of ["order", 1, 1] as const) await attach(of);
    for (const each of parents) await sealBy("this", each, Number((await get(keys.parent(each)))?.attachments_version));
    await attach(0);
    expect(await finish(ref)).toHaveProperty("reason", expect.stringMatching(/: 2 added .+ not forwarded\.$/));
  });

  it("leaves a seal that another run sets meanwhile", async () => {
    const { parent } = await storedOrder();
    await sealBy("this", parent);
    beforeTableCall(isWrite, () => sealBy("other", parent));
    await liftSeal(parent, ["this"]);
    expect(await get(keys.parent(parent))).toMatchObject({ seal: { run: "other" } });
  });
});

describe("the checkout of the cart", () => {
  it("twice at once stays in doubt while one of the calls may be in progress", async () => {
    const { order, ref, parent } = await storedOrder();
    await running(order);
    await sealBy("this", parent);
    let calls = 0;
    carrier.respondWith(async () => {
      calls += 1;
      // Another copy announces its call while this one is in progress, and returns first.
      if (calls === 1) await submitCart(ref, 0, now);
      return 422;
    });
    await submitCart(ref, 0, now);
    const doubted = { outcome_unknown: true, status: "STOPPING", calls_end_by: at(180.001) };
    expect([calls, await readRun(order)]).toMatchObject([2, doubted]);
  });

  const failed = { outcome: "FAILED", wait_seconds: 0 };
  const waiting = { outcome_unknown: true, calls_end_by: at(0), last_answer: was503, next_try_at: at(60) };
  it.each<[string, CarrierResponse[], number, object, object]>([
    ["is done", [200], 0, { outcome: "CHECKED_OUT", wait_seconds: 0 }, { outcome_unknown: true, calls_end_by: at(0) }],
    ["was done", [409], 0, { outcome: "CHECKED_OUT" }, { status: "RUNNING" }],
    ["may be in progress", [504, 422], 0, failed, { outcome_unknown: true, calls_end_by: at(40) }],
    ["is redirected, which settles nothing", [[302, { Location: "/" }]], 0, failed, { outcome_unknown: true }],
    ["was too much", [[429, { "Retry-After": "60" }]], 9, { outcome: "WAIT" }, { outcome_unknown: false }],
    ["waits the last time", [busy], 9, { outcome: "WAIT", consecutive_waits: 10, wait_seconds: 60 }, waiting],
    ["has waited too long", [busy], 10, { ...failed, consecutive_waits: 10 }, { status: "STOPPING" }],
  ])("%s", async (_, statuses, waits, submitted, stored) => {
    const { order, ref, parent } = await storedOrder();
    await running(order);
    await sealBy("this", parent);
    const calls = carrier.respondInTurn(...statuses);
    expect(await submitCart(ref, waits, now)).toMatchObject({ ...ref, ...submitted });
    expect(await readRun(order)).toMatchObject(stored);
    expect(calls).toEqual(statuses.map(() => "POST checkout"));
  });
});

it("the cart is not checked out later than announced", async () => {
  const { order, ref, parent } = await storedOrder();
  await running(order);
  await sealBy("this", parent);
  const calls = carrier.respondInTurn(200);
  beforeTableCall(isWrite, async () => void vi.setSystemTime(now.getTime() + 135_000));
  expect([await submitCart(ref, 0, now), calls]).toMatchObject([{ outcome: "WAIT" }, []]);
  expect(await readRun(order)).toMatchObject({
    outcome_unknown: false,
    last_answer: expect.stringMatching(/was over/),
  });
});

describe("a run after a checkout of the cart whose outcome is unknown", () => {
  /** An order that the run "last" has sealed, and this run continues. */
  const stored = async (changes: Partial<CheckoutRun> = {}) => {
    const all = await storedOrder();
    await running(all.order, { outcome_unknown: true, earlier_runs: ["last"], ...changes });
    await sealBy("last", all.parent);
    return all;
  };

  it("asks only once no earlier call can be in progress", async () => {
    const { ref } = await stored({ calls_end_by: at(9.5) });
    const calls = carrier.respondInTurn(says(false));
    expect(await submitCart(ref, 3, now)).toMatchObject({ outcome: "WAIT", wait_seconds: 10, consecutive_waits: 3 });
    expect([calls, await readRun(ref.order_id)]).toMatchObject([[], { next_try_at: at(9.5) }]);
    expect(await submitCart(ref, 3, new Date(at(9.5)))).toMatchObject({ outcome: "OPEN" });
  });

  const settled = { outcome_unknown: false, calls_end_by: at(0), consecutive_waits: 0, status: "RUNNING" };
  const unknown = { outcome_unknown: true, calls_end_by: at(-60), status: "RUNNING" };
  const [failed, waits] = [{ outcome: "FAILED" }, { outcome: "WAIT", wait_seconds: 60, consecutive_waits: 4 }];
  const soon = { outcome: "WAIT", wait_seconds: 1, consecutive_waits: 4 };
  it.each<[string, CarrierResponse[], object, object]>([
    ["is open", [says(false)], { outcome: "OPEN" }, settled],
    ["is done", [says(true)], { outcome: "CHECKED_OUT" }, unknown],
    ["waits for the answer", [busy], waits, unknown],
    [
      "gets another answer",
      [says("no")],
      soon,
      { ...unknown, last_answer: 'it responded with 200 {"checked_out":"no"}' },
    ],
    ["gets a text", [[200, {}, "true"]], soon, { ...unknown, last_answer: "it responded with 200 true" }],
    ["gets no text", [[204, {}, ""]], soon, { ...unknown, last_answer: "it responded with 204" }],
    ["is redirected", [[302, { Location: "/" }]], soon, { ...unknown, last_answer: "it redirects to another address" }],
    ["repeats the call if the carrier cannot say", [404, 200], { outcome: "CHECKED_OUT" }, { calls_end_by: at(0) }],
    ["repeats the call if the carrier has no such method", [405, busy], waits, { outcome_unknown: true }],
    ["repeats a call that is refused", [404, 422], failed, { outcome_unknown: false, status: "STOPPING" }],
    ["repeats a call that a proxy may refuse", [404, 400], failed, { outcome_unknown: true, status: "STOPPING" }],
  ])("%s", async (_, answers, submitted, run) => {
    const { order, ref, parent } = await stored();
    const calls = carrier.respondInTurn(...answers);
    expect(await submitCart(ref, 3, now)).toMatchObject({ ...ref, ...submitted });
    expect(calls).toEqual(["GET cart", "POST checkout"].slice(0, answers.length));
    expect([await readRun(order), await isSealed(parent)]).toMatchObject([run, run !== settled]);
  });

  it.each([{ run: "other" }, { status: "STOPPING" } as const, undefined])("asks nothing as %j", async (changes) => {
    const { ref } = changes ? await stored(changes) : await storedOrder();
    const calls = carrier.respondInTurn(says(true));
    expect([await submitCart(ref, 3, now), calls]).toMatchObject([{ outcome: "FAILED" }, []]);
  });

  it.each<[string, (of: Awaited<ReturnType<typeof stored>>) => Promise<unknown>]>([
    ["its run ends", ({ order }) => running(order, { status: "STOPPING" })],
    ["the order is sealed again", ({ parent }) => sealBy("this", parent)],
    ["a copy of the step calls again", ({ ref }) => submitCart(ref, 0, now)],
  ])("changes nothing if %s after the answer", async (_, meanwhile) => {
    const all = await stored();
    carrier.respondInTurn(says(false), 404, busy);
    beforeTableCall(isWrite, () => meanwhile(all));
    const { outcome } = await submitCart(all.ref, 0, now);
    expect([outcome, await isSealed(all.parent)]).toEqual(["FAILED", true]);
  });

  it("never repeats the call if the order is not sealed: what is missing is forwarded first", async () => {
    const { ref, parent } = await stored();
    await liftSeal(parent, ["last"]);
    const calls = carrier.respondInTurn(404);
    expect([await submitCart(ref, 0, now), calls]).toMatchObject([{ outcome: "OPEN" }, ["GET cart"]]);
  });

  it("goes on without asking again if it crashed after it lifted the seal", async () => {
    const { ref } = await stored();
    const calls = carrier.respondInTurn(says(false));
    for (const _ of ["crashes", "is repeated"])
      expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "OPEN" });
    expect(calls).toEqual(["GET cart"]);
  });

  it.each<[string, CarrierResponse]>([
    ["is open", says(false)],
    ["cannot be said", 404],
  ])("changes nothing in a late copy of the step that learns that it %s", async (_, learned) => {
    const { order, ref, parent } = await stored();
    const calls = carrier.respondInTurn(learned, says(false), 500, busy);
    beforeTableCall(isWrite, async () => {
      expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "OPEN" });
      await sealBy("this", parent);
      expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "WAIT" });
    });
    expect(await submitCart(ref, 0, now)).toMatchObject({ outcome: "FAILED" });
    expect(calls).toEqual(["GET cart", "GET cart", "POST checkout", "POST checkout"]);
    expect([await readRun(order), await isSealed(parent)]).toMatchObject([{ outcome_unknown: true }, true]);
  });
});

describe("a round", () => {
  it("ends with the order's seal, of the version that it began with", async () => {
    const { order, ref, parent } = await storedOrder();
    await running(order);
    const { pages, ...round } = await beginRound(ref, 7);
    expect([round, pages]).toEqual([{ ...ref, version: 0 }, []]);
    expect(await endRound(round, 9, [])).toEqual({ ...ref, next: "SUBMIT", passes_left: 8 });
    expect(await get(keys.parent(parent))).toMatchObject({ seal: { run: "this", version: 0, at: at(0) } });
    await running(order, { status: "STOPPING" });
    expect(await endRound(round, 9, [])).toEqual({ ...ref, next: "FAIL", passes_left: 8 });
  });

  it.each<[string, "order" | 0, (of: Awaited<ReturnType<typeof attachedOne>>) => Promise<{ version: number }>]>([
    ["the order before it reads its requests", "order", ({ ref }) => beginRound(ref, 7)],
    ["a request before it reads its attachments", 0, ({ request }) => planOf(request, [])],
  ])("reads the version of %s", async (_, of, read) => {
    const one = await attachedOne();
    const { version } = await read(one);
    const isQuery = ({ operation }: TableCall) => operation === "Query";
    beforeTableCall(isQuery, () => one.attach(of));
    expect(await read(one)).toMatchObject({ version });
  });

  it.each([
    [8, [8]],
    [9, [8, 1]],
    [65, [9, 9, 9, 9, 9, 9, 9, 2]],
  ])("divides %i requests into pages of %j", async (count, sizes) => {
    const { requests, ref } = await storedOrder(...Array<string>(count).fill(forwardableType));
    const { pages } = await beginRound(ref, 7);
    const isIn = (id: string, { after, through }: (typeof pages)[number]) => (after ?? "") < id && id <= through;
    expect(pages.map((page) => requests.filter((id) => isIn(id, page)).length)).toEqual(sizes);
    for (const page of pages) expect(page).toMatchObject({ ...ref, passes_left: 7, consecutive_waits: 0 });
  });

  type Results = Parameters<typeof endRound>[2];
  const changing = "The attachments of the order keep changing: try again later.";
  const [one, none] = [{ outcome: "SEALED", passes_left: 1 } as const, { outcome: "SEALED", passes_left: 0 } as const];
  it.each<[string, Results, object]>([
    [
      "has failed",
      [{ outcome: "FAILED", passes_left: 4, reason: "why" }],
      { next: "FAIL", passes_left: 4, reason: "why" },
    ],
    ["is followed by another", [one], { next: "PAGINATE", passes_left: 1 }],
    ["is the last", [none], { next: "FAIL", passes_left: 0, reason: changing }],
  ])("of an order that has changed %s", async (_, results, end) => {
    const { order, ref, parent } = await storedOrder();
    await running(order);
    expect(await endRound({ ...ref, version: 1 }, 9, results)).toEqual({ ...ref, ...end });
    expect(await isSealed(parent)).toBe(false);
  });

  it.each([
    ["seals its requests", 102, "SEALED", 100],
    ["changes meanwhile for the last time", 4, "FAILED", 0],
  ] as const)("with a page that %s", async (title, count, outcome, sealed) => {
    const { order, requests, ref } = await storedOrder(...Array<string>(count).fill(forwardableType));
    await running(order);
    const [after = null, changed = ""] = requests;
    const touched = { update: keys.request(changed), add: { attachments_version: 1 }, when: {} };
    if (title.startsWith("changes")) beforeTableCall(isWrite, () => transact({ touched }));
    const page = { ...ref, after, through: requests.at(-2) ?? "", passes_left: 0, consecutive_waits: 0 };
    expect(await sealPage(page)).toEqual({ ...page, outcome });
    const found = await Promise.all(requests.map((id) => isSealed({ type: "request", id })));
    expect(found.filter(Boolean).length).toBe(sealed);
  });
});

describe("a page", () => {
  it("forwards what is missing and withdraws what was deleted, with events of the account that owns it", async () => {
    const { order, request, shared, own, page, attach, remove } = await attached();
    await transact({ owner: { update: keys.order(order), set: { account: "another" }, when: {} } });
    const account = (await get(keys.request(request)))?.account;
    const calls = carrier.respondInTurn(201, 200, 404);
    const done = { ...page, passes_left: 2, consecutive_waits: 0, outcome: "FORWARDED", wait_seconds: 0 };
    expect(await forwardPage(page)).toEqual(done);
    expect(await readRun(order)).toMatchObject({ consecutive_waits: 0, last_answer: null, next_try_at: null });
    await remove(0, own);
    const added = await attach(0);
    expect(await sealPage(page)).toMatchObject({ outcome: "CHANGED" });
    await remove(0, added);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FORWARDED" });
    expect(calls.toSorted()).toEqual([`DELETE ${own}`, `PUT ${own}`, `PUT ${shared}`].sort());
    const events = await Array.fromAsync(queryAll(collections.events({ type: "request", id: request })));
    const [string, any] = [z.string(), z.unknown()];
    const Recorded = z.object({
      type: string,
      account: string,
      actor: any,
      file: z.optional(any),
      expires_at: z.number(),
    });
    const decided = events.filter(({ type }) => /forwarded|withdrawn/.test(String(type)));
    const both = { actor: { type: "checkout", id: "this" }, expires_at: now.getTime() / 1000 + 400 * 86_400 };
    const sent = { ...both, file: { bytes: 15, sha256: expect.any(String) } };
    expect(new Set(decided.map((event) => z.parse(Recorded, event)))).toEqual(
      new Set([
        { type: "order_attachment.forwarded", account: "another", ...sent },
        { type: "request_attachment.forwarded", account, ...sent },
        { type: "request_attachment.withdrawn", account, ...both },
      ]),
    );
  });

  it("of two requests with nine files each sends eight at once to a carrier that is busy", async () => {
    const { order, requests, ref, attach } = await storedOrder(forwardableType, forwardableType);
    await running(order);
    await Promise.all([0, 1].flatMap((index) => Array.from({ length: 9 }, () => attach(index))));
    carrier.respondInTurn(...Array(8).fill(busy));
    expect(await forwardPage(pageOf(ref, requests[1]))).toMatchObject({ outcome: "WAIT" });
    expect((await Promise.all(requests.map(statesOf))).flat()).toEqual(Array(8).fill("pending"));
  });

  const waiting = {
    status: "RUNNING",
    consecutive_waits: 2,
    next_try_at: at(60),
    last_answer: was503,
  };
  const tooLong = expect.stringMatching(/the carrier was unavailable for too long \(it responded with 503\)\.$/);
  it.each<[string, number, number, { readonly outcome: string; readonly [name: string]: unknown }, object]>([
    ["waits", 3, 1, { outcome: "WAIT", passes_left: 2, consecutive_waits: 2, wait_seconds: 60 }, waiting],
    ["waits the last time", 2, 9, { outcome: "WAIT", consecutive_waits: 10 }, { status: "RUNNING" }],
    ["has waited too often", 3, 10, { outcome: "FAILED", wait_seconds: 0 }, { status: "STOPPING" }],
    ["has no pass left", 1, 1, { outcome: "FAILED", passes_left: 0 }, { status: "STOPPING", reason: tooLong }],
  ])("%s for a carrier that is unavailable", async (_, passes_left, consecutive_waits, page, run) => {
    const { order, request, page: first } = await attached();
    carrier.respondInTurn(busy, busy);
    expect(await forwardPage({ ...first, passes_left, consecutive_waits })).toMatchObject(page);
    expect(await readRun(order)).toMatchObject(run);
    const next_try_at = page.outcome === "WAIT" ? at(60) : null;
    const receipt = { state: "pending", last_answer: was503, next_try_at, in_flight_until: null };
    expect(await receiptsOf(request)).toMatchObject([receipt, receipt]);
  });

  it("ends after its last write", async () => {
    const { page } = await attached();
    carrier.respondInTurn(busy, busy);
    let pending = 0;
    const stop = interceptTableCalls(async (_, pass) => {
      pending += 1;
      return pass().finally(() => {
        pending -= 1;
      });
    });
    expect(await forwardPage(page)).toMatchObject({ outcome: "WAIT" });
    stop();
    expect(pending).toBe(0);
  });

  it("that has progressed waits the first time", async () => {
    const { request, page } = await attached();
    carrier.respondInTurn(201, busy);
    const progressed = { outcome: "WAIT", consecutive_waits: 1 };
    expect(await forwardPage({ ...page, consecutive_waits: 10 })).toMatchObject(progressed);
    expect(await statesOf(request)).toEqual(["forwarded", "pending"]);
  });

  it("leaves what another page has stored of its wait", async () => {
    const { order, page } = await attachedOne();
    carrier.respondInTurn(201);
    // The first forwards a file, the second has nothing to do.
    for (const consecutive_waits of [0, 1]) {
      await forwardPage({ ...page, consecutive_waits });
      expect(await readRun(order)).toMatchObject({ consecutive_waits: 2, last_answer: "x" });
    }
  });

  it("that is refused with 409 fails, and leaves open whether the cart is checked out", async () => {
    const { order, request, own, page } = await attachedOne();
    const answer = JSON.stringify({ reason: "not now" });
    carrier.respondInTurn([409, {}, answer]);
    expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED", wait_seconds: 0 });
    const reason = `The attachment ${own} of the request ${request} was refused by the carrier, not forwarded: 409 ${answer}`;
    expect(await readRun(order)).toMatchObject({ reason, outcome_unknown: true });
    expect(await receiptsOf(request)).toMatchObject([{ state: "refused", status: 409, answer, reason: "not now" }]);
  });

  it("calls no carrier without its lock, and leaves its receipts as they are", async () => {
    const { order, request, own, page, update, remove } = await attachedOne();
    const calls = carrier.respondInTurn(201);
    const isFailed = async () => {
      for (const lost of [{ status: "STOPPING" }, { run: "other" }] as const) {
        await running(order, lost);
        expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
      }
    };
    await isFailed();
    expect(await receiptsOf(request)).toEqual([]);
    await running(order);
    await forwardPage(page);
    const receipts = await receiptsOf(request);
    for (const change of [() => update(0, own, { name: "New" }), () => remove(0, own)]) {
      await change();
      await isFailed();
      expect([calls, await receiptsOf(request)]).toEqual([[`PUT ${own}`], receipts]);
    }
  });

  const tooMuch = "There is more to forward than one run can take.";
  it.each([
    [300_000, 3, "FORWARDED", null],
    [300_001, 3, "MORE", null],
    [300_001, 1, "FAILED", tooMuch],
  ])("whose work has taken %i ms, with %i passes left, is %s", async (ms, passes_left, outcome, reason) => {
    const { order, page } = await attachedOne();
    carrier.respondInTurn(201);
    beforeTableCall(
      () => true,
      async () => void vi.setSystemTime(now.getTime() + ms),
    );
    expect(await forwardPage({ ...page, passes_left })).toMatchObject({ outcome, wait_seconds: 0 });
    expect((await readRun(order))?.reason).toBe(reason);
  });

  it("is sent no later than announced", async () => {
    const { order, page } = await attachedOne();
    carrier.respondWith(() => sleep(200, 201));
    const isCheck = ({ operation, items }: TableCall) => operation === "BatchGetItem" && items.length === 3;
    beforeTableCall(isCheck, async () => void vi.setSystemTime(now.getTime() + 135_100));
    expect(await forwardPage(page)).toMatchObject({ outcome: "WAIT" });
    expect(await readRun(order)).toMatchObject({ last_answer: "its time was over before it was called" });
  });

  type Attached = Awaited<ReturnType<typeof attachedOne>>;
  const content = Buffer.from("another file");
  const other = { content, sha256: sha256Of(content), filename: "a.pdf", contentType: "application/pdf" };
  const isGone = /its file is gone from storage\.$/;
  const isAnother = /its stored file is not the one uploaded\.$/;
  const [adapter, scan] = [{ CARRIER_FUNCTION: "the-adapter" }, { MALWARE_SCAN: "stand-in" }];
  it.each<[string, (of: Attached) => Promise<unknown>, string, RegExp | null, Record<string, string>?]>([
    ["is gone", ({ file }) => removeFile(file), "FAILED", isGone],
    ["is another", ({ file }) => putFile(file, other), "FAILED", isAnother],
    ["is gone from an adapter", ({ file }) => removeFile(file), "FAILED", isGone, adapter],
    ["is another for an adapter", ({ file }) => putFile(file, other), "FAILED", isAnother, adapter],
    ["is gone from its scan", ({ file }) => removeFile(file), "FAILED", isGone, scan],
    ["is deleted meanwhile", deleteMeanwhile, "FORWARDED", null],
    ["is deleted before an adapter has it", deleteMeanwhile, "FORWARDED", null, adapter],
    ["is deleted before its scan", deleteMeanwhile, "FORWARDED", null, scan],
    ["is in no bucket", async () => void vi.stubEnv("BUCKET_NAME", "none"), "throws", null],
  ])("whose file %s", async (_, change, outcome, reason, variables = {}) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", carrier.url);
    const one = await attachedOne();
    await change(one);
    const calls = carrier.respondInTurn(201);
    const result = await forwardPage(one.page).catch(() => ({ outcome: "throws" }));
    expect([result.outcome, calls]).toEqual([outcome, []]);
    expect((await readRun(one.order))?.reason ?? null).toEqual(reason && expect.stringMatching(reason));
    const answer = outcome === "throws" ? null : expect.stringMatching(/^its /);
    expect(await receiptsOf(one.request)).toMatchObject([{ state: "pending", answer, last_answer: null }]);
  });

  it("whose file breaks off in the middle waits, and is sent again", async () => {
    const { request, page } = await attachedOne();
    const beginning = async function* () {
      yield Buffer.from("%PDF");
      throw Object.assign(new Error("aborted"), { code: "ECONNRESET" });
    };
    vi.spyOn(S3Client.prototype, "send").mockImplementation(async () => ({ Body: Readable.from(beginning()) }));
    expect(await forwardPage(page)).toMatchObject({ outcome: "WAIT" });
    expect(await receiptsOf(request)).toMatchObject([{ state: "pending", last_answer: "S3 is unavailable" }]);
  });

  const scanned = (result?: string) => async () => ({
    TagSet: result ? [{ Key: "GuardDutyMalwareScanStatus", Value: result }] : [],
  });
  const unavailable = () => Promise.reject(Object.assign(new Error(), { name: "SlowDown" }));
  const unscanned = { state: "pending", attempts: 0, last_answer: "waits for the malware scan" };
  const unread = { state: "pending", answer: null, last_answer: "S3 is unavailable" };
  const answer = expect.stringMatching(/^malware scan: [A-Z_]+$/);
  const refused = (reason: string | null) => ({ state: "refused", answer, reason });
  it.each<[string, number, () => Promise<object>, string, RegExp, object]>([
    ["is not there yet", 9, scanned(), "WAIT", /waits for the malware scan\.$/, unscanned],
    ["cannot be read", 1, unavailable, "WAIT", /^The attachment \w+ .+: S3 is unavailable\.$/, unread],
    ["finds malware", 1, scanned("THREATS_FOUND"), "FAILED", /THREATS_FOUND$/, refused("The file contains malware.")],
    ["has failed", 1, scanned("FAILED"), "WAIT", /waits for the malware scan\.$/, unscanned],
    ["is denied", 1, scanned("ACCESS_DENIED"), "FAILED", /not forwarded: ACCESS_DENIED$/, refused(null)],
    ["fails", 1, scanned("UNSUPPORTED"), "FAILED", /not forwarded: UNSUPPORTED$/, refused(null)],
  ])("whose scan %s, with %i files", async (_, files, send, outcome, reason, receipt) => {
    const { order, request, page, attach } = await attachedOne();
    for (let file = 1; file < files; file += 1) await attach(0);
    vi.stubEnv("MALWARE_SCAN", "stand-in");
    vi.spyOn(S3Client.prototype, "send").mockImplementation(send);
    expect(await forwardPage(page)).toMatchObject({ outcome });
    expect(await receiptsOf(request)).toEqual(Array(files).fill(expect.objectContaining(receipt)));
    expect(await forwardPage({ ...page, consecutive_waits: 10 })).toMatchObject({ outcome: "FAILED" });
    expect((await readRun(order))?.reason).toMatch(reason);
    // A late copy does not wait for the scan's result, even if that is an error.
    expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
  });
});

it.each([
  [true, "The file is protected by a password."],
  [false, null],
])(
  "a file that the scan does not support, encrypted: %s, is refused for the customer with %j",
  async (encrypted, reason) => {
    const { request, own, page } = await attachedOne();
    const attachment = keys.attachment({ type: "request", id: request }, own);
    await transact({ attachment: { update: attachment, set: { encrypted }, when: {} } });
    vi.stubEnv("MALWARE_SCAN", "stand-in");
    const TagSet = [{ Key: "GuardDutyMalwareScanStatus", Value: "UNSUPPORTED" }];
    vi.spyOn(S3Client.prototype, "send").mockImplementation(async () => ({ TagSet }));
    expect(await forwardPage(page)).toMatchObject({ outcome: "FAILED" });
    expect(await receiptsOf(request)).toMatchObject([
      { state: "refused", answer: "malware scan: UNSUPPORTED", reason },
    ]);
  },
);

describe("the receipt of a call", () => {
  const announced = async () => {
    const { request, own } = await attachedOne();
    const [planned] = (await planOf(request, [])).forward;
    if (!planned) throw new Error("there is nothing to forward");
    return { request, own, planned, first: announcement(planned, now) };
  };

  it("announces the current metadata for as long as its attempts, and the work of the last one, take", async () => {
    const { own, planned, first } = await announced();
    const sent = { of: "request", state: "pending", at: at(0), version: 1, attempts: 1, status: null, bytes: 15 };
    expect(first).toMatchObject({ attachment: own, ...sent, withdrawals: 0, in_flight_until: at(175.005) });
    const next = (receipt: Partial<Receipt>) => {
      const attachment = { ...planned.attachment, name: "New", version: 2 };
      return announcement({ of: "request", attachment, receipt: { ...first, ...receipt } }, now);
    };
    const current = { sent: { name: "New" }, version: 2, attempts: 2, in_flight_until: at(175.005) };
    expect(next({})).toMatchObject({ ...current, withdrawals: 0 });
    expect(next({ in_flight_until: at(900) })).toMatchObject({ ...current, in_flight_until: at(900) });
    expect(next({ state: "withdrawn", withdrawals: 1 })).toMatchObject({ ...current, withdrawals: 2 });
  });

  it("is announced by one of two steps", async () => {
    const { request, first } = await announced();
    const both = [1, 2].map(() => replaceReceipt(request, undefined, first));
    expect((await Promise.all(both)).sort()).toEqual([false, true]);
  });

  it("says how long the call may be in flight", async () => {
    const { first } = await announced();
    const ends = [at(-1), at(0), at(0.5), at(90), null].map((in_flight_until) => ({ ...first, in_flight_until }));
    expect(ends.map(secondsInFlight)).toEqual([-1, 0, 1, 90, 0]);
    expect(ends.map(isInFlight)).toEqual([false, false, true, true, false]);
  });

  it("of several decides by the end of the run, then the longer wait, then the end of the time", async () => {
    const { first: receipt } = await announced();
    const [stop, time] = [{ kind: "stop" } as const, { kind: "time" } as const];
    const [short, long] = [
      { kind: "wait", wait_seconds: 0, reason: "", receipt } as const,
      { kind: "wait", wait_seconds: 9, reason: "", receipt } as const,
    ];
    const inOrder = [undefined, time, short, long, stop] as const;
    for (const [index, one] of inOrder.entries())
      for (const other of inOrder.slice(1))
        expect(other && mostSevere(one, other)).toBe(inOrder[Math.max(index, inOrder.indexOf(other))]);
  });
});

async function deleteMeanwhile({ file, own, remove }: Awaited<ReturnType<typeof attachedOne>>) {
  await removeFile(file);
  const recordsTheError = ({ updates }: TableCall) => JSON.stringify(updates).includes("is gone from storage");
  beforeTableCall(recordsTheError, () => remove(0, own));
}

/** Creates an order with requests of these types, which are sorted, and what a run of it gets. */
async function storedOrder(...types: readonly string[]) {
  const { id: order, requests, ...all } = await newOrder(...types);
  const parent: ParentRef = { type: "order", id: order };
  const parents = [parent, ...requests.toSorted().map((id) => ({ type: "request", id }) as const)];
  return { ...all, order, requests: requests.toSorted(), parent, parents, ref: { order_id: order, run: "this" } };
}

function running(order: string, changes: Partial<CheckoutRun> = {}) {
  return storeRun(order, { run: "this", status: "RUNNING", ...changes });
}

function sealBy(run: string, of: ParentRef, version = 0) {
  return transact({ seal: { update: keys.parent(of), set: { seal: { run, version, at: at(0) } }, when: {} } });
}

async function isSealed(of: ParentRef) {
  return (await get(keys.parent(of)))?.seal !== undefined;
}

function pageOf(ref: { readonly order_id: string; readonly run: string }, through = "") {
  return { ...ref, after: null, through, passes_left: 3, consecutive_waits: 1 };
}

/** An order with one request that has an attachment, which a run is about to forward. */
async function attachedOne() {
  const all = await storedOrder(forwardableType);
  await running(all.order);
  const [own, request = ""] = [await all.attach(0), ...all.requests];
  return { ...all, request, own, file: fileKey({ type: "request", id: request }, own), page: pageOf(all.ref, request) };
}

/** The same with an attachment of the order. */
async function attached() {
  const all = await attachedOne();
  return { ...all, shared: await all.attach("order") };
}

async function statesOf(request: string) {
  return (await receiptsOf(request)).map(({ state }) => state).sort();
}
