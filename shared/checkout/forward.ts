import { forEachConcurrently } from "../for-each-concurrently.ts";
import { keys } from "../table/keys.ts";
import { get, parseItem } from "../table/read.ts";
import { forwardableRequests } from "../tenants/orders.ts";
import { Order } from "../tenants/tenant-schema.ts";
import { forwarding, keepsChanging, nothingToRetry, readRun, stopRun, updateRun } from "./checkout-run.ts";
import { type CheckoutRun, isHere, newCart, type RunRef, type State, type StepResult } from "./checkout-schema.ts";
import { type Done, forwardOne, withdrawOne } from "./forward-attachment.ts";
import { checkoutLimits, hasWaitedTooLong, pauseSeconds } from "./limits.ts";
import { attachmentsOf, planOf } from "./plan.ts";

/**
 * Forwards the attachments of an order that the carrier lacks, and withdraws deleted ones, until time is up. Reads the order's
 * version first, so everything that is compared with the receipts is at least as new.
 */
export const forwardOrder = async ({ run, ...state }: State & RunRef): Promise<StepResult> => {
  const ref = { order_id: state.order_id, run };
  const read_at = new Date().toISOString();
  const until = Date.now() + checkoutLimits.workMs;
  const [item, before] = await Promise.all([get(keys.order(ref.order_id)), readRun(ref.order_id)]);
  const order = parseItem(Order, item);
  const cart = before && (await cartOf(ref, before));
  if (!cart) return { ...state, next: "FAIL" };
  const { progress, ending } = await forwardAll(ref, order, cart, until);
  if (progress && state.waits > 0) await updateRun(ref, nothingToRetry, forwarding);
  const { attachments_version: version, receipts_version = null } = order;
  const after = { ...state, passes_left: state.passes_left - 1, version, read_at, receipts_version, cart };
  return resultOf(ref, after, ending, { progress, started_at: before.started_at });
};

/**
 * Returns the order's cart at the carrier of this deployment. If the order went to another carrier so far, draws a new cart. So nothing
 * of the order counts as forwarded, whatever an earlier carrier or this one has had of it. Returns undefined if the run has moved on.
 */
const cartOf = async (ref: RunRef, { cart }: CheckoutRun): Promise<string | undefined> => {
  if (isHere(cart)) return cart;
  const moved = { cart: newCart() };
  return (await updateRun(ref, moved, { ...forwarding, cart })) ? moved.cart : undefined;
};

/** Why the carrier does not have everything. */
type Ending = Exclude<Done, { kind: "done" }> | { readonly kind: "time" };

const outOfTime = { kind: "time" } as const;

/** One pool of calls for all requests. */
const forwardAll = async (ref: RunRef, order: Order, cart: string, until: number) => {
  let progress = false;
  let ending: Ending | undefined;
  const isOver = () => ending !== undefined && severityOf(ending) >= severityOf(outOfTime);
  await forEachConcurrently(checkoutLimits.concurrency, callsOf(ref, order, cart, isOver), async (call) => {
    if (isOver()) return;
    const result = Date.now() > until ? outOfTime : await call();
    if (result.kind === "done") progress = true;
    else ending = mostSevere(ending, result);
  });
  return { progress, ending };
};

/** Yields the calls that an order needs. Compares some requests at a time, as the pool takes their calls. */
async function* callsOf(
  ref: RunRef,
  order: Order,
  cart: string,
  isOver: () => boolean,
): AsyncGenerator<() => Promise<Done>> {
  const ofOrder = await attachmentsOf({ type: "order", id: order.id });
  const requests = await forwardableRequests(order.id);
  for (let start = 0; start < requests.length && !isOver(); start += checkoutLimits.requestsAtOnce) {
    const some = requests.slice(start, start + checkoutLimits.requestsAtOnce);
    const planned = async (request: string) => ({ request, ...(await planOf(request, ofOrder, cart)) });
    const plans = await Promise.all(some.map(planned));
    for (const { request, account, forward, withdraw } of plans) {
      const target = { ref, request, cart, accounts: { order: order.account, request: account } };
      for (const receipt of withdraw) yield () => withdrawOne(target, receipt);
      for (const planned of forward) yield () => forwardOne(target, planned);
    }
  }
}

/** Returns the more severe of two endings. */
export const mostSevere = (one: Ending | undefined, other: Ending): Ending =>
  one && severityOf(one) >= severityOf(other) ? one : other;

/**
 * The end of the run comes first, then the longer wait, then the end of the time. A file that waits for its scan, or has changed, does
 * not keep the others back.
 */
const severityOf = (ending: Ending): number => {
  if (ending.kind === "wait") return ending.unscanned ? -2 : ending.wait_seconds;
  return { stop: Number.POSITIVE_INFINITY, time: -1, changed: -3 }[ending.kind];
};

const tooMuch = {
  time: "The order has more attachments than one run can forward: start the checkout again.",
  changed: keepsChanging,
};

const resultOf = async (
  ref: RunRef,
  state: State,
  ending: Ending | undefined,
  { progress, started_at }: { readonly progress: boolean; readonly started_at: string },
): Promise<StepResult> => {
  if (ending === undefined) return { ...state, next: "SUBMIT" };
  if (ending.kind === "stop") return { ...state, next: "FAIL" };
  const rounds = ending.kind === "changed" ? state.rounds + 1 : state.rounds;
  const hasWaited = ending.kind === "wait" && hasWaitedTooLong(progress ? 0 : state.waits, started_at);
  const isLast = state.passes_left <= 0 || hasWaited;
  // As in `submit`, the first changes need no pass.
  if (isLast && !(rounds > state.rounds && rounds <= checkoutLimits.rounds)) {
    await stopRun(ref, "fault", ending.kind === "wait" ? ending.reason : tooMuch[ending.kind]);
    return { ...state, next: "FAIL" };
  }
  if (ending.kind !== "wait") return { ...state, rounds, next: "FORWARD" };
  const wait_seconds = pauseSeconds(state.waits, ending.wait_seconds, Math.random);
  const waits = state.waits + (progress ? 0 : 1);
  const next_try_at = new Date(Date.now() + wait_seconds * 1000).toISOString();
  const waiting = { last_answer: ending.last_answer, next_try_at };
  if (!(await updateRun(ref, { waits, ...waiting }, forwarding))) return { ...state, next: "FAIL" };
  return { ...state, waits, next: "WAIT_TO_FORWARD", wait_seconds };
};
