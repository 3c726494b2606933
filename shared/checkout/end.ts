import { keys, type ParentRef } from "../table/keys.ts";
import { transact } from "../table/write.ts";
import { checkOutUpstream } from "./carrier.ts";
import { describeRefusal, type Outcome } from "./carrier-client.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { checkoutLimits, pauseSeconds } from "./limits.ts";
import { forwardedRequests } from "./plan.ts";
import { readRun, recordEnd, stopRun, updateRun } from "./run.ts";
import type { RunRef } from "./schema.ts";
import { liftSeal } from "./seal.ts";

export type Submitted = RunRef & {
  readonly outcome: "CHECKED_OUT" | "WAIT" | "FAILED";
  readonly consecutive_waits: number;
  readonly wait_seconds: number;
};

/**
 * Checks out the upstream cart. Records the call first, until its outcome is known. A run that finds such a record repeats
 * the call before anything else, with the same key.
 */
export const submitCart = async (ref: RunRef, consecutive_waits: number, now: Date): Promise<Submitted> => {
  const ended = (outcome: "CHECKED_OUT" | "FAILED") => ({ ...ref, outcome, consecutive_waits, wait_seconds: 0 });
  const before = await readRun(ref.order_id);
  const inFlightUntil = new Date(now.getTime() + checkoutLimits.graceSeconds * 1000).toISOString();
  if (!before || !(await updateRun(ref, { outcome_unknown: true, calls_end_by: inFlightUntil })))
    return ended("FAILED");
  const response = await checkOutUpstream(ref.order_id);
  if (response.kind === "done") return ended("CHECKED_OUT");
  // The same call of another copy of this step, or of one that was killed, may still be in flight.
  const outcome = {
    outcome_unknown: isStillUnknown(response, before.outcome_unknown),
    calls_end_by: before.calls_end_by,
  };
  if (response.kind === "refused") {
    await stopRun(ref, `The carrier refused to check the cart out: ${describeRefusal(response)}`, outcome);
    return ended("FAILED");
  }
  if (consecutive_waits >= checkoutLimits.consecutiveWaits) {
    await stopRun(ref, `The carrier was unavailable for too long to check the cart out: ${response.reason}.`, outcome);
    return ended("FAILED");
  }
  const wait_seconds = pauseSeconds(consecutive_waits, response.wait_seconds, Math.random);
  const next_try_at = new Date(Date.now() + wait_seconds * 1000).toISOString();
  await updateRun(ref, {
    ...outcome,
    consecutive_waits: consecutive_waits + 1,
    last_answer: response.reason,
    next_try_at,
  });
  return { ...ref, outcome: "WAIT", consecutive_waits: consecutive_waits + 1, wait_seconds };
};

/** Refusals because of the token or the address: the carrier has not processed the call. */
const leavesCartAlone = (status: number | null) => status === null || [401, 403, 407].includes(status);

/** Whether it is unknown if the cart is checked out. */
export const isStillUnknown = (response: Exclude<Outcome, { kind: "done" }>, unknownBefore: boolean): boolean => {
  if (response.kind === "refused" && !leavesCartAlone(response.status)) return false;
  return unknownBefore || response.mayHaveActed;
};

const nothingToRetry = { last_answer: null, next_try_at: null };

/** Sets the state of the order, and thereby of its requests, to CHECKED_OUT. Safe to repeat. */
export const finishRun = async (ref: RunRef, now: Date): Promise<void> => {
  const { order_id, run } = ref;
  const succeeded = { status: "SUCCEEDED", outcome_unknown: false, ended_at: now.toISOString(), ...nothingToRetry };
  const failed = await transact({
    order: { update: keys.order(order_id), set: { state: "CHECKED_OUT" }, when: { equals: { state: "CART" } } },
    run: { update: keys.checkout(order_id), set: succeeded, when: { equals: { run, status: "RUNNING" } } },
    event: await recordEnd("order.checked_out", ref, now),
  });
  if (failed.size === 0) return;
  const last = await readRun(order_id);
  if (!(last?.run === run && last.status === "SUCCEEDED")) throw new Error(`The run ${run} has lost its lock.`);
};

/**
 * Ends a failed run: lifts its seals, records the reason and releases the lock. The seals stay if it is unknown whether the
 * carrier has checked the cart out, because it may have done so with exactly the files that were sealed.
 */
export const failRun = async (ref: RunRef, defaultReason: string, now: Date): Promise<{ readonly reason: string }> => {
  // From now on, no late copy of a step seals anything for this run.
  await stopRun(ref, defaultReason);
  const last = await readRun(ref.order_id);
  if (last?.run !== ref.run) return { reason: defaultReason };
  const reason = last.reason ?? defaultReason;
  if (last.status !== "STOPPING") return { reason };
  if (!last.outcome_unknown) await liftSeals(ref.order_id, [last.run, ...last.earlier_runs]);
  const doubt = last.outcome_unknown
    ? " Whether the cart is checked out is not known: the next run asks that first."
    : "";
  const failed = { status: "FAILED", reason: reason + doubt, ended_at: now.toISOString(), ...nothingToRetry } as const;
  await updateRun(ref, failed, "STOPPING", await recordEnd("order.checkout_failed", ref, now));
  return { reason: failed.reason };
};

/** Lifts the seals of a run, and those that crashed runs before it have left. */
const liftSeals = async (order: string, runs: readonly string[]) => {
  const requests = (await forwardedRequests(order)).map((id): ParentRef => ({ type: "request", id }));
  const parents = [{ type: "order", id: order } as const, ...requests];
  await forEachConcurrently(checkoutLimits.concurrency, parents, (parent) => liftSeal(parent, runs));
};
