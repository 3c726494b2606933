import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { handler as begin } from "../../../functions/checkout/begin.ts";
import { startStepFunctions } from "../../../infra/local/step-functions.ts";
import { beginRun, failRun, markCrashed, readRun } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun } from "../../../shared/checkout/checkout-schema.ts";
import { withoutResult } from "../../../shared/checkout/checkout-schema.ts";
import { submitOrder } from "../../../shared/checkout/submit.ts";
import { noId } from "../../../shared/schema/fields.ts";
import { collections, keys } from "../../../shared/table/keys.ts";
import { queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { beforeTableCall, isWrite, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { storeRun, testCart } from "../../support/fixtures/runs.ts";
import { at, isSealed, now, running, sealBy, storedOrder } from "../../support/fixtures/step-by-step.ts";

/** How a run begins and fails, in cases that whole checkouts do not show. */

const week = (7 * 24 + 1) * 3600;

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

/** Starts Step Functions, where the execution `last` is in progress, has ended or does not exist. */
const withExecution = async (execution: "running" | "ended" | "unknown") => {
  const forever = () => new Promise<never>(() => {});
  const stepFunctions = await startStepFunctions({
    load: () => (execution === "ended" ? async () => ({ next: "DONE" }) : forever),
  });
  vi.stubEnv("AWS_ENDPOINT_URL_SFN", stepFunctions.url);
  vi.stubEnv("STATE_MACHINE_ARN", stepFunctions.stateMachineArn);
  if (execution !== "unknown") {
    const started = await stepFunctions.workflow.start("last", JSON.stringify({ order_id: "x" }));
    if (execution === "ended") await started?.ended;
  }
  return stepFunctions;
};

describe("the start of a run", () => {
  it("locks the order, and knows the twenty runs before it", async () => {
    const { order, ref } = await storedOrder();
    const state = {
      order_id: order,
      passes_left: 48,
      rounds: 0,
      corrections_left: 5,
      waits: 0,
      cart: null,
      version: null,
      read_at: null,
      receipts_version: null,
    };
    expect(await beginRun(ref, now)).toEqual({ ...state, next: "FORWARD" });
    const fresh = { run: "this", status: "RUNNING", started_at: at(0), ended_at: null, reason: null, failure: null };
    const calls = {
      outcome_unknown: false,
      cart: expect.stringMatching(/^carrier [0-9A-Z]{26}$/),
      key: "",
      sealed: false,
      accepted: null,
      checked_out: false,
      calls_end_by: at(0),
    };
    const none = { waits: 0, last_answer: null, next_try_at: null };
    const first = { ...fresh, ...calls, ...none, attempt: 1, earlier_runs: [] };
    const stored = await readRun(order);
    expect(stored).toEqual(first);
    const earlier_runs = Array.from({ length: 20 }, (_, index) => `run ${index}`);
    await storeRun(order, { earlier_runs });
    await beginRun(ref, now);
    const known = ["last", ...earlier_runs.slice(0, 19)];
    expect(await readRun(order)).toEqual({ ...first, cart: testCart, attempt: 4, earlier_runs: known });
  });

  it.each([[{}], [{ order_id: null }], [{ order_id: 5 }], [[]], ["x"], [null]])(
    "fails at once, without retries, if its input is %j",
    async (state) => {
      expect(await begin({ run: "this", started_at: now.toISOString(), state })).toMatchObject({
        order_id: noId,
        next: "FAIL",
        reason: "The order_id is not a ULID.",
      });
    },
  );

  it.each<[string, Partial<CheckoutRun>, object]>([
    ["after one that succeeded", { status: "SUCCEEDED" }, { next: "FORWARD" }],
    ["after one that crashed: its receipts announce the calls to wait for", { status: "CRASHED" }, { next: "FORWARD" }],
    ["after one whose outcome is unknown", { outcome_unknown: true }, { next: "SUBMIT" }],
    ["after one that is too old", { status: "RUNNING", started_at: at(-week) }, { next: "FORWARD" }],
    ["of itself again", { run: "this", status: "RUNNING" }, { next: "FORWARD" }],
    ["of itself after its end", { run: "this" }, { next: "FAIL" }],
  ])("%s", async (_, last, start) => {
    const { order, ref } = await storedOrder();
    await storeRun(order, last);
    expect(await beginRun(ref, now)).toMatchObject(start);
  });

  it.each<[string, Partial<CheckoutRun>, "running" | "ended" | "unknown", boolean]>([
    ["is in progress", {}, "running", true],
    ["is in progress, and stops", { status: "STOPPING" }, "running", true],
    ["is not known for a minute", { started_at: at(-59) }, "unknown", true],
    ["is not known for longer", { started_at: at(-60) }, "unknown", false],
    ["has ended, though nobody was told", { started_at: at(0) }, "ended", false],
  ])("beside a run whose execution %s", async (_, last, execution, isBeside) => {
    const stepFunctions = await withExecution(execution);
    const { order, ref } = await storedOrder();
    await storeRun(order, { status: "RUNNING", outcome_unknown: true, ...last });
    const beside = { next: "ALREADY_RUNNING", reason: "The run last is checking this order out." };
    expect(await beginRun(ref, now)).toMatchObject(isBeside ? beside : { next: "SUBMIT" });
    const after = { run: "this", attempt: 4, outcome_unknown: true, calls_end_by: at(0) };
    expect(await readRun(order)).toMatchObject(isBeside ? { run: "last" } : after);
    await stepFunctions.close();
  });

  it("beside another that starts at the same time finds its lock", async () => {
    const stepFunctions = await withExecution("unknown");
    for (const last of [undefined, {}]) {
      const { order, ref } = await storedOrder();
      if (last) await storeRun(order, last);
      const both = await Promise.all([beginRun(ref, now), beginRun({ ...ref, run: "other" }, now)]);
      expect(both.map(({ next }) => next).sort()).toEqual(["ALREADY_RUNNING", "FORWARD"]);
    }
    await stepFunctions.close();
  });

  it("does not happen while the order is being checked out, whatever it has read first", async () => {
    const { order, ref, state } = await storedOrder();
    await running(order, { outcome_unknown: true, checked_out: true });
    const submitted = await state();
    let reads = 0;
    const isSecondRead = ({ operation }: TableCall) => operation === "GetItem" && ++reads === 2;
    beforeTableCall(isSecondRead, () => submitOrder(submitted));
    expect(await beginRun({ ...ref, run: "other" }, now)).toMatchObject({ next: "DONE" });
    expect(await readRun(order)).toMatchObject({ run: "this", status: "SUCCEEDED" });
  });

  it("does not bring the key of a checkout back whose refusal has been recorded meanwhile", async () => {
    const { order, ref } = await storedOrder();
    await storeRun(order, { outcome_unknown: true, key: "undecided" });
    beforeTableCall(isWrite, () => transact({ run: { update: keys.checkout(order), set: { key: "" }, when: {} } }));
    expect(await beginRun(ref, now)).toMatchObject({ next: "SUBMIT" });
    expect(await readRun(order)).toMatchObject({ run: ref.run, outcome_unknown: true, key: "" });
  });
});

describe("the failure of a run", () => {
  const unknown = "It is unknown whether the cart is checked out. The next run asks the carrier first";
  it.each<[string, Partial<CheckoutRun>, object, object]>([
    ["is running", {}, { kind: "fault" }, { status: "FAILED", reason: "default", failure: "fault" }],
    [
      "was refused",
      { status: "STOPPING", reason: "why", failure: "refused" },
      { kind: "refused" },
      { status: "FAILED", reason: "why" },
    ],
    [
      "leaves a doubt",
      { outcome_unknown: true, calls_end_by: at(9) },
      { kind: "fault" },
      { status: "FAILED", reason: expect.stringContaining(`default. ${unknown}, after ${at(9)}. If it cannot say,`) },
    ],
    [
      "leaves a doubt that the next run can ask about at once",
      { outcome_unknown: true, calls_end_by: at(0) },
      { kind: "fault" },
      { status: "FAILED", reason: expect.stringContaining(`default. ${unknown}. If it cannot say,`) },
    ],
    ["has lost its lock", { run: "other" }, { cause: "default" }, { status: "RUNNING", reason: null }],
    ["has succeeded", { status: "SUCCEEDED" }, { kind: "fault" }, { status: "SUCCEEDED" }],
  ])("that %s", async (_, changes, failure, stored) => {
    const { order, ref } = await storedOrder();
    await running(order, changes);
    await sealBy("this", order);
    for (const _ of ["fails", "is repeated"]) expect(await failRun(ref, "default", now)).toMatchObject(failure);
    expect([await readRun(order), await isSealed(order)]).toMatchObject([stored, true]);
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

  it.each([
    [false, `${unknown}, after ${at(9)}. If it cannot say,`],
    [true, "The carrier has checked the cart out. The next run completes the order."],
  ])(
    "as a crash has the reason for which it was stopping; checked out at the carrier: %j",
    async (checked_out, said) => {
      const { order } = await storedOrder();
      const doubt = { outcome_unknown: true, checked_out, calls_end_by: at(9) };
      await running(order, { status: "STOPPING", reason: "It was refused: 422", ...doubt });
      const stopping = await readRun(order);
      expect(stopping && (await markCrashed(order, stopping, now))).toBe(true);
      const reason = expect.stringContaining(`It was refused: 422. ${withoutResult} ${said}`);
      expect(await readRun(order)).toMatchObject({ status: "CRASHED", reason });
    },
  );

  it("as a crash leaves a run alone to which the carrier has responded meanwhile", async () => {
    const { order } = await storedOrder();
    await running(order, { outcome_unknown: true });
    const last = await readRun(order);
    await transact({ run: { update: keys.checkout(order), set: { checked_out: true }, when: {} } });
    expect(last && (await markCrashed(order, last, now))).toBe(false);
  });
});
