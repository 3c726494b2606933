import type { EventType } from "../history/event.ts";
import { type Origin, recordOf } from "../history/record.ts";
import { noId } from "../schema/fields.ts";
import { backOff } from "../table/client.ts";
import type { Write } from "../table/expressions.ts";
import { keys } from "../table/keys.ts";
import { get, parseItem, readItem } from "../table/read.ts";
import { transactOrUpdate } from "../table/update.ts";
import { transact } from "../table/write.ts";
import { Order, whileItLasts } from "../tenants/tenant-schema.ts";
import {
  CheckoutRun,
  type FailureKind,
  firstState,
  newCart,
  type RunRef,
  type StepResult,
  withoutResult,
} from "./checkout-schema.ts";
import { isExecuting } from "./execution.ts";
import { checkoutLimits } from "./limits.ts";

export const readRun = (orderId: string): Promise<CheckoutRun | undefined> =>
  readItem(CheckoutRun, keys.checkout(orderId));

/**
 * Locks the order until the run ends, and returns where the run starts. Safe to repeat, even after the run has ended. Takes over
 * the lock of a run whose execution ended without a result. The new run then waits until no call of the old one can be in flight.
 */
export const beginRun = async (ref: RunRef, now: Date): Promise<StepResult> => {
  const { order_id, run } = ref;
  const state = firstState(order_id);
  if (order_id === noId) return { ...state, next: "FAIL", reason: "The order_id is not a ULID." };
  for (let attempt = 1; ; attempt += 1) {
    // Read the run before the order. The transaction that checks the order out also changes the run, so the lock then fails.
    const last = await readRun(order_id);
    const order = await readItem(Order, keys.order(order_id));
    if (!order) return { ...state, next: "FAIL", reason: `There is no order ${order_id}.` };
    if (order.erasing) return { ...state, next: "FAIL", reason: "The order's account is being erased." };
    if (order.state === "CHECKED_OUT") return { ...state, next: "DONE" };
    if (last && isOpen(last)) {
      const isCurrent = isActive(last, now);
      if (isCurrent && last.run === run) return { ...state, ...firstStep(last) };
      // The event of an execution's end can be lost, so look the execution up. One that is too old to be in progress has ended.
      if (isCurrent && (await isExecuting(last)))
        return { ...state, next: "ALREADY_RUNNING", reason: `The run ${last.run} is checking this order out.` };
      await markCrashed(order_id, last, now);
    } else {
      // A late copy of this step, whose execution has ended.
      if (last && [last.run, ...last.earlier_runs].includes(run))
        return { ...state, next: "FAIL", reason: `The run ${run} has ended.` };
      const locked = await lock(ref, last, now);
      if (locked) return { ...state, ...firstStep(locked) };
    }
    await backOff(attempt, new Error("The last run has changed each time."));
  }
};

/** Whether the end of a run has yet to be recorded. */
export const isOpen = ({ status }: Pick<CheckoutRun, "status">): boolean =>
  status === "RUNNING" || status === "STOPPING";

/** Whether a run may still be in progress. */
export const isActive = (run: Pick<CheckoutRun, "status" | "started_at">, now: Date): boolean =>
  isOpen(run) && now.getTime() - Date.parse(run.started_at) < checkoutLimits.maxRunMs;

/** Returns where a run starts. While it is unknown whether the cart is checked out, that is SUBMIT, which asks the carrier first. */
const firstStep = ({ outcome_unknown }: CheckoutRun) => ({ next: outcome_unknown ? "SUBMIT" : "FORWARD" }) as const;

export const secondsUntil = (time: string, now: Date): number =>
  Math.max(0, Math.ceil((Date.parse(time) - now.getTime()) / 1000));

/** Returns the new lock, or undefined if another run was faster. */
const lock = async ({ order_id, run }: RunRef, last: CheckoutRun | undefined, now: Date) => {
  // Meanwhile, an operator may settle the outcome, or a late copy of a step record a refusal, so the lock is conditional on these.
  const { outcome_unknown = false, checked_out = false, cart = newCart(), key = "" } = last ?? {};
  const locked: CheckoutRun = {
    run,
    attempt: (last?.attempt ?? 0) + 1,
    earlier_runs: last ? [last.run, ...last.earlier_runs].slice(0, checkoutLimits.earlierRuns) : [],
    status: "RUNNING",
    started_at: now.toISOString(),
    calls_end_by: last && last.calls_end_by > now.toISOString() ? last.calls_end_by : now.toISOString(),
    ended_at: null,
    reason: null,
    failure: null,
    outcome_unknown,
    cart,
    key,
    sealed: false,
    accepted: null,
    checked_out,
    waits: 0,
    last_answer: null,
    next_try_at: null,
  };
  const unchanged = last && { run: last.run, status: last.status, outcome_unknown, checked_out, key };
  const when = unchanged ? { equals: unchanged } : { exists: false };
  const open: Write = { put: { ...keys.openCheckout(order_id), id: order_id } };
  const order: Write = { check: keys.order(order_id), when: whileItLasts };
  const unmet = await transact({ run: { update: keys.checkout(order_id), set: locked, when }, order, open });
  return unmet ? undefined : locked;
};

