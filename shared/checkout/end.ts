import { LostLock } from "../errors.ts";
import { keys, type ParentRef } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { forwardableRequests } from "../tenants/orders.ts";
import { askUpstream, checkOutUpstream } from "./carrier.ts";
import { describeRefusal, type Refusal, type Unavailable } from "./carrier-client.ts";
import { doubt, readRun, recordEnd, updateRun, withSentence } from "./checkout-run.ts";
import { CheckoutRun, type RunRef, type Seal, Sealed } from "./checkout-schema.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { checkoutLimits, lateMs, longestCallMs, pauseSeconds } from "./limits.ts";
import { leftBehind } from "./plan.ts";
import { liftSeal } from "./seal.ts";

export type Submitted = RunRef & {
  /** OPEN: the carrier has not checked the cart out, and there is more to forward. */
  readonly outcome: "CHECKED_OUT" | "OPEN" | "WAIT" | "FAILED";
  readonly consecutive_waits: number;
  readonly wait_seconds: number;
  /** Why executions of version 1.0 fail, which do not know OPEN. */
  readonly reason?: string;
};

/**
 * Checks out the upstream cart, which this run has sealed. Where an earlier run has left open whether it is checked out, asks the
 * carrier first, once no call of that run can be in progress. Of two copies of this step, the one that has last changed
 * `calls_end_by` writes what it has found out.
 */
export const submitCart = async (ref: RunRef, consecutive_waits: number, now: Date): Promise<Submitted> => {
  const [runItem, orderItem] = await getMany([keys.checkout(ref.order_id), keys.order(ref.order_id)]);
  const before = runItem && parseItem(CheckoutRun, runItem);
  const { seal } = orderItem ? parseItem(Sealed, orderItem) : {};
  const submission = { ref, consecutive_waits, seal, now };
  if (before?.run !== ref.run || before.status !== "RUNNING") return ended(submission, "FAILED");
  return seal?.run === ref.run ? callCheckout(submission, before) : ask(submission, before);
};

type Submission = {
  readonly ref: RunRef;
  readonly consecutive_waits: number;
  readonly seal: Seal | undefined;
  readonly now: Date;
};

const ended = ({ ref, consecutive_waits }: Submission, outcome: Submitted["outcome"], wait_seconds = 0): Submitted => ({
  ...ref,
  outcome,
  consecutive_waits,
  wait_seconds,
});

/** Continues a run after a checkout of the cart whose outcome is unknown. If the carrier cannot say, that call is repeated. */
const ask = async (submission: Submission, before: CheckoutRun): Promise<Submitted> => {
  const { ref, seal, now } = submission;
  if (!before.outcome_unknown) return reopen(submission, before);
  const wait = secondsUntil(before.calls_end_by, now);
  if (wait > 0) {
    const waiting = { last_answer: "an earlier call may be in progress", next_try_at: before.calls_end_by };
    await updateRun(ref, waiting, { status: "RUNNING" });
    return ended(submission, "WAIT", wait);
  }
  const cart = await askUpstream(ref.order_id);
  if (cart.kind === "unavailable") {
    const failure = "The carrier did not say for too long whether the cart is checked out";
    return postpone(submission, { ...cart, failure }, before, { outcome_unknown: true });
  }
  if (cart.checkedOut) return ended(submission, "CHECKED_OUT");
  return cart.checkedOut === null && seal ? callCheckout(submission, before) : reopen(submission, before);
};

const secondsUntil = (time: string, now: Date) => Math.ceil((Date.parse(time) - now.getTime()) / 1000);

