import { describe, expect, it, onTestFinished, vi } from "vitest";
import { carrierToken, renewedCarrierToken } from "../../../shared/checkout/carrier-token.ts";
import { beginRun, failRun, readRun } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun } from "../../../shared/checkout/checkout-schema.ts";
import { forwardOrder } from "../../../shared/checkout/forward.ts";
import { lateChanges } from "../../../shared/checkout/late-changes.ts";
import { receiptsOf } from "../../../shared/checkout/plan.ts";
import { submitOrder } from "../../../shared/checkout/submit.ts";
import { collections, keys } from "../../../shared/table/keys.ts";
import { get, queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { beforeTableCall, interceptTableCalls, isWrite } from "../../support/fault-proxy/table-proxy.ts";
import {
  at,
  attachedOne,
  busy,
  isSealed,
  now,
  pass,
  refuses,
  running,
  says,
  sealBy,
  sealedOrder,
  stepByStep,
  storedOrder,
  was503,
} from "../../support/fixtures/step-by-step.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import type { CarrierResponse } from "../../support/servers/scripted-carrier.ts";

/** Decisions of the step `submit` that whole checkouts do not show. */

const carrier = await stepByStep();
const conflict = (text: string): CarrierResponse => [409, {}, JSON.stringify({ error: text })];

const wait = (wait_seconds: number, waits = 2) => ({
  next: "WAIT_TO_SUBMIT",
  wait_seconds,
  waits,
});
const [done, fails, again] = [{ next: "DONE" }, { next: "FAIL" }, { next: "FORWARD", version: null }];

/** The properties of the run afterwards, and whether the order is sealed. */
type After = { readonly run: object; readonly sealed: boolean };
const open = (run: object): After => ({ run: { outcome_unknown: false, sealed: false, ...run }, sealed: false });
const doubted = (run: object): After => ({ run: { outcome_unknown: true, ...run }, sealed: true });
const ended: After = {
  run: { status: "SUCCEEDED", outcome_unknown: false, last_answer: null, next_try_at: null },
  sealed: true,
};
const stopping = { status: "STOPPING", next_try_at: null };

describe("the checkout of the cart", () => {
  it("waits while Secrets Manager is unavailable, without a doubt: nothing was sent", async () => {
    const { order, state } = await storedOrder(addMessagingNumbers);
    await running(order);
    vi.stubEnv("CARRIER_SECRET_ARN", "arn:aws:secretsmanager:us-east-1:000000000000:secret:unavailable");
    vi.stubEnv("AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:1");
    // Another test of this process may have read a token.
    await renewedCarrierToken(await carrierToken().catch(() => undefined)).catch(() => undefined);
    const calls = carrier.respondInTurn(200);
    expect(await submitOrder(await state())).toMatchObject({ next: "WAIT_TO_SUBMIT" });
    vi.stubEnv("CARRIER_SECRET_ARN", "");
    const last_answer = "the secret with its token could not be read (ECONNREFUSED)";
    expect([await readRun(order), await isSealed(order), calls]).toMatchObject([
      { status: "RUNNING", outcome_unknown: false, last_answer },
      false,
      [],
    ]);
  });

  it("is refused at once, although the clock of the run's first step was ahead", async () => {
    const { order, ref, state } = await storedOrder(addMessagingNumbers);
    await running(order, { run: "last", status: "FAILED" });
    await beginRun(ref, new Date(Date.now() + 10_000));
    const calls = carrier.respondInTurn(refuses(422, "no"));
    expect(await submitOrder(await state())).toMatchObject(fails);
    expect([calls, await isSealed(order)]).toEqual([["POST checkout"], false]);
  });

  const later = { "Retry-After": "60" };
  const nobodys = { request_id: "01K9ZQ4T7M3C8XW5R2BN6HJDEE", id: "01K9ZQ4T7M3C8XW5R2BN6HJDEA" };
  const foreignVerdict: CarrierResponse = [422, {}, JSON.stringify({ attachments: [nobodys] })];
  const page: CarrierResponse = [200, {}, "<html>Back soon</html>"];
  const fault = (reason: RegExp) => open({ ...stopping, failure: "fault", reason: expect.stringMatching(reason) });
  it.each<[string, CarrierResponse[], number, object, After]>([
    ["is done", [says(true)], 1, done, ended],
    [
      "is not done yet",
      [says(false), says(false)],
      1,
      wait(1),
      doubted({ accepted: "open", last_answer: "it has accepted the checkout and not completed it" }),
    ],
    ["is not done yet, and cannot be asked for", [says(false), 404], 1, wait(1), doubted({ accepted: "open" })],
    ["is not done yet, and is when asked for", [says(false), says(true)], 1, done, ended],
    [
      "is answered by somebody else's page",
      Array(4).fill(page),
      1,
      wait(1),
      doubted({ last_answer: "it responded with 200 <html>Back soon</html>", calls_end_by: at(40) }),
    ],
    ["is answered by a 202, which commits to nothing", Array(4).fill([202, {}, "{}"]), 1, wait(1), doubted({})],
    ["may be in progress", [504, 409], 1, wait(40), doubted({ status: "RUNNING", calls_end_by: at(40) })],
    [
      "may be in progress, though it is refused",
      [503, refuses(422, "no")],
      1,
      wait(40),
      doubted({ status: "RUNNING" }),
    ],
    ["may be in progress, though a proxy denies it", [500, 403], 1, wait(40), doubted({ status: "RUNNING" })],
    [
      "is refused",
      [refuses(400, "no")],
      1,
      fails,
      open({ ...stopping, failure: "refused", reason: expect.stringMatching(/: 400 /) }),
    ],
    ["is refused without a reason", [[422, {}, "no"]], 1, fails, fault(/: 422 no\. Ask the carrier, or whoever /)],
    ["is refused for another's letters", [foreignVerdict], 1, fails, fault(/: 422 .* Ask the carrier, or whoever /)],
    ["is denied", [403], 1, fails, fault(/: 403 why\. Check the carrier's token and what it permits, then start/)],
    [
      "is denied for its token, whatever the reason",
      [refuses(401, "no")],
      1,
      fails,
      fault(/: 401 .* Check the carrier's token, /),
    ],
    [
      "is redirected, which settles nothing",
      Array(4).fill([307, { Location: "/" }]),
      1,
      wait(1),
      open({ last_answer: "it responded with 307 why" }),
    ],
    [
      "is redirected to a page about its result",
      Array(4).fill([303, { Location: "/" }]),
      1,
      wait(1),
      doubted({ last_answer: "it responded with 303 why" }),
    ],
    ["was too much", [[429, later]], 9, wait(60, 10), open({ status: "RUNNING", calls_end_by: at(0) })],
    [
      "waits the last time",
      [busy],
      9,
      wait(60, 10),
      doubted({ last_answer: was503, next_try_at: at(60), calls_end_by: at(40) }),
    ],
    ["has waited too long", [busy], 10, fails, doubted({ ...stopping, failure: "fault" })],
    ["has waited too long for a carrier that has not acted", [[429, later]], 10, fails, open(stopping)],
  ])("%s", async (name, responses, waits, next, { run, sealed }) => {
    const { order, state } = await storedOrder(addMessagingNumbers);
    await running(order);
    const calls = carrier.respondInTurn(...responses);
    expect(await submitOrder({ ...(await state()), waits })).toMatchObject(next);
    const isAsked = Object(run).accepted === "open" || name.endsWith("asked for");
    expect(calls).toEqual(isAsked ? ["POST checkout", "GET cart"] : responses.map(() => "POST checkout"));
    expect([await readRun(order), await isSealed(order)]).toMatchObject([run, sealed]);
    const [stored, { state: cart }] = [await readRun(order), Object(await get(keys.order(order)))];
    expect(cart).toBe(stored?.status === "SUCCEEDED" ? "CHECKED_OUT" : "CART");
  });

  const accepted = (said: "unsaid" | "open", last_answer: string) =>
    doubted({ status: "RUNNING", accepted: said, last_answer });
  const notYet = "it has accepted the checkout and not completed it";
  const words = {
    fault: / 409 .*\. Ask the carrier, or whoever .* what it means, then start /,
    refused: /refused .*: 409 /,
  };
  const refusedAs = (failure: keyof typeof words) => ({
    ...stopping,
    failure,
    reason: expect.stringMatching(words[failure]),
  });
  const foreign: CarrierResponse = [409, {}, "error code: 1001"];
  it.each<[string, CarrierResponse, CarrierResponse, object, After]>([
    ["an empty 2xx", 204, says(true), done, ended],
    ["an empty 2xx if it cannot say", 200, 404, done, ended],
    [
      "a 2xx with another document, which is repeated",
      [201, {}, '{"id":7}'],
      says(false),
      wait(1),
      accepted("open", notYet),
    ],
    ["a 2xx, once it is available", 200, busy, wait(60), accepted("unsaid", was503)],
    ["a 409", conflict("checked out"), says(true), done, ended],
    ["a 409 if it cannot say", conflict("checked out"), 405, done, ended],
    ["a 409, so it is not done", conflict("scanning"), says(false), fails, open(refusedAs("fault"))],
    ["a 409 with a reason, so it is refused", refuses(409, "no"), says(false), fails, open(refusedAs("refused"))],
    ["a 409 with a reason, though it is done", refuses(409, "no"), says(true), done, ended],
    ["a 409 with a reason: a doubt if it cannot say", refuses(409, "no"), 404, fails, doubted(refusedAs("fault"))],
    ["somebody else's 409", foreign, says(false), fails, open(refusedAs("fault"))],
    ["somebody else's 409: a doubt if it cannot say", foreign, 501, fails, doubted(refusedAs("fault"))],
    ["a 409, once it is available", conflict("checked out"), busy, wait(60), doubted({ accepted: null })],
  ])("is asked for after %s", async (_, response, answer, next, { run, sealed }) => {
    const { order, state } = await storedOrder(addMessagingNumbers);
    await running(order);
    const calls = carrier.respondInTurn(response, answer);
    expect(await submitOrder(await state())).toMatchObject(next);
    expect(calls).toEqual(["POST checkout", "GET cart"]);
    expect([await readRun(order), await isSealed(order)]).toMatchObject([run, sealed]);
  });

  it("that was accepted and not completed is only asked for until it is, with the seal in place", async () => {
    const { order, ref, state } = await storedOrder(addMessagingNumbers);
    await running(order);
    const calls = carrier.respondInTurn(204, says(false), says(false), busy, says(false), 404);
    const waiting = { ...(await state()), run: "this" };
    for (const waits of [1, 2, 3]) {
      expect(await submitOrder({ ...waiting, waits })).toMatchObject({ next: "WAIT_TO_SUBMIT" });
      expect([await readRun(order), await isSealed(order)]).toMatchObject([
        { accepted: "open", outcome_unknown: true },
        true,
      ]);
    }
    expect(await submitOrder({ ...waiting, waits: 10 })).toMatchObject(fails);
    expect(calls).toEqual(["POST checkout", ...Array(4).fill("GET cart")]);
    await failRun(ref, "", now);
    const reason = expect.stringMatching(
      /accepted the checkout .*, but for too long .*\. The next run asks the carrier first/,
    );
    expect(await readRun(order)).toMatchObject({ status: "FAILED", failure: "fault", reason });
    await running(order, { outcome_unknown: true, sealed: true, accepted: "unsaid" });
    expect([await submitOrder(waiting), await get(keys.order(order))]).toMatchObject([done, { state: "CHECKED_OUT" }]);
  });

  it("that the carrier has called open is not done because a later response cannot say", async () => {
    const { order, state } = await storedOrder(addMessagingNumbers);
    await running(order, { outcome_unknown: true, sealed: true, accepted: "open" });
    carrier.respondInTurn(404);
    expect(await submitOrder({ ...(await state()), run: "this" })).toMatchObject({ next: "WAIT_TO_SUBMIT" });
    expect(await readRun(order)).toMatchObject({ status: "RUNNING", accepted: "open", last_answer: notYet });
  });

  it.each<[string, CarrierResponse[], object, object]>([
    ["409, so it is done", [[409, {}, "{}"], 404], done, ended.run],
    ["its own words", [422], fails, open(stopping).run],
    ["a proxy's 403, so the doubt stays", [403], fails, doubted(stopping).run],
  ])("is repeated once no attempt can act, and then settled by %s", async (_, responses, next, run) => {
    const { order, state } = await storedOrder(addMessagingNumbers);
    await running(order);
    carrier.respondInTurn(504, 409);
    const waiting = await submitOrder(await state());
    expect(waiting).toMatchObject(wait(40));
    pass(40);
    carrier.respondInTurn(...responses);
    expect(await submitOrder({ ...waiting, run: "this" })).toMatchObject(next);
    expect(await readRun(order)).toMatchObject(run);
  });

  it.each<[string, CarrierResponse[], CarrierResponse, object]>([
    ["a refusal", [422], 422, wait(176)],
    ["a 409, which may be about that copy's call", [conflict("in progress"), 404], busy, { next: "WAIT_TO_SUBMIT" }],
  ])(
    "is not settled by %s if another copy has called since",
    async (_, [earlier = 599, cannotSay = 599], later, waits) => {
      const { order, state } = await storedOrder();
      await running(order);
      const submitted = await state();
      let calls = 0;
      carrier.respondWith(async (call) => {
        if (call === "GET cart") return cannotSay;
        calls += 1;
        if (calls > 1) return later;
        // The other copy announces its call while this one is in progress, and returns first.
        expect(await submitOrder(submitted)).toMatchObject(waits);
        return earlier;
      });
      expect(await submitOrder(submitted)).toMatchObject(wait(1));
      expect(await readRun(order)).toMatchObject({ status: "RUNNING", outcome_unknown: true, checked_out: false });
      expect([calls, await get(keys.order(order))]).toMatchObject([2, { state: "CART" }]);
    },
  );

  it("is asked of no other carrier than the one that was called: the run ends and names order settle", async () => {
    const { order, ref, state } = await sealedOrder();
    vi.stubEnv("CARRIER_NAME", "another");
    const calls = carrier.respondInTurn();
    expect(await submitOrder(await state())).toMatchObject(fails);
    await failRun(ref, "", now);
    const reason =
      "The order was sent to the carrier carrier. It is unknown whether the cart is checked out. Ask that carrier, and record the outcome with order settle.";
    const doubt = { status: "FAILED", failure: "fault", outcome_unknown: true, reason };
    expect([calls, await readRun(order), await isSealed(order)]).toMatchObject([[], doubt, true]);
  });

  it("is requested only of the carrier that has got everything: another one gets everything first", async () => {
    const { order, state } = await storedOrder(addMessagingNumbers);
    await running(order);
    const forwarded = await state();
    vi.stubEnv("CARRIER_NAME", "another");
    const calls = carrier.respondInTurn();
    expect(await submitOrder(forwarded)).toMatchObject(again);
    expect([calls, await isSealed(order)]).toEqual([[], false]);
  });

  it("seals the order in the version that the carrier has, and otherwise forwards again", async () => {
    const { order, state, attach } = await attachedOne();
    const forwarded = await state();
    await attach(0);
    const calls = carrier.respondInTurn(200);
    expect(await submitOrder(forwarded)).toMatchObject({ ...again, waits: 1 });
    const changing = "The order's attachments keep changing: try again later.";
    expect(await submitOrder({ ...forwarded, passes_left: 0, rounds: 2 })).toMatchObject({ ...again, rounds: 3 });
    const long = new Date(Date.now() - 300_001).toISOString();
    expect(await submitOrder({ ...forwarded, passes_left: 0, rounds: 3, read_at: long })).toMatchObject(fails);
    expect([calls, await isSealed(order), await readRun(order)]).toMatchObject([[], false, { reason: changing }]);
  });

  it("seals an order that has changed in three rounds in the version that the carrier has, and counts what came since as late", async () => {
    const { order, first, attach } = await attachedOne();
    const calls = carrier.respondInTurn(201, says(true));
    const forwarded = { ...first, ...(await forwardOrder(first)) };
    await attach(0);
    expect(await submitOrder({ ...forwarded, rounds: 2 })).toMatchObject({ ...again, rounds: 3 });
    // It does not, if the run has read that version long ago, because it could not submit.
    const long = new Date(Date.now() - 300_001).toISOString();
    expect(await submitOrder({ ...forwarded, rounds: 3, read_at: long })).toMatchObject({ ...again, rounds: 4 });
    expect([calls.length, await isSealed(order)]).toEqual([1, false]);
    expect(await submitOrder({ ...forwarded, rounds: 3 })).toMatchObject(done);
    const reason = "Attachments that came too late for the carrier: 1 added or changed and not forwarded.";
    expect([calls.length, await readRun(order)]).toMatchObject([2, { status: "SUCCEEDED", reason }]);
  });

  it("is not sent later than announced", async () => {
    const { order, state } = await storedOrder();
    await running(order);
    const calls = carrier.respondInTurn(says(true));
    const submitted = await state();
    beforeTableCall(isWrite, async () => void vi.setSystemTime(now.getTime() + 135_000));
    expect([await submitOrder(submitted), calls]).toMatchObject([wait(1), []]);
    const unsent = { outcome_unknown: false, last_answer: "the deadline passed before the call was sent" };
    expect(await readRun(order)).toMatchObject(unsent);
  });

  it("that was done is recorded at once: whatever ends the run then, the next one completes the order without asking", async () => {
    const { order, ref, state } = await storedOrder();
    await running(order);
    carrier.respondWith(async () => {
      await failRun(ref, "It was stopped.", now);
      return says(true);
    });
    expect(await submitOrder(await state())).toMatchObject(wait(1));
    expect(await readRun(order)).toMatchObject({ status: "FAILED", outcome_unknown: true, checked_out: true });
    await running(order, { run: "next", outcome_unknown: true, checked_out: true });
    const calls = carrier.respondInTurn();
    expect(await submitOrder({ ...(await state()), run: "next" })).toMatchObject(done);
    expect([calls, await get(keys.order(order))]).toMatchObject([[], { state: "CHECKED_OUT" }]);
  });

  it("counts what came too late for the carrier", async () => {
    const { state, own, attach, remove } = await attachedOne();
    carrier.respondWith(async () => {
      for (const to of ["order", 0] as const) await attach(to);
      await remove(0, own);
      return says(true);
    });
    expect(await submitOrder(await state())).toMatchObject({
      next: "DONE",
      reason: "Attachments that came too late for the carrier: 2 added or changed and not forwarded.",
    });
  });
});

describe("a refusal of a letter after a call that may still act", () => {
  const late = "Attachments that came too late for the carrier: 1 added or changed and not forwarded.";
  it.each<[string, CarrierResponse, object, object]>([
    ["is open sends the letter again, because the carrier may have dropped it", says(false), again, { key: "" }],
    ["cannot be asked for does so, too", 404, again, { key: "" }],
    ["is checked out says that the letter is not in it", says(true), done, { reason: late }],
  ])("is followed by the question, and if the cart %s", async (_, answer, next, run) => {
    const { order, request, own: id, first } = await attachedOne();
    carrier.respondInTurn(204);
    const { next: _submit, ...state } = await forwardOrder(first);
    const named = JSON.stringify({ reason: "no", attachments: [{ request_id: request, id }] });
    carrier.respondInTurn(503, [422, {}, named]);
    const waiting = await submitOrder({ ...first, ...state });
    expect(waiting).toMatchObject(wait(40));
    expect([await readRun(order), await receiptsOf(request)]).toMatchObject([
      { outcome_unknown: true, status: "RUNNING" },
      [{ state: "refused", reason: "no" }],
    ]);
    pass(40);
    const calls = carrier.respondInTurn(answer);
    expect(await submitOrder({ ...first, ...waiting })).toMatchObject(next);
    expect([calls, await readRun(order)]).toMatchObject([["GET cart"], { outcome_unknown: false, ...run }]);
  });
});

describe("a refusal of a letter that another copy of the step does not know", () => {
  const forwarded = async () => {
    const { order, request, own: id, first } = await attachedOne();
    carrier.respondInTurn(204);
    const { next: _submit, ...state } = await forwardOrder(first);
    const named = JSON.stringify({ reason: "no", attachments: [{ request_id: request, id }] });
    const refusal: CarrierResponse = [422, {}, named];
    return { order, request, refusal, step: { ...first, ...state } };
  };

  it("keeps that copy from repeating the call, once it is recorded", async () => {
    const { step, refusal } = await forwarded();
    const [isWaiting, isRecorded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let writes = 0;
    let copy: Promise<object> | undefined;
    // The first copy announces, the second is held, and goes on after the first has recorded the verdict.
    const stop = interceptTableCalls(async (call, send) => {
      if (!isWrite(call)) return send();
      const nth = ++writes;
      if (nth === 2) {
        isWaiting.resolve();
        await isRecorded.promise;
      }
      if (nth === 4) {
        isRecorded.resolve();
        expect(await copy).toMatchObject({ next: "WAIT_TO_SUBMIT" });
      }
      return send();
    });
    onTestFinished(() => void stop());
    const calls: string[] = [];
    carrier.respondWith(async (call) => {
      calls.push(call);
      if (calls.length > 1) return says(true);
      copy = submitOrder(step);
      await isWaiting.promise;
      return refusal;
    });
    expect([await submitOrder(step), calls]).toMatchObject([fails, ["POST checkout"]]);
  });

  it("keeps that copy from sealing the order as it was forwarded before, however often it has changed", async () => {
    const { order, step, refusal } = await forwarded();
    carrier.respondInTurn(503, refusal);
    const waiting = { ...step, ...(await submitOrder(step)), rounds: 3 };
    pass(40);
    carrier.respondInTurn(says(false));
    expect(await submitOrder(waiting)).toMatchObject(again);
    const calls = carrier.respondInTurn(says(true));
    expect([await submitOrder(waiting), calls, await isSealed(order)]).toMatchObject([again, [], false]);
  });

  it("counts the letter as late, if that copy's call is on its way", async () => {
    const { order, request, step, refusal } = await forwarded();
    const isCalled = Promise.withResolvers<void>();
    let first: Promise<object> | undefined;
    let copy: Promise<object> | undefined;
    carrier.respondWith(async () => {
      if (copy) {
        isCalled.resolve();
        await first;
        return says(true);
      }
      copy = submitOrder(step);
      await isCalled.promise;
      return refusal;
    });
    first = submitOrder(step);
    expect([await first, await copy]).toMatchObject([wait(1), done]);
    const reason = "Attachments that came too late for the carrier: 1 added or changed and not forwarded.";
    expect([await readRun(order), await receiptsOf(request)]).toMatchObject([
      { status: "SUCCEEDED", reason },
      [{ state: "refused", reason: "no" }],
    ]);
  });

  it.each([
    ["called with another key", { key: "another" }],
    ["learnt that the cart is open", { key: "", outcome_unknown: false, sealed: false }],
  ])("is recorded although that copy has %s since", async (_, set) => {
    const { order, request, step, refusal } = await forwarded();
    carrier.respondWith(async () => {
      await transact({ run: { update: keys.checkout(order), set, when: {} } });
      return refusal;
    });
    expect(await submitOrder(step)).toMatchObject(fails);
    expect([await readRun(order), await receiptsOf(request)]).toMatchObject([{ key: "" }, [{ state: "refused" }]]);
  });

  const late = { status: "SUCCEEDED", reason: expect.stringMatching(/1 added or changed and not forwarded/) };
  it.each<[string, number, object, object]>([
    ["lists the letter, although that copy has got another response", 4, wait(1), late],
    ["lists the letter, although that copy has checked the order out", 0, done, { status: "SUCCEEDED", reason: null }],
  ])("%s", async (_, respondsBefore, next, run) => {
    const { order, request, step, refusal } = await forwarded();
    const isTime = Promise.withResolvers<void>();
    let writes = 0;
    let first: Promise<object> | undefined;
    let copy: Promise<object> | undefined;
    // Both copies announce, then the second records the response and checks the order out.
    const stop = interceptTableCalls(async (call, send) => {
      if (!isWrite(call) || ++writes !== respondsBefore) return send();
      isTime.resolve();
      await first;
      return send();
    });
    onTestFinished(() => void stop());
    carrier.respondWith(async () => {
      if (copy) return says(true);
      copy = submitOrder(step);
      void copy.then(() => isTime.resolve());
      await isTime.promise;
      return refusal;
    });
    first = submitOrder(step);
    expect([await first, await copy]).toMatchObject([wait(1), next]);
    expect(await submitOrder(step)).toMatchObject(done);
    expect([await readRun(order), await receiptsOf(request)]).toMatchObject([
      run,
      [{ state: "refused", reason: "no" }],
    ]);
    expect((await lateChanges(order, now)).counts).toEqual({ not_forwarded: 1, not_withdrawn: 0 });
    expect(await Array.fromAsync(queryAll(collections.lateChangesOf(order)))).toMatchObject([{ change: "updated" }]);
  });
});

describe("a run after a checkout of the cart whose outcome is unknown", () => {
  it("asks only once no earlier call can be in progress", async () => {
    const { order, state } = await sealedOrder({ calls_end_by: at(9.5) });
    const calls = carrier.respondInTurn(says(false));
    expect(await submitOrder(await state())).toMatchObject(wait(10, 1));
    expect([calls, await readRun(order)]).toMatchObject([[], { next_try_at: at(9.5) }]);
    pass(9.5);
    expect(await submitOrder(await state())).toMatchObject(again);
  });

  const unusable = (text: string) => doubted({ last_answer: `its response lacks the boolean checked_out (${text})` });
  it.each<[string, CarrierResponse[], object, After]>([
    ["forwards again if it is open", [says(false)], again, open({ calls_end_by: at(0), status: "RUNNING", waits: 2 })],
    ["completes the order if it is done", [says(true)], done, ended],
    ["waits for the answer", [busy], wait(60), doubted({ calls_end_by: at(-60), last_answer: was503 })],
    ["waits for another answer than a text", [says("no")], wait(1), unusable('200 {"checked_out":"no"}')],
    ["waits for another answer than no document", [[200, {}, "true"]], wait(1), unusable("200 true")],
    ["waits for another answer than none", [[204, {}, ""]], wait(1), unusable("204")],
    [
      "waits for an answer that is not redirected",
      Array(4).fill([302, { Location: "/" }]),
      wait(1),
      doubted({ last_answer: "it responded with 302 why" }),
    ],
    ["repeats the call if the carrier cannot say", [404, says(true)], done, ended],
    ["waits for a 200 in place of a 202", Array(4).fill([202, {}, "{}"]), wait(1), unusable("202 {}")],
    ["repeats the call if the carrier has no such method", [501, busy], wait(60), doubted({})],
    ["repeats a call that is refused", [405, 422], fails, open({ ...stopping, failure: "refused" })],
    ["repeats a call that a proxy may deny", [404, 400], fails, doubted(stopping)],
  ])("%s", async (_, responses, next, { run, sealed }) => {
    const { order, state } = await sealedOrder();
    const calls = carrier.respondInTurn(...responses);
    expect(await submitOrder(await state())).toMatchObject(next);
    const [first, second] = new Set(calls);
    expect([first, second ?? "POST checkout"]).toEqual(["GET cart", "POST checkout"]);
    expect([await readRun(order), await isSealed(order)]).toMatchObject([run, sealed]);
  });

  it("that gets no usable answer for too long says what is wrong with it, and who can end the doubt", async () => {
    const { order, ref, state } = await sealedOrder();
    carrier.respondInTurn([200, {}, '{"ok":true}']);
    expect(await submitOrder({ ...(await state()), waits: 10 })).toMatchObject(fails);
    await failRun(ref, "", now);
    const reason = expect.stringMatching(/lacks the boolean checked_out \(200 \{"ok":true\}\)\..*order settle/);
    expect(await readRun(order)).toMatchObject({ status: "FAILED", outcome_unknown: true, reason });
  });

  it.each<Partial<CheckoutRun> | undefined>([{ run: "other" }, { status: "STOPPING" }, undefined])(
    "asks nothing as %j",
    async (changes) => {
      const { state } = changes ? await sealedOrder(changes) : await storedOrder();
      const calls = carrier.respondInTurn(says(true));
      expect([await submitOrder(await state()), calls]).toMatchObject([fails, []]);
    },
  );

  it("never repeats the call if the order is not sealed: what is missing is forwarded first", async () => {
    const { order, state } = await storedOrder();
    await running(order, { outcome_unknown: true });
    const calls = carrier.respondInTurn(404);
    expect([await submitOrder(await state()), calls]).toMatchObject([again, ["GET cart"]]);
  });

  it.each<[string, CarrierResponse]>([
    ["is open", says(false)],
    ["cannot be said", 404],
  ])("changes nothing in a late copy of the step that learns that it %s", async (_, learned) => {
    const { order, state } = await sealedOrder();
    const submitted = await state();
    const calls = carrier.respondInTurn(learned, says(false), busy);
    beforeTableCall(isWrite, async () => {
      expect(await submitOrder(submitted)).toMatchObject(again);
      expect(await submitOrder(submitted)).toMatchObject(wait(60));
    });
    expect(await submitOrder(submitted)).toMatchObject(wait(1));
    expect(calls).toEqual(["GET cart", "GET cart", "POST checkout"]);
    expect([await readRun(order), await isSealed(order)]).toMatchObject([
      { outcome_unknown: true, sealed: true },
      true,
    ]);
  });

  it("changes nothing of a run to which the carrier has said meanwhile that it is done", async () => {
    const { order, state } = await sealedOrder();
    carrier.respondInTurn(says(false));
    const recorded = { run: { update: keys.checkout(order), set: { checked_out: true }, when: {} } };
    beforeTableCall(isWrite, () => transact(recorded));
    expect(await submitOrder(await state())).toMatchObject(wait(1));
    expect([await readRun(order), await isSealed(order)]).toMatchObject([{ outcome_unknown: true }, true]);
    await sealBy("last", order);
    expect(await submitOrder(await state())).toMatchObject(done);
  });
});