/** Updates a run if it is as expected, and records the event, if any. Returns false if the run has changed or lost its lock. */
export const updateRun = async (
  { order_id, run }: RunRef,
  set: Partial<CheckoutRun>,
  expected: Partial<CheckoutRun>,
  event?: Write,
): Promise<boolean> => {
  const when = { equals: { run, ...expected } };
  const unmet = await transactOrUpdate({ run: { update: keys.checkout(order_id), set, when }, event });
  return !unmet;
};

export const originOf = ({ run }: RunRef, now: Date): Origin => ({
  now,
  actor: { type: "checkout", id: run },
  request_id: null,
});

export const recordEnd = async (
  type: EventType & `order.${string}`,
  ref: RunRef,
  { reason, failure }: Pick<CheckoutRun, "reason" | "failure">,
  now: Date,
): Promise<Write> => {
  const { id, account } = parseItem(Order, await get(keys.order(ref.order_id)));
  const change = { type, account, resource: { type: "order", id, version: null }, failure };
  return recordOf({ ...change, ...(reason !== null && { evidence: { reason } }) }, originOf(ref, now));
};

/** Puts a reason, if there is one, as a sentence before another sentence. */
export const withSentence = (reason: string | null, sentence: string): string =>
  reason === null ? sentence : `${reason.replace(/[^.!?]$/, "$&.")} ${sentence}`;

export const startAgain = "Start the checkout again once the carrier is available.";

export const keepsChanging = "The order's attachments keep changing: try again later.";

/** Why a run waits without having called the carrier. */
export const earlierCall = "an earlier call may be in progress";

export const unknownCart = "It is unknown whether the cart is checked out.";

/** Returns a run's reason. While the outcome is unknown, adds how it becomes known. */
const withDoubt = (reason: string, { outcome_unknown, checked_out, calls_end_by }: CheckoutRun, now: Date): string => {
  if (!outcome_unknown || reason.includes(unknownCart)) return reason;
  if (checked_out)
    return withSentence(reason, "The carrier has checked the cart out. The next run completes the order.");
  const when = secondsUntil(calls_end_by, now) > 0 ? `, after ${calls_end_by}` : "";
  const next = `${unknownCart} The next run asks the carrier first${when}. If it cannot say, ask its support and record the outcome with order settle.`;
  return withSentence(reason, next);
};

/** The state of a run that forwards. Late copies of that step must not change a run once its cart checkout has been requested. */
export const forwarding = { status: "RUNNING", outcome_unknown: false } as const;

/** Makes a run that forwards fail. Its other steps then stop. Only the first reason is stored. */
export const stopRun = async (ref: RunRef, failure: FailureKind, reason: string, set: Partial<CheckoutRun> = {}) => {
  await updateRun(ref, { ...set, status: "STOPPING", reason, failure, next_try_at: null }, forwarding);
};

type Failed = Partial<CheckoutRun> & Pick<CheckoutRun, "failure">;

/** Ends a run that has not checked the order out. Returns false if the run has changed since it was read. */
const endRun = async (order_id: string, last: CheckoutRun, reason: string, failed: Failed, now: Date) => {
  const { run, status, outcome_unknown, checked_out } = last;
  const ended = { ...failed, reason: withDoubt(reason, last, now), ended_at: now.toISOString() };
  const event = await recordEnd("order.checkout_failed", { order_id, run }, ended, now);
  return updateRun({ order_id, run }, ended, { status, outcome_unknown, checked_out }, event);
};

/** Releases the lock of a run whose execution has ended without a result. Call it only if that is certain. */
export const markCrashed = (order_id: string, last: CheckoutRun, now: Date): Promise<boolean> =>
  endRun(order_id, last, withSentence(last.reason, withoutResult), { status: "CRASHED", failure: "fault" }, now);

/** The result of a failed run, for the log and for callers that may only start executions. */
export type Failure = RunRef & { readonly kind: FailureKind; readonly cause: string };

const causes: Readonly<Record<FailureKind, string>> = {
  refused: "The carrier or the malware scan has refused an attachment or the cart: see the order.",
  fault: "The checkout could not be completed: see the order.",
};

/**
 * Ends a failed run. Records the reason and releases the lock. A seal stays, because the carrier may have checked the cart out with
 * exactly the files that were sealed.
 */
export const failRun = async (ref: RunRef, defaultReason: string, now: Date): Promise<Failure> => {
  for (let attempt = 1; ; attempt += 1) {
    const last = await readRun(ref.order_id);
    // The run has never begun, or another run has begun since.
    if (last?.run !== ref.run) return { ...ref, kind: "fault", cause: defaultReason };
    const kind = last.failure ?? "fault";
    const failure = { ...ref, kind, cause: causes[kind] };
    if (!isOpen(last)) return failure;
    const failed = { status: "FAILED", failure: kind, ...nothingToRetry } as const;
    if (await endRun(ref.order_id, last, last.reason ?? defaultReason, failed, now)) return failure;
    await backOff(attempt, new Error("The run has changed each time."));
  }
};

export const nothingToRetry = { last_answer: null, next_try_at: null };