/** Lifts the order's seal: without it, no copy of this step checks the cart out, and the seals of its requests mean nothing. */
const reopen = async (submission: Submission, before: CheckoutRun): Promise<Submitted> => {
  const { ref, seal, now } = submission;
  const { run, calls_end_by } = before;
  const settled = { outcome_unknown: false, calls_end_by: later(now, calls_end_by, 0), ...nothingToRetry };
  const failed = await transact({
    run: {
      update: keys.checkout(ref.order_id),
      set: { ...settled, consecutive_waits: 0 },
      when: { equals: { run, status: "RUNNING", calls_end_by } },
    },
    order: seal && { update: keys.order(ref.order_id), remove: ["seal"], when: { equals: { seal } } },
  });
  if (failed.size > 0) return ended(submission, "FAILED");
  const reason = "The carrier has not checked the cart out: start the checkout again.";
  return { ...ended(submission, "OPEN"), reason };
};

/** Requests the checkout of the cart. Records the call first, until its outcome is known. */
const callCheckout = async (submission: Submission, before: CheckoutRun): Promise<Submitted> => {
  const { ref } = submission;
  const endsBy = Date.now() + longestCallMs(0);
  const calls_end_by = later(new Date(), before.calls_end_by, checkoutLimits.graceSeconds * 1000);
  const announced = { outcome_unknown: true, calls_end_by };
  if (!(await updateRun(ref, announced, { status: "RUNNING", calls_end_by: before.calls_end_by })))
    return ended(submission, "FAILED");
  const response = await checkOutUpstream(ref.order_id, endsBy);
  const now = new Date();
  // The same call of another copy of this step, or of one that was killed, may still be in flight.
  const isOver = response.kind === "done" || !response.mayBeInProgress;
  const returned = { calls_end_by: later(now, before.calls_end_by, isOver ? 0 : lateMs(0)) };
  if (response.kind === "done") {
    await updateRun(ref, returned, { status: "RUNNING", calls_end_by });
    return ended(submission, "CHECKED_OUT");
  }
  const mayHaveActed = before.outcome_unknown || response.mayHaveActed;
  if (response.kind === "unavailable") {
    const failure = "The carrier was unavailable for too long to check the cart out";
    const outcome = { ...returned, outcome_unknown: mayHaveActed };
    return postpone(submission, { ...response, failure }, { calls_end_by }, outcome);
  }
  const mayBeInFlight = Date.parse(returned.calls_end_by) > now.getTime();
  const outcome_unknown = mayBeInFlight || !saysOpen(response, mayHaveActed);
  const reason = `The carrier refused to check the cart out: ${describeRefusal(response)}`;
  return stop(submission, reason, { calls_end_by }, { ...returned, outcome_unknown });
};

/**
 * Whether a refusal says that the cart is not checked out. The carrier's own words do: a 422, or a reason for the customer. Any
 * other 4xx may be a proxy's, and says so only if no call before it may have acted. A redirect never does.
 */
const saysOpen = ({ status, reason }: Refusal, mayHaveActed: boolean): boolean =>
  status !== null && status >= 400 && (status === 422 || reason !== null || !mayHaveActed);

/** A time that is `ms` after now, and later than one before. */
const later = (now: Date, before: string, ms: number) =>
  new Date(Math.max(now.getTime() + ms, Date.parse(before) + 1)).toISOString();

type Announced = Pick<CheckoutRun, "calls_end_by">;

const stop = async (
  submission: Submission,
  reason: string,
  { calls_end_by }: Announced,
  outcome: Partial<CheckoutRun>,
): Promise<Submitted> => {
  const stopping = { ...outcome, status: "STOPPING", reason, next_try_at: null } as const;
  await updateRun(submission.ref, stopping, { status: "RUNNING", calls_end_by });
  return ended(submission, "FAILED");
};

type Postponed = Pick<Unavailable, "reason" | "wait_seconds"> & { readonly failure: string };

