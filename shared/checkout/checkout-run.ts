import type { EventType } from "../history/event.ts";
import { type Origin, recordOf } from "../history/record.ts";
import { noId } from "../schema/fields.ts";
import { backOff } from "../table/client.ts";
import type { Write } from "../table/expressions.ts";
import { keys } from "../table/keys.ts";
import { get, parseItem, readItem } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { Order } from "../tenants/tenant-schema.ts";
import { CheckoutRun, type RunRef, type Seal, Sealed } from "./checkout-schema.ts";
import { checkoutLimits } from "./limits.ts";

export const readRun = (orderId: string): Promise<CheckoutRun | undefined> =>
  readItem(CheckoutRun, keys.checkout(orderId));

export type Start =
  | { readonly next: "PAGINATE"; readonly wait_seconds: number }
  | { readonly next: "SUBMIT" }
  | { readonly next: "END" }
  | { readonly next: "ALREADY_RUNNING" | "FAIL"; readonly reason: string };

/**
 * Locks the order until the run ends, and returns where the run starts. Safe to repeat, also after the run
 * has ended. Takes over the lock of a crashed run, and then waits until calls that it may have left in flight have ended.
 */
export const startRun = async (ref: RunRef, now: Date): Promise<Start> => {
  const { order_id, run } = ref;
  if (order_id === noId) return { next: "FAIL", reason: "The order_id is not a ULID." };
  for (let attempt = 1; ; attempt += 1) {
    // The run first: what checks the order out changes the run, too, so the lock then fails.
    const last = await readRun(order_id);
    const orderItem = await get(keys.order(order_id));
    if (!orderItem) return { next: "FAIL", reason: `There is no order ${order_id}.` };
    if (parseItem(Order, orderItem).state === "CHECKED_OUT") return { next: "END" };
    if (last && isActive(last, now)) {
      if (last.run === run) return firstStep(last, now);
      return { next: "ALREADY_RUNNING", reason: `The run ${last.run} is checking this order out.` };
    }
    if (last && [last.run, ...last.earlier_runs].includes(run))
      return { next: "FAIL", reason: `The run ${run} has ended.` };
    const locked = await lock(ref, last, parseItem(Sealed, orderItem).seal, now);
    if (locked) return firstStep(locked, now);
    await backOff(attempt, new Error("Another run was faster each time."));
  }
};

/** Whether nobody has recorded yet how a run has ended. */
export const isOpen = ({ status }: Pick<CheckoutRun, "status">): boolean =>
  status === "RUNNING" || status === "STOPPING";

/** Whether a run may still be in progress. */
export const isActive = (run: Pick<CheckoutRun, "status" | "started_at">, now: Date): boolean =>
  isOpen(run) && now.getTime() - Date.parse(run.started_at) < checkoutLimits.longestRunMs;

/** After an upstream checkout with an unknown outcome, the carrier is asked first: it may have completed it. */
const firstStep = ({ outcome_unknown, calls_end_by }: CheckoutRun, now: Date): Start =>
  outcome_unknown
    ? { next: "SUBMIT" }
    : { next: "PAGINATE", wait_seconds: Math.max(0, Math.ceil((Date.parse(calls_end_by) - now.getTime()) / 1000)) };

