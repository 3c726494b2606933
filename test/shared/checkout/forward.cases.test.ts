import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { S3Client } from "@aws-sdk/client-s3";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { putFile, removeFile } from "../../../shared/attachments/files.ts";
import { callCarrier } from "../../../shared/checkout/carrier-client.ts";
import { filePartBody } from "../../../shared/checkout/carrier-form.ts";
import { failRun, readRun } from "../../../shared/checkout/checkout-run.ts";
import type { Receipt } from "../../../shared/checkout/checkout-schema.ts";
import { forwardOrder, mostSevere } from "../../../shared/checkout/forward.ts";
import { withdrawOne } from "../../../shared/checkout/forward-attachment.ts";
import { planOf, receiptsOf } from "../../../shared/checkout/plan.ts";
import {
  announcement,
  forgotten,
  isInFlight,
  replaceReceipt,
  secondsInFlight,
  withdrawal,
} from "../../../shared/checkout/receipts.ts";
import { submitOrder } from "../../../shared/checkout/submit.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { collections, keys } from "../../../shared/table/keys.ts";
import { get, queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import {
  beforeTableCall,
  interceptTableCalls,
  isWrite,
  type TableCall,
} from "../../support/fault-proxy/table-proxy.ts";
import { testCart } from "../../support/fixtures/runs.ts";
import {
  at,
  attachedOne,
  busy,
  now,
  pass,
  refuses,
  running,
  says,
  statesOf,
  stepByStep,
  storedOrder,
  was503,
} from "../../support/fixtures/step-by-step.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { sha256Of } from "../../support/fixtures/upload-content.ts";
import type { CarrierResponse } from "../../support/servers/scripted-carrier.ts";

/** Decisions of the step `forward` that whole checkouts do not show. */

const carrier = await stepByStep();

describe("forwarding an order", () => {
  it("forwards what is missing and withdraws what was deleted, with events of the account that owns it", async () => {
    const { order, request, shared, own, first, attach, remove } = await attached();
    await transact({ owner: { update: keys.order(order), set: { account: "another" }, when: {} } });
    const account = (await get(keys.request(request)))?.account;
    const calls = carrier.respondInTurn(201, 200, 204);
    const { run: _, ...state } = { ...first, passes_left: 2 };
    expect(await forwardOrder(first)).toEqual({ ...state, next: "SUBMIT" });
    expect(await readRun(order)).toMatchObject({ waits: 2, last_answer: null, next_try_at: null });
    await remove(0, own);
    const added = await attach(0);
    await remove(0, added);
    expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
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

  it("of many requests makes sixteen calls at once, in one pool, and none after a carrier that is busy", async () => {
    const { order, requests, state, attach } = await storedOrder(...Array<string>(18).fill(addMessagingNumbers));
    await running(order);
    await Promise.all(requests.map((_, index) => attach(index)));
    let [most, atOnce] = [0, 0];
    const { promise: sixteen, resolve: release } = Promise.withResolvers<void>();
    carrier.respondWith(async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      if (atOnce === 16) release();
      await sixteen;
      // A seventeenth call would come meanwhile.
      await sleep(500);
      atOnce -= 1;
      return busy;
    });
    expect(await forwardOrder(await state())).toMatchObject({ next: "WAIT_TO_FORWARD" });
    expect([most, (await Promise.all(requests.map(statesOf))).flat()]).toEqual([16, Array(16).fill("pending")]);
  });

  const waiting = {
    status: "RUNNING",
    waits: 2,
    next_try_at: at(60),
    last_answer: expect.stringMatching(/^it responded with (429|503) why$/),
  };
  const tooLong = expect.stringMatching(
    / for too long \(it responded with (429|503) why\)\. Start the checkout again once /,
  );
  it.each<[string, number, number, { readonly next: string; readonly [name: string]: unknown }, object]>([
    ["waits", 3, 1, { next: "WAIT_TO_FORWARD", passes_left: 2, waits: 2, wait_seconds: 60 }, waiting],
    ["waits the last time", 2, 9, { next: "WAIT_TO_FORWARD", waits: 10 }, { status: "RUNNING" }],
    ["has waited too often", 3, 10, { next: "FAIL" }, { status: "STOPPING" }],
    ["has no pass left", 1, 1, { next: "FAIL", passes_left: 0 }, { status: "STOPPING", reason: tooLong }],
  ])("%s for a carrier that is unavailable", async (_, passes_left, waits, result, run) => {
    const { order, request, first } = await attached();
    carrier.respondInTurn([429, busy[1]], busy);
    expect(await forwardOrder({ ...first, passes_left, waits })).toMatchObject(result);
    expect(await readRun(order)).toMatchObject(run);
    const both = await receiptsOf(request);
    expect(both).toMatchObject(Array(2).fill({ state: "pending", last_answer: expect.any(String) }));
    // After a 429, the call is over. After a 503, the carrier may still act.
    expect(both.map((one) => one.in_flight_until).sort()).toEqual([at(40.001), null]);
  });

  it("ends after its last write", async () => {
    const { first } = await attached();
    carrier.respondInTurn(busy, busy);
    let pending = 0;
    const stop = interceptTableCalls(async (_, pass) => {
      pending += 1;
      return pass().finally(() => {
        pending -= 1;
      });
    });
    expect(await forwardOrder(first)).toMatchObject({ next: "WAIT_TO_FORWARD" });
    stop();
    expect(pending).toBe(0);
  });

  it("that has progressed waits once more, but not for longer than 20 hours", async () => {
    const { order, request, first, attach } = await attached();
    carrier.respondInTurn(201, busy);
    const progressed = { next: "WAIT_TO_FORWARD", waits: 10 };
    expect(await forwardOrder({ ...first, waits: 10 })).toMatchObject(progressed);
    expect(await statesOf(request)).toEqual(["forwarded", "pending"]);
    await running(order, { started_at: at(-20 * 3600) });
    await attach(0);
    carrier.respondInTurn(201, busy);
    expect(await forwardOrder({ ...first, waits: 0 })).toMatchObject({ next: "FAIL" });
  });

  it("leaves what a copy has stored of its wait", async () => {
    const { order, first } = await attachedOne();
    carrier.respondInTurn(201);
    // The first call forwards the file. The second has nothing to do.
    for (const waits of [0, 1]) {
      await forwardOrder({ ...first, waits });
      expect(await readRun(order)).toMatchObject({ waits: 2, last_answer: "x" });
    }
  });

  type Responses = readonly CarrierResponse[];
  const refused = { state: "refused" };
  const waits = { next: "WAIT_TO_FORWARD", wait_seconds: 41 };
  const unsettled = { state: "pending", in_flight_until: at(40.001) };
  const letter = '422 {"reason":"The signature is missing."}';
  it.each<[string, Responses, object, object, object]>([
    [
      "409 leaves open whether the carrier has it, and whether the cart is checked out",
      [[409, {}, '{"reason":"The cart is closed."}']],
      { next: "FAIL" },
      {
        outcome_unknown: true,
        calls_end_by: at(0),
        failure: "fault",
        reason: expect.stringContaining(" may or may not have been forwarded. The carrier responded: 409 "),
      },
      { state: "pending", status: 409, reason: null },
    ],
    ["409 after no response may be of that attempt", [504, 409], waits, { outcome_unknown: false }, unsettled],
    [
      "a refusal",
      [refuses(422, "The signature is missing.")],
      { next: "FAIL" },
      { failure: "refused", reason: expect.stringMatching(`not forwarded: ${letter}`) },
      { ...refused, reason: "The signature is missing." },
    ],
    ["a refusal after no response is no refusal yet", [503, 422], waits, { status: "RUNNING" }, unsettled],
    [
      "a 403 without a reason is no verdict on the letter",
      [403],
      { next: "FAIL" },
      {
        failure: "fault",
        reason: expect.stringMatching(/ was not forwarded\. .*: 403 why\. Check the carrier's token /),
      },
      { state: "pending", status: 403, held: "no" },
    ],
    [
      "a 401 is about the token, whatever its reason",
      [refuses(401, "Unauthorized")],
      { next: "FAIL" },
      {
        failure: "fault",
        reason: expect.stringContaining("Check the carrier's token, then start the checkout again."),
      },
      { state: "pending", status: 401, reason: null },
    ],
    [
      "a 413 is a gateway's",
      [413],
      { next: "FAIL" },
      { failure: "fault", reason: expect.stringContaining("Raise the size limit of the gateway") },
      { state: "pending", held: "no" },
    ],
    [
      "a page is nobody's word",
      Array(4).fill([200, {}, "<html>Back soon</html>"]),
      { next: "WAIT_TO_FORWARD" },
      { last_answer: "it responded with 200 <html>Back soon</html>" },
      { state: "pending", in_flight_until: at(40.001), held: "perhaps" },
    ],
    [
      "a 202 commits to nothing",
      Array(4).fill([202, {}, ""]),
      { next: "WAIT_TO_FORWARD" },
      { last_answer: "it responded with 202" },
      { state: "pending", in_flight_until: at(40.001) },
    ],
    ["a 403 after no response settles nothing yet", [500, 403], waits, { status: "RUNNING" }, unsettled],
    [
      "a redirect settles nothing",
      Array(4).fill([302, { Location: "/" }]),
      { next: "WAIT_TO_FORWARD" },
      { last_answer: "it responded with 302 why" },
      { state: "pending", in_flight_until: null },
    ],
  ])("%s", async (_, responses, result, run, receipt) => {
    const { order, request, first } = await attachedOne();
    carrier.respondInTurn(...responses);
    expect(await forwardOrder(first)).toMatchObject(result);
    expect([await readRun(order), await receiptsOf(request)]).toMatchObject([run, [receipt]]);
  });

  it.each<[string, CarrierResponse, object, object]>([
    ["a 2xx", 201, { next: "SUBMIT" }, { state: "forwarded" }],
    ["its refusal", 422, { next: "FAIL" }, { state: "refused" }],
    ["a 409, which leaves open what either did", 409, { next: "FAIL" }, { state: "pending", status: 409 }],
    [
      "a proxy's 403, which leaves open what the first one did",
      403,
      { next: "FAIL" },
      { state: "pending", status: 403 },
    ],
  ])(
    "is repeated once the attempt without a response cannot act any more, and settled by %s",
    async (_, last, result, receipt) => {
      const { order, request, own, first } = await attachedOne();
      carrier.respondInTurn(504, 409);
      await forwardOrder(first);
      pass(41);
      const calls = carrier.respondInTurn(last);
      expect([await forwardOrder(first), calls]).toMatchObject([result, [`PUT ${own}`]]);
      const [stored] = await receiptsOf(request);
      expect(stored).toMatchObject(receipt);
      const isUnknown = (await readRun(order))?.reason?.includes(" may or may not have been forwarded. ") ?? false;
      expect(isUnknown).toBe(stored?.state === "pending");
    },
  );

  it("an old copy that misses an attachment in its list announces no withdrawal", async () => {
    const { request, first, ref } = await attachedOne();
    const calls = carrier.respondInTurn(201);
    await forwardOrder(first);
    const [receipt] = await receiptsOf(request);
    if (!receipt) throw new Error("It has no receipt.");
    const written: string[] = [];
    beforeTableCall(isWrite, async () => void written.push("a write"));
    const target = { ref, request, cart: testCart, accounts: { order: "", request: "" } };
    expect(await withdrawOne(target, receipt)).toEqual({ kind: "done" });
    expect([written, calls.length, await receiptsOf(request)]).toEqual([[], 1, [receipt]]);
  });

  it("an attempt without a response may still act after a later one that the carrier puts off", async () => {
    const { request, first } = await attachedOne();
    carrier.respondInTurn(504, 409);
    await forwardOrder(first);
    pass(5);
    carrier.respondInTurn([429, { "Retry-After": "60" }]);
    expect(await forwardOrder(first)).toMatchObject({ next: "WAIT_TO_FORWARD" });
    expect(await receiptsOf(request)).toMatchObject([unsettled]);
  });

  it.each<[string, CarrierResponse, object, object]>([
    ["204 withdraws", 204, { next: "SUBMIT" }, { state: "withdrawn", held: "no" }],
    [
      "404 of what the carrier has confirmed settles nothing",
      [404, {}, '{"error":"none"}'],
      { next: "FAIL" },
      { state: "forwarded", status: 404, held: "perhaps" },
    ],
    ["410 likewise", [410, {}, ""], { next: "FAIL" }, { state: "forwarded", status: 410, held: "perhaps" }],
    ["a page with 404", [404, {}, "<html>"], { next: "FAIL" }, { state: "forwarded", status: 404, held: "yes" }],
    ["a page with 200", [200, busy[1], "<html>"], { next: "WAIT_TO_FORWARD" }, { state: "forwarded", held: "perhaps" }],
    ["409 leaves open whether the cart is checked out", 409, { next: "FAIL" }, { state: "forwarded", status: 409 }],
    ["503 is repeated", busy, { next: "WAIT_TO_FORWARD" }, { state: "forwarded", last_answer: was503 }],
  ])("of a DELETE: %s", async (_, response, result, receipt) => {
    const { request, own, first, remove } = await attachedOne();
    const calls = carrier.respondInTurn(201, response);
    await forwardOrder(first);
    await remove(0, own);
    expect(await forwardOrder(first)).toMatchObject(result);
    expect([calls, await receiptsOf(request)]).toMatchObject([[`PUT ${own}`, `DELETE ${own}`], [receipt]]);
  });

  it("takes a 404 to a DELETE for the carrier's word in the next run, and after a DELETE that may have acted", async () => {
    const unknown: CarrierResponse = [404, {}, "{}"];
    for (const before of [unknown, 504] as const) {
      const { order, request, own, first, remove } = await attachedOne();
      const calls = carrier.respondInTurn(201, before, unknown, unknown);
      await forwardOrder(first);
      await remove(0, own);
      const isLost = before === unknown;
      expect(await forwardOrder(first)).toMatchObject({ next: isLost ? "FAIL" : "SUBMIT" });
      if (isLost) {
        const reason =
          / is unknown to the carrier, which has confirmed it before: 404 \{\}\. Ask the carrier what its cart has, /;
        expect(await readRun(order)).toMatchObject({ failure: "fault", reason: expect.stringMatching(reason) });
        await running(order);
        expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
      }
      expect(await receiptsOf(request)).toMatchObject([{ state: "withdrawn", status: 404, held: "no" }]);
      expect(calls).toEqual([`PUT ${own}`, `DELETE ${own}`, `DELETE ${own}`]);
    }
  });

  it.each<[string, CarrierResponse, boolean]>([
    ["a refusal", 422, false],
    ["a 403", 403, false],
    ["a 429", [429, busy[1]], false],
    ["a 503", busy, true],
    ["a page", [200, busy[1], "<html>"], true],
    ["a 409", 409, true],
  ])("withdraws a deleted attachment after %s only if the carrier may have it", async (_, response, isWithdrawn) => {
    const { order, own, first, remove } = await attachedOne();
    const calls = carrier.respondInTurn(response, [404, {}, ""]);
    await forwardOrder(first);
    await remove(0, own);
    await running(order);
    pass(600);
    expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
    expect(calls).toEqual([`PUT ${own}`, ...(isWithdrawn ? [`DELETE ${own}`] : [])]);
  });

  it("forwards everything to another carrier, waits for no call of the first one, and withdraws nothing there", async () => {
    const { order, request, own, shared, attach, first, update, remove } = await attached();
    const deleted = await attach(0);
    carrier.respondInTurn(201, 201, 201);
    await forwardOrder(first);
    carrier.respondInTurn(504, [503, busy[1]]);
    await update(0, own, { name: "New" });
    await forwardOrder(first);
    await remove(0, deleted);
    vi.stubEnv("CARRIER_NAME", "another");
    const calls = carrier.respondInTurn(201, 201);
    await update(0, own, { name: "Newer" });
    expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT", cart: expect.stringMatching(/^another /) });
    expect(calls.toSorted()).toEqual([`PUT ${own}`, `PUT ${shared}`].sort());
    const before = (await receiptsOf(request)).find(({ attachment }) => attachment === deleted);
    // At the first carrier, it is still to be withdrawn, unless that has cleared its cart.
    vi.stubEnv("CARRIER_NAME", "carrier");
    vi.stubEnv("CARRIER_URL", `${carrier.url}/v2`);
    const back: string[] = [];
    carrier.respondWith((call) => {
      back.push(call);
      return call.startsWith("DELETE") ? [404, {}, "{}"] : 201;
    });
    expect([before, await forwardOrder(first)]).toMatchObject([
      { state: "forwarded", held: "yes" },
      { next: "SUBMIT" },
    ]);
    expect([back.length, back.includes(`DELETE ${deleted}`), await readRun(order)]).toMatchObject([
      3,
      true,
      { reason: null },
    ]);
  });

  it("gives up, while an earlier call may be in flight, with the carrier's last response", async () => {
    const { order, own, first, remove } = await attachedOne();
    const calls = carrier.respondInTurn(201, busy);
    await forwardOrder(first);
    await remove(0, own);
    await forwardOrder(first);
    expect(await forwardOrder({ ...first, waits: 10 })).toMatchObject({ next: "FAIL" });
    const reason = / cannot be withdrawn yet: an earlier call may still be in flight \(it responded with 503 why\)\.$/;
    expect(await readRun(order)).toMatchObject({ reason: expect.stringMatching(reason) });
    expect(calls).toEqual([`PUT ${own}`, `DELETE ${own}`]);
  });

  it("calls no carrier without its lock, and leaves its receipts as they are", async () => {
    const { order, request, own, first, update, remove } = await attachedOne();
    const calls = carrier.respondInTurn(201);
    const isFailed = async () => {
      for (const lost of [{ status: "STOPPING" }, { run: "other" }] as const) {
        await running(order, lost);
        expect(await forwardOrder(first)).toMatchObject({ next: "FAIL" });
      }
    };
    await isFailed();
    expect(await receiptsOf(request)).toEqual([]);
    await running(order);
    await forwardOrder(first);
    const receipts = await receiptsOf(request);
    for (const change of [() => update(0, own, { name: "New" }), () => remove(0, own)]) {
      await change();
      await isFailed();
      expect([calls, await receiptsOf(request)]).toEqual([[`PUT ${own}`], receipts]);
    }
  });

  it("writes no receipt without its lock, because two copies would restore each other's announcements", async () => {
    const { order, own, first, update } = await attachedOne();
    carrier.respondInTurn(201);
    await running(order);
    await forwardOrder(first);
    await update(0, own, { name: "New" });
    await running(order, { run: "other" });
    const written: string[] = [];
    const stop = interceptTableCalls(async (call, pass) => {
      if (isWrite(call)) written.push(...call.items.map(({ sk }) => String(sk)));
      return pass();
    });
    expect(await forwardOrder(first)).toMatchObject({ next: "FAIL" });
    stop();
    expect(written.filter((sk) => sk.startsWith("RECEIPT#"))).toEqual([]);
  });

  const tooMuch = "The order has more attachments than one run can forward: start the checkout again.";
  it.each([
    [300_000, 3, "SUBMIT", null],
    [300_001, 3, "FORWARD", null],
    [300_001, 1, "FAIL", tooMuch],
  ])("whose work has taken %i ms, with %i passes left, is %s", async (ms, passes_left, next, reason) => {
    const { order, first } = await attachedOne();
    carrier.respondInTurn(201);
    beforeTableCall(
      () => true,
      async () => void vi.setSystemTime(now.getTime() + ms),
    );
    expect(await forwardOrder({ ...first, passes_left })).toMatchObject({ next });
    expect((await readRun(order))?.reason).toBe(reason);
  });

  it("is sent no later than announced", async () => {
    const { order, first } = await attachedOne();
    carrier.respondWith(() => sleep(200, 201));
    const isCheck = ({ operation, items }: TableCall) =>
      operation === "BatchGetItem" && items.some(({ sk }) => sk.startsWith("ATTACHMENT#"));
    beforeTableCall(isCheck, async () => void vi.setSystemTime(now.getTime() + 135_100));
    expect(await forwardOrder(first)).toMatchObject({ next: "WAIT_TO_FORWARD" });
    expect(await readRun(order)).toMatchObject({ last_answer: "the deadline passed before the call was sent" });
  });

  it("that changes before its call is not sent, and the run forwards again, even after its last pass", async () => {
    const { first, own, update, request } = await attachedOne();
    const calls = carrier.respondInTurn(201);
    beforeTableCall(isWrite, () => update(0, own, { name: "New" }));
    const again = await forwardOrder({ ...first, passes_left: 1 });
    const round = { next: "FORWARD", rounds: 1, passes_left: 0 };
    expect([again, calls, await receiptsOf(request)]).toMatchObject([round, [], []]);
    expect(await forwardOrder({ ...first, ...again })).toMatchObject({ next: "SUBMIT", rounds: 1 });
    expect(await receiptsOf(request)).toMatchObject([{ state: "forwarded", version: 2 }]);
  });

  type Attached = Awaited<ReturnType<typeof attachedOne>>;
  const content = Buffer.from("another file");
  const other = { content, sha256: sha256Of(content), filename: "a.pdf", contentType: "application/pdf" };
  const isGone = /its file is missing from storage\.$/;
  const isAnother = /its stored file is not the one uploaded\.$/;
  const [adapter, scan] = [{ CARRIER_FUNCTION: "the-adapter" }, { MALWARE_SCAN: "simulated" }];
  it.each<[string, (of: Attached) => Promise<unknown>, string, RegExp | null, Record<string, string>?]>([
    ["is gone", ({ file }) => removeFile(file), "FAIL", isGone],
    ["is another", ({ file }) => putFile(file, other), "FAIL", isAnother],
    ["is gone from an adapter", ({ file }) => removeFile(file), "FAIL", isGone, adapter],
    ["is another for an adapter", ({ file }) => putFile(file, other), "FAIL", isAnother, adapter],
    ["is gone from its scan", ({ file }) => removeFile(file), "FAIL", isGone, scan],
    ["is deleted meanwhile", deleteMeanwhile, "SUBMIT", null],
    ["is deleted before an adapter has it", deleteMeanwhile, "SUBMIT", null, adapter],
    ["is deleted before its scan", deleteMeanwhile, "SUBMIT", null, scan],
    ["is in no bucket", async () => void vi.stubEnv("BUCKET_NAME", "none"), "throws", null],
  ])("whose file %s", async (_, change, next, reason, variables = {}) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", carrier.url);
    const one = await attachedOne();
    await change(one);
    const calls = carrier.respondInTurn(201);
    const result = await forwardOrder(one.first).catch(() => ({ next: "throws" }));
    expect([result.next, calls]).toEqual([next, []]);
    expect((await readRun(one.order))?.reason ?? null).toEqual(reason && expect.stringMatching(reason));
    const answer = next === "throws" ? null : expect.stringMatching(/^its /);
    expect(await receiptsOf(one.request)).toMatchObject([{ state: "pending", answer, last_answer: null }]);
  });

  it("whose file breaks off in the middle waits, and is sent again", async () => {
    const { request, first } = await attachedOne();
    const beginning = async function* () {
      yield Buffer.from("%PDF");
      throw Object.assign(new Error("aborted"), { code: "ECONNRESET" });
    };
    vi.spyOn(S3Client.prototype, "send").mockImplementation(async () => ({ Body: Readable.from(beginning()) }));
    expect(await forwardOrder(first)).toMatchObject({ next: "WAIT_TO_FORWARD" });
    expect(await receiptsOf(request)).toMatchObject([{ state: "pending", last_answer: "S3 is unavailable" }]);
  });

  const scanned = (result?: string) => async () => ({
    TagSet: result ? [{ Key: "GuardDutyMalwareScanStatus", Value: result }] : [],
  });
  const unavailable = () => Promise.reject(Object.assign(new Error(), { name: "SlowDown" }));
  const unscanned = { state: "pending", attempts: 0, last_answer: "waits for the malware scan" };
  const unread = { state: "pending", answer: null, last_answer: "S3 is unavailable" };
  const answer = expect.stringMatching(/^malware scan: [A-Z_]+$/);
  const refusedAs = (reason: string | null) => ({ state: "refused", answer, reason });
  it.each<[string, number, () => Promise<object>, string, RegExp, object]>([
    ["is not there yet", 9, scanned(), "WAIT_TO_FORWARD", /waits for the malware scan\.$/, unscanned],
    ["cannot be read", 1, unavailable, "WAIT_TO_FORWARD", /^The attachment \w+ .+: S3 is unavailable\.$/, unread],
    ["finds malware", 1, scanned("THREATS_FOUND"), "FAIL", /THREATS_FOUND$/, refusedAs("The file contains malware.")],
    ["has failed", 1, scanned("FAILED"), "WAIT_TO_FORWARD", /waits for the malware scan\.$/, unscanned],
    ["is denied", 1, scanned("ACCESS_DENIED"), "FAIL", /not forwarded: ACCESS_DENIED$/, refusedAs(null)],
    ["fails", 1, scanned("UNSUPPORTED"), "FAIL", /not forwarded: UNSUPPORTED$/, refusedAs(null)],
  ])("whose scan %s, with %i files", async (_, files, send, next, reason, receipt) => {
    const { order, request, first, attach } = await attachedOne();
    for (let file = 1; file < files; file += 1) await attach(0);
    vi.stubEnv("MALWARE_SCAN", "simulated");
    vi.spyOn(S3Client.prototype, "send").mockImplementation(send);
    expect(await forwardOrder(first)).toMatchObject({ next });
    expect(await receiptsOf(request)).toEqual(Array(files).fill(expect.objectContaining(receipt)));
    expect(await forwardOrder({ ...first, waits: 10 })).toMatchObject({ next: "FAIL" });
    expect((await readRun(order))?.reason).toMatch(reason);
    // A late copy does not wait for the scan's result, even if that is an error.
    expect(await forwardOrder(first)).toMatchObject({ next: "FAIL" });
  });
});

it.each([
  [true, "The file is protected by a password."],
  [false, null],
])(
  "a file that the scan does not support, encrypted: %s, is refused for the customer with %j",
  async (encrypted, reason) => {
    const { request, own, first } = await attachedOne();
    const attachment = keys.attachment({ type: "request", id: request }, own);
    await transact({ attachment: { update: attachment, set: { encrypted }, when: {} } });
    vi.stubEnv("MALWARE_SCAN", "simulated");
    const TagSet = [{ Key: "GuardDutyMalwareScanStatus", Value: "UNSUPPORTED" }];
    vi.spyOn(S3Client.prototype, "send").mockImplementation(async () => ({ TagSet }));
    expect(await forwardOrder(first)).toMatchObject({ next: "FAIL" });
    expect(await receiptsOf(request)).toMatchObject([
      { state: "refused", answer: "malware scan: UNSUPPORTED", reason },
    ]);
  },
);

describe("the receipt of a call", () => {
  const announced = async () => {
    const { request, own } = await attachedOne();
    const [planned] = (await planOf(request, [], testCart)).forward;
    if (!planned) throw new Error("there is nothing to forward");
    return { request, own, planned, first: announcement({ request, cart: testCart }, planned, now) };
  };

  it("announces the current metadata for as long as its attempts, and the work of the last one, take", async () => {
    const { request, own, planned, first } = await announced();
    const sent = { of: "request", state: "pending", at: at(0), version: 1, attempts: 1, status: null, bytes: 15 };
    expect(first).toMatchObject({ attachment: own, ...sent, cart: testCart, in_flight_until: at(175.005) });
    const next = (receipt: Partial<Receipt>) => {
      const attachment = { ...planned.attachment, name: "New", version: 2 };
      const changed = { of: "request", attachment, receipt: { ...first, ...receipt } } as const;
      return announcement({ request, cart: testCart }, changed, now);
    };
    const current = { sent: { name: "New" }, version: 2, attempts: 2, in_flight_until: at(175.005) };
    expect(next({})).toMatchObject(current);
    expect(next({ in_flight_until: at(900) })).toMatchObject({ ...current, in_flight_until: at(900) });
  });

  it("keeps its key until the carrier has decided, and for no other content, decision or cart", async () => {
    const { request, planned, first } = await announced();
    const target = { request, cart: testCart };
    const keyAfter = (receipt: Partial<Receipt>, attachment = planned.attachment, cart = testCart) =>
      announcement({ request, cart }, { of: "request", attachment, receipt: { ...first, ...receipt } }, now).key;
    const asked = withdrawal({ ...first, state: "forwarded" }, now);
    expect(first.key).toMatch(/^[0-9A-Z]{26}-[0-9a-f]{16}$/);
    expect([keyAfter({}), withdrawal(asked, now).key]).toEqual([first.key, asked.key]);
    const others = [
      ...(["forwarded", "refused", "withdrawn"] as const).map((state) => keyAfter({ state })),
      keyAfter(forgotten(first, at(0))),
      keyAfter({}, planned.attachment, `another ${newId()}`),
      keyAfter({}, planned.attachment, `carrier ${newId()}`),
      keyAfter({}, { ...planned.attachment, name: "New" }),
      keyAfter(asked),
      withdrawal(first, now).key,
      withdrawal({ ...asked, key: "" }, now).key,
      asked.key,
      first.key,
      announcement(target, { ...planned, receipt: undefined }, now).key,
    ];
    expect(new Set(others).size).toBe(others.length);
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

  it("of several decides by the end of the run, then the longer wait, then the end of the time", () => {
    const [stop, time] = [{ kind: "stop" } as const, { kind: "time" } as const];
    const [short, long] = [
      { kind: "wait", wait_seconds: 0, reason: "", last_answer: null } as const,
      { kind: "wait", wait_seconds: 9, reason: "", last_answer: null } as const,
    ];
    const inOrder = [undefined, time, short, long, stop] as const;
    for (const [index, one] of inOrder.entries())
      for (const other of inOrder.slice(1))
        expect(other && mostSevere(one, other)).toBe(inOrder[Math.max(index, inOrder.indexOf(other))]);
  });
});

/** Acts while the first call is in progress, so that the data its step has read are out of date. */
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

/** An order with two requests, the first of which has an attachment. */
const started = async () => {
  const all = await storedOrder(addMessagingNumbers, addMessagingNumbers);
  await running(all.order);
  const own = await all.attach(0);
  const receiptsOfBoth = async () => (await Promise.all(all.requests.map(receiptsOf))).flat();
  return { ...all, own, first: await all.state(), receiptsOfBoth };
};

describe("a copy of the forwarding step that runs on", () => {
  it("withdraws nothing that was added after it read the list", async () => {
    const { own, first, attach, receiptsOfBoth } = await started();
    let added = "";
    const calls = duringFirstCall(async () => {
      added = await attach("order");
      expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
    });
    await forwardOrder(first);
    expect(calls.toSorted()).toEqual([`PUT ${own}`, `PUT ${own}`, `PUT ${added}`, `PUT ${added}`].sort());
    expect((await receiptsOfBoth()).map(({ state }) => state)).toEqual(Array(3).fill("forwarded"));
  });

  it("sends no metadata that were changed after it read them", async () => {
    const { first, own, attach, update, remove, receiptsOfBoth } = await started();
    await remove(0, own);
    const shared = await attach("order");
    carrier.respondInTurn(201, 201);
    await forwardOrder(first);
    const late = await attach(0);
    const calls = duringFirstCall(async () => {
      await update("order", shared, { name: "New" });
      expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
    });
    await forwardOrder(first);
    expect(calls.toSorted()).toEqual([`PUT ${late}`, `PUT ${late}`, `PUT ${shared}`, `PUT ${shared}`].sort());
    const receipts = (await receiptsOfBoth()).filter(({ attachment }) => attachment === shared);
    const current = { state: "forwarded", version: 2, sent: { name: "New" } };
    expect(receipts).toMatchObject([current, current]);
  });

  it.each([
    ["refused, as the cart is checked out", 409],
    ["refused", 422],
    ["answered with 503", 503],
  ] as const)("whose call is %s changes nothing of a run that has checked the cart out", async (_, status) => {
    const { order, first, own, remove, attach, state, receiptsOfBoth } = await started();
    let submitted = await state();
    const checkOut = async () => {
      expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
      expect(await submitOrder(submitted)).toMatchObject({ next: "WAIT_TO_SUBMIT" });
    };
    const calls: string[] = [];
    carrier.respondWith(async (call) => {
      calls.push(call);
      if (call.startsWith("POST")) return busy;
      if (calls.length > 1) return 201;
      await checkOut();
      return [status, { "Retry-After": "60" }];
    });
    await forwardOrder({ ...first, waits: 10 });
    const requested = { status: "RUNNING", reason: null, outcome_unknown: true, sealed: true };
    expect(await readRun(order)).toMatchObject(requested);
    expect(await receiptsOfBoth()).toMatchObject([{ attachment: own, state: "forwarded", status: 201 }]);
    // A copy that begins now makes no call.
    await remove(0, own);
    await attach(0);
    pass(600);
    expect([await forwardOrder(first), calls.splice(0).length]).toMatchObject([{ next: "FAIL" }, 3]);
    carrier.respondInTurn(says(true));
    submitted = { ...submitted, waits: 2 };
    const reason = /: 1 added or changed and not forwarded, 1 deleted and not withdrawn\.$/;
    expect(await submitOrder(submitted)).toMatchObject({ next: "DONE", reason: expect.stringMatching(reason) });
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
    const response = await callCarrier({ method: "PUT", path: "/late", body });
    expect(response).toMatchObject({ settles: "nothing", text: "it did not respond in time", mayStillAct: true });
    // The carrier reads this call only after everything sent earlier.
    vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
    await callCarrier({ method: "DELETE", path: "/next" });
    expect([opened, calls]).toEqual([1, ["DELETE next"]]);
  });

  it("whose call is answered with 503 plans no next attempt once its run has failed", async () => {
    const { order, first, ref, receiptsOfBoth } = await started();
    duringFirstCall(() => failRun(ref, "why", new Date()), [503, { "Retry-After": "60" }]);
    expect(await forwardOrder(first)).toMatchObject({ next: "FAIL" });
    expect(await readRun(order)).toMatchObject({ status: "FAILED", waits: 2, next_try_at: null });
    expect(await receiptsOfBoth()).toMatchObject([{ state: "pending" }]);
  });

  it("whose call is refused leaves the decision to the copy that has announced it since", async () => {
    const { order, first, own, receiptsOfBoth } = await started();
    duringFirstCall(async () => expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" }), 422);
    expect(await forwardOrder(first)).toMatchObject({ next: "WAIT_TO_FORWARD" });
    expect(await readRun(order)).toMatchObject({ status: "RUNNING", reason: null });
    expect(await receiptsOfBoth()).toMatchObject([{ attachment: own, state: "forwarded", status: 201, attempts: 2 }]);
  });

  it("waits for a withdrawal of another copy, which may be in progress", async () => {
    const { own, order, first, remove, receiptsOfBoth } = await started();
    carrier.respondInTurn(201);
    await forwardOrder(first);
    await remove(0, own);
    const calls = duringFirstCall(async () => {
      expect(await forwardOrder(first)).toMatchObject({ next: "WAIT_TO_FORWARD", wait_seconds: 175 });
    }, 200);
    await forwardOrder(first);
    const expires_at = now.getTime() / 1000 + 400 * 86_400;
    const ended = { state: "withdrawn", sent: { name: "LOA", notes: null }, expires_at };
    expect([calls, await receiptsOfBoth()]).toMatchObject([[`DELETE ${own}`], [ended]]);
    expect(await readRun(order)).toMatchObject({ status: "RUNNING", outcome_unknown: false });
  });

  it("sends a version that comes again with other metadata under another key, as in a table that was restored", async () => {
    const { first, own, requests, update } = await started();
    const attachment = keys.attachment({ type: "request", id: requests[0] ?? "" }, own);
    const sent: string[] = [];
    for (const name of ["Lost", "New"]) {
      await update(0, own, { name });
      await transact({ attachment: { update: attachment, set: { version: 2 }, when: {} } });
      await transact({ receipt: { delete: keys.receipt(requests[0] ?? "", own), when: {} } });
      carrier.respondInTurn(201);
      expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
      sent.push(carrier.keys.at(-1) ?? "");
    }
    expect(new Set(sent).size).toBe(2);
  });

  it("sends what was withdrawn and comes back under another key, and withdraws it again under another", async () => {
    const { first, own, receiptsOfBoth, requests, remove } = await started();
    carrier.respondInTurn(201);
    await forwardOrder(first);
    const key = keys.receipt(requests[0] ?? "", own);
    await transact({ receipt: { update: key, set: { state: "withdrawn", expires_at: 1 }, when: {} } });
    carrier.respondInTurn(201);
    expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
    expect(await receiptsOfBoth()).toMatchObject([{ state: "forwarded", expires_at: null }]);
    await remove(0, own);
    carrier.respondInTurn(200);
    expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
    expect(new Set(carrier.keys.slice(-3)).size).toBe(3);
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
    const { first, own, remove } = await started();
    for (const response of responses) {
      duringFirstCall(async () => pass(seconds), response);
      await forwardOrder(first);
    }
    await remove(0, own);
    const calls = carrier.respondInTurn(200);
    const waiting = await forwardOrder(first);
    expect([waiting.next, calls]).toEqual(["WAIT_TO_FORWARD", []]);
    expect(waiting.wait_seconds).toBeGreaterThanOrEqual(40);
    pass(waiting.wait_seconds ?? 0);
    expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
    expect(calls).toEqual([`DELETE ${own}`]);
  });

  /** Forwards a file whose PUT gets 504 three times, then `last`. */
  const unanswered = async (last: CarrierResponse) => {
    const order = await started();
    carrier.respondInTurn(504, 504, 504, last);
    await forwardOrder(order.first);
    return order;
  };

  it.each<[string, CarrierResponse]>([
    ["504", 504],
    ["503", 503],
    ["429", [429, {}]],
  ])("is withdrawn, and replaced, only when that is over, also where its last attempt got a %s", async (_, last) => {
    for (const change of ["remove", "update"] as const) {
      const order = await unanswered(last);
      if (change === "remove") await order.remove(0, order.own);
      else await order.update(0, order.own, { name: "New" });
      const calls = carrier.respondInTurn(200);
      const waiting = await forwardOrder(order.first);
      expect([waiting.next, calls]).toEqual(["WAIT_TO_FORWARD", []]);
      expect(waiting.wait_seconds).toBeGreaterThanOrEqual(40);
      pass(waiting.wait_seconds ?? 0);
      expect(await forwardOrder(order.first)).toMatchObject({ next: "SUBMIT" });
      expect(calls).toEqual([`${change === "remove" ? "DELETE" : "PUT"} ${order.own}`]);
    }
  });

  it("is withdrawn only when that is over, also where its file is gone in the next attempt", async () => {
    const { first, own, remove } = await started();
    const calls = duringFirstCall(() => remove(0, own), 504);
    expect([await forwardOrder(first), calls]).toMatchObject([{ next: "SUBMIT" }, [`PUT ${own}`]]);
    const waiting = await forwardOrder(first);
    expect([waiting.next, calls.length]).toEqual(["WAIT_TO_FORWARD", 1]);
    pass(waiting.wait_seconds ?? 0);
    expect(await forwardOrder(first)).toMatchObject({ next: "SUBMIT" });
    expect(calls).toEqual([`PUT ${own}`, `DELETE ${own}`]);
  });
});

async function deleteMeanwhile({ file, own, remove }: Awaited<ReturnType<typeof attachedOne>>) {
  await removeFile(file);
  const recordsTheError = ({ updates }: TableCall) => JSON.stringify(updates).includes("is missing from storage");
  beforeTableCall(recordsTheError, () => remove(0, own));
}

/** The order of `attachedOne`, with a second attachment. */
async function attached() {
  const all = await attachedOne();
  const shared = await all.attach("order");
  return { ...all, shared, first: await all.state() };
}