/** Waits for the carrier, or ends the run with `failure` if that has taken too long. */
const postpone = async (
  submission: Submission,
  { reason, failure, ...response }: Postponed,
  { calls_end_by }: Announced,
  outcome: Partial<CheckoutRun>,
): Promise<Submitted> => {
  const { ref, consecutive_waits } = submission;
  if (consecutive_waits >= checkoutLimits.consecutiveWaits)
    return stop(submission, `${failure}: ${reason}.`, { calls_end_by }, outcome);
  const wait_seconds = pauseSeconds(consecutive_waits, response.wait_seconds, Math.random);
  const next_try_at = new Date(Date.now() + wait_seconds * 1000).toISOString();
  const waiting = { consecutive_waits: consecutive_waits + 1, last_answer: reason, next_try_at };
  await updateRun(ref, { ...outcome, ...waiting }, { status: "RUNNING", calls_end_by });
  return ended({ ...submission, consecutive_waits: waiting.consecutive_waits }, "WAIT", wait_seconds);
};

const nothingToRetry = { last_answer: null, next_try_at: null };

/** Checks out the order, and thereby its requests. Returns what came too late for the carrier, or null. Safe to repeat. */
export const finishRun = async (ref: RunRef, now: Date): Promise<string | null> => {
  const { order_id, run } = ref;
  const reason = describeLeftBehind(await leftBehind(order_id));
  const ended_at = now.toISOString();
  const succeeded = { status: "SUCCEEDED", outcome_unknown: false, ended_at, reason, ...nothingToRetry };
  const failed = await transact({
    order: { update: keys.order(order_id), set: { state: "CHECKED_OUT" }, when: { equals: { state: "CART" } } },
    run: { update: keys.checkout(order_id), set: succeeded, when: { equals: { run, status: "RUNNING" } } },
    open: { delete: keys.openCheckout(order_id) },
    event: await recordEnd("order.checked_out", ref, reason, now),
  });
  if (failed.size === 0) return reason;
  const last = await readRun(order_id);
  if (!(last?.run === run && last.status === "SUCCEEDED")) throw new LostLock(`The run ${run} has lost its lock.`);
  return last.reason;
};

const describeLeftBehind = ({ not_forwarded, not_withdrawn }: Awaited<ReturnType<typeof leftBehind>>) => {
  const parts = [
    not_forwarded > 0 && `${not_forwarded} added or changed and not forwarded`,
    not_withdrawn > 0 && `${not_withdrawn} deleted and not withdrawn`,
  ].filter(Boolean);
  return parts.length > 0 ? `Attachments that came too late for the carrier: ${parts.join(", ")}.` : null;
};

/**
 * Ends a failed run: lifts its seals, records the reason and releases the lock. The seals stay if it is unknown whether the
 * carrier has checked the cart out, because it may have done so with exactly the files that were sealed.
 */
export const failRun = async (ref: RunRef, defaultReason: string, now: Date): Promise<{ readonly reason: string }> => {
  // From now on, no late copy of a step seals anything for this run.
  await updateRun(ref, { status: "STOPPING", reason: defaultReason, next_try_at: null }, { status: "RUNNING" });
  const last = await readRun(ref.order_id);
  if (last?.run !== ref.run) return { reason: defaultReason };
  const reason = last.reason ?? defaultReason;
  if (last.status !== "STOPPING") return { reason };
  if (!last.outcome_unknown) await liftSeals(ref.order_id, [last.run, ...last.earlier_runs]);
  const told = last.outcome_unknown ? withSentence(reason, doubt) : reason;
  const failed = { status: "FAILED", reason: told, ended_at: now.toISOString(), ...nothingToRetry } as const;
  const event = await recordEnd("order.checkout_failed", ref, failed.reason, now);
  await updateRun(ref, failed, { status: "STOPPING" }, event);
  return { reason: failed.reason };
};

/** Lifts the seals of a run, and those that crashed runs before it have left. */
export const liftSeals = async (order: string, runs: readonly string[]) => {
  const requests = (await forwardableRequests(order)).map((id): ParentRef => ({ type: "request", id }));
  const parents = [{ type: "order", id: order } as const, ...requests];
  await forEachConcurrently(checkoutLimits.concurrency, parents, (parent) => liftSeal(parent, runs));
};