/** Returns the new lock, or undefined if another run was faster. */
const lock = async (
  { order_id, run }: RunRef,
  last: CheckoutRun | undefined,
  seal: Seal | undefined,
  now: Date,
): Promise<CheckoutRun | undefined> => {
  // An operator may settle it meanwhile.
  const outcome_unknown = last?.outcome_unknown ?? false;
  const endedProperly = !last || last.status === "FAILED" || last.status === "SUCCEEDED";
  const callsEndBy = new Date(now.getTime() + (endedProperly ? 0 : checkoutLimits.graceSeconds * 1000)).toISOString();
  const locked: CheckoutRun = {
    run,
    attempt: (last?.attempt ?? 0) + 1,
    earlier_runs: last ? [last.run, ...last.earlier_runs].slice(0, checkoutLimits.earlierRuns) : [],
    status: "RUNNING",
    started_at: now.toISOString(),
    calls_end_by: last && last.calls_end_by > callsEndBy ? last.calls_end_by : callsEndBy,
    ended_at: null,
    reason: null,
    outcome_unknown,
    consecutive_waits: 0,
    last_answer: null,
    next_try_at: null,
  };
  const when = last ? { equals: { run: last.run, status: last.status, outcome_unknown } } : { exists: false };
  // A run that is too old to be in progress has ended without anybody noticing.
  const event =
    last && isOpen(last)
      ? await recordEnd(
          "order.checkout_failed",
          { order_id, run: last.run },
          withSentence(last.reason, withoutResult),
          now,
        )
      : undefined;
  // A crashed run may have left the order's seal. The carrier has what it stands for only until the new run changes something.
  const isStale = seal !== undefined && !locked.outcome_unknown;
  const order = isStale
    ? ({ update: keys.order(order_id), remove: ["seal"], when: { equals: { seal } } } as const)
    : undefined;
  const open: Write = { put: { ...keys.openCheckout(order_id), id: order_id } };
  const failed = await transact({ run: { update: keys.checkout(order_id), set: locked, when }, order, open, event });
  return failed.size === 0 ? locked : undefined;
};

/** Updates a run that is as expected, and records an event if there is one. Returns false if it has changed, or lost its lock. */
export const updateRun = async (
  { order_id, run }: RunRef,
  set: Partial<CheckoutRun>,
  expected: Partial<CheckoutRun>,
  event?: Write,
): Promise<boolean> => {
  const when = { equals: { run, ...expected } };
  const failed = await transact({ run: { update: keys.checkout(order_id), set, when }, event });
  return failed.size === 0;
};

export const originOf = ({ run }: RunRef, now: Date): Origin => ({
  now,
  actor: { type: "checkout", id: run },
  request_id: null,
});

export const recordEnd = async (
  type: EventType & `order.${string}`,
  ref: RunRef,
  reason: string | null,
  now: Date,
): Promise<Write> => {
  const { id, account } = parseItem(Order, await get(keys.order(ref.order_id)));
  const change = { type, account, resource: { type: "order", id, version: null } };
  return recordOf({ ...change, ...(reason !== null && { evidence: { reason } }) }, originOf(ref, now));
};

/** The reason of a run that has crashed. */
export const withoutResult = "The run stopped without reporting a result.";

/** What a run says that ends with an unknown outcome. */
export const doubt = "Whether the cart is checked out is not known: the next run asks that first.";

/** A reason, if there is one, as a sentence before another. */
export const withSentence = (reason: string | null, sentence: string): string =>
  reason === null ? sentence : `${reason.replace(/[^.!?]$/, "$&.")} ${sentence}`;

/** A run that forwards. One whose checkout of the cart was announced is beyond what a late copy of those steps finds out. */
export const forwarding = { status: "RUNNING", outcome_unknown: false } as const;

/** Makes a run that forwards fail. Its other steps then stop. Only the first reason is stored. */
export const stopRun = async (ref: RunRef, reason: string, set: Partial<CheckoutRun> = {}): Promise<void> => {
  await updateRun(ref, { ...set, status: "STOPPING", reason, next_try_at: null }, forwarding);
};

/** Releases the lock of a run whose execution has ended without a result. Call it only if that is certain. */
export const markCrashed = async (order_id: string, last: CheckoutRun, now: Date): Promise<boolean> => {
  const { run, status, outcome_unknown } = last;
  const ref = { order_id, run };
  const crash = withSentence(last.reason, withoutResult);
  const reason = outcome_unknown ? withSentence(crash, doubt) : crash;
  const crashed = { status: "CRASHED", ended_at: now.toISOString(), reason } as const;
  const event = await recordEnd("order.checkout_failed", ref, reason, now);
  return updateRun(ref, crashed, { status }, event);
};
