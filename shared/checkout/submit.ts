import type { Write } from "../table/expressions.ts";
import { keys } from "../table/keys.ts";
import { readItem } from "../table/read.ts";
import { transactOrUpdate } from "../table/update.ts";
import { transact } from "../table/write.ts";
import type { Order } from "../tenants/tenant-schema.ts";
import { askUpstream, type CartAnswer, checkOutUpstream, keyFor } from "./carrier.ts";
import { type CarrierResponse, describeDenial, describeFailure, describeRefusal } from "./carrier-client.ts";
import {
  earlierCall,
  forwarding,
  keepsChanging,
  nothingToRetry,
  readRun,
  recordEnd,
  secondsUntil,
  startAgain,
  unknownCart,
  updateRun,
} from "./checkout-run.ts";
import {
  type CheckoutRun,
  carrierOf,
  isHere,
  type RunRef,
  Sealed,
  type State,
  type StepResult,
} from "./checkout-schema.ts";
import { checkedOut, type LateChanges, lateChanges } from "./late-changes.ts";
import { checkoutLimits, graceMs, hasWaitedTooLong, lateMs, maxCallMs, pauseSeconds } from "./limits.ts";
import {
  correctionsOf,
  correctionWrites,
  manifestOf,
  type OrderReceipts,
  receiptsOfOrder,
  verdictWrites,
} from "./manifest.ts";

type Changes = Partial<CheckoutRun>;

type Submission = {
  readonly ref: RunRef;
  readonly state: State;
  /** The run as this copy of the step has read it. */
  readonly before: CheckoutRun;
  /** The run's `calls_end_by`, unless another copy of the step has called since. */
  readonly announced: string;
  /** What this copy has learnt about the run's calls. It is recorded with the step's result. */
  readonly learnt: Changes;
};

/** Whether it stays unknown whether the cart is checked out. */
const doubt = { outcome_unknown: true };
const noDoubt = { outcome_unknown: false };
/** It is decided that the cart is open. Its next checkout is another call, with another key. */
const decidedOpen = { ...noDoubt, key: "" };

/**
 * Seals the order, checks the carrier's cart out, and then the order. If an earlier run left it unknown whether the cart is checked
 * out, asks the carrier first, once no call of that run can be in progress. Writes that announce a call, record its outcome or lift
 * the seal are conditional on `calls_end_by`, except for a 2xx. So the copy of the step that changed `calls_end_by` last decides,
 * and the others look again.
 */
export const submitOrder = async ({ run, ...state }: State & RunRef): Promise<StepResult> => {
  const ref = { order_id: state.order_id, run };
  const before = await readRun(ref.order_id);
  if (before?.run === run && before.status === "SUCCEEDED") return { ...state, next: "DONE", reason: before.reason };
  if (before?.run !== run || before.status !== "RUNNING") return { ...state, next: "FAIL" };
  const submission = { ref, state, before, announced: before.calls_end_by, learnt: {} };
  if (before.checked_out) return finish(submission);
  if (before.outcome_unknown && !isHere(before.cart)) return stopForOtherCarrier(submission);
  return before.outcome_unknown && (!before.sealed || before.accepted) ? ask(submission) : checkOutCart(submission);
};

/** Only the carrier that was called can say what it has done. */
const stopForOtherCarrier = (submission: Submission) => {
  const reason = `The order was sent to the carrier ${carrierOf(submission.before.cart)}. ${unknownCart} Ask that carrier, and record the outcome with order settle.`;
  return stop(submission, { ...doubt, failure: "fault", reason });
};

/** Forwards again because the order or the carrier has changed. The order's first changes need no pass, which an outage may have used up. */
const forwardAgain = async ({ ref, state }: Submission, rounds: number): Promise<StepResult> => {
  const isFirst = rounds > state.rounds && rounds <= checkoutLimits.rounds;
  if (state.passes_left > 0 || isFirst) return { ...roundOf(state), rounds };
  const reason = keepsChanging;
  await updateRun(ref, { status: "STOPPING", reason, failure: "fault" }, { status: "RUNNING", ...noDoubt });
  return { ...state, next: "FAIL" };
};

const roundOf = (state: State) => ({ ...state, version: null, next: "FORWARD" }) as const;

/** Another copy of this step has changed the run. The step is repeated, and continues from what that copy recorded. */
const lookAgain = ({ state }: Submission): StepResult => {
  const waits = state.waits + 1;
  if (waits > checkoutLimits.waits) return { ...state, next: "FAIL" };
  return { ...state, waits, next: "WAIT_TO_SUBMIT", wait_seconds: 1 };
};

/**
 * Asks whether the carrier has checked out the cart that an earlier run may have sent, or that this one has sent and the carrier has
 * accepted: some place the order later, so an open cart is then asked for again. `said` is what the POST has said. If the carrier
 * cannot say, repeats an earlier run's call for a sealed order.
 */
const ask = async (submission: Submission, said: CheckoutRun["accepted"] = null): Promise<StepResult> => {
  const { ref, state, before } = submission;
  const { calls_end_by } = before;
  const accepted = before.accepted ?? said;
  const secondsLeft = accepted ? 0 : secondsUntil(calls_end_by, new Date());
  if (secondsLeft > 0) {
    const waiting = { last_answer: earlierCall, next_try_at: calls_end_by };
    await updateRun(ref, waiting, { status: "RUNNING", calls_end_by });
    return { ...state, next: "WAIT_TO_SUBMIT", wait_seconds: secondsLeft };
  }
  const answer = await askUpstream(ref.order_id);
  const { cart } = answer;
  if (cart === "checked out" || (cart === "cannot say" && accepted === "unsaid")) return complete(submission);
  if (cart === "later") return postpone(submission, withoutAnswer(answer), { ...doubt, accepted });
  if (accepted) return postpone(submission, notPlaced, { ...doubt, accepted: cart === "open" ? "open" : accepted });
  const isSealed = (await readItem(Sealed, keys.order(ref.order_id)))?.seal !== undefined;
  // With a refusal, some carriers drop the letters that it names, so that call is not repeated.
  if (cart === "cannot say" && isSealed && before.key !== "") return checkOutCart(submission);
  const known = { calls_end_by: later(new Date(), calls_end_by, 0), ...nothingToRetry };
  return conclude(submission, { ...known, ...decidedOpen }, roundOf(state));
};

const notPlaced: Wait = {
  giveUp:
    "The carrier has accepted the checkout of the cart, but for too long says that the cart is not checked out: ask it why.",
  last_answer: "it has accepted the checkout and not completed it",
  wait_seconds: 0,
};

const withoutAnswer = ({ failure, wait_seconds }: Extract<CartAnswer, { cart: "later" }>): Wait => {
  const giveUp = `For too long, the carrier has not confirmed whether the cart is checked out: ${failure}.`;
  return { giveUp, last_answer: failure, wait_seconds };
};

/** Records at once that the carrier has checked the cart out, which is final whatever has happened to the run meanwhile. */
const complete = async (submission: Submission): Promise<StepResult> => {
  await updateRun(submission.ref, { checked_out: true }, doubt);
  return finish(submission);
};

/**
 * Requests the checkout of the cart. Announces the call first. The first announcement also seals the order, in one transaction,
 * which succeeds only if the order has not changed since the carrier got all of it.
 */
const checkOutCart = async (submission: Submission): Promise<StepResult> => {
  const { ref, state, before } = submission;
  const { outcome_unknown, key: earlier } = before;
  const isMoved = state.cart !== before.cart || !isHere(before.cart);
  if (!outcome_unknown && isMoved) return forwardAgain(submission, state.rounds);
  const receipts = await receiptsOfOrder(ref.order_id);
  const endsBy = Date.now() + maxCallMs(0);
  const announced = later(new Date(), before.calls_end_by, graceMs());
  const manifest = manifestOf(receipts, before.cart);
  const key = keyFor(JSON.stringify(manifest), earlier);
  const set = { ...doubt, key, calls_end_by: announced, ...(!outcome_unknown && { sealed: true }) };
  const seal = { run: ref.run, version: state.version, at: new Date().toISOString() };
  const isUnchanged = !isSealedAsRead(state) && { attachments_version: state.version };
  const when = { exists: true, equals: { ...isUnchanged, receipts_version: state.receipts_version ?? undefined } };
  const undecided = { ...asKnown(submission), outcome_unknown, key: earlier };
  const unmet = await transactOrUpdate({
    run: { update: keys.checkout(ref.order_id), set, when: { equals: undecided } },
    order: outcome_unknown ? undefined : { update: keys.order(ref.order_id), set: { seal }, when },
  });
  if (unmet?.has("run")) return lookAgain(submission);
  if (unmet) return forwardAgain(submission, state.rounds + 1);
  const sentAt = Date.now();
  const response = await checkOutUpstream(ref.order_id, manifest, key, endsBy);
  const calls_end_by = later(new Date(), before.calls_end_by, response.mayStillAct ? lateMs(0) : 0);
  return recordResponse({ ...submission, announced, learnt: { calls_end_by }, receipts, response }, sentAt);
};

/**
 * If a customer keeps changing a letter, the order is always newer than what the carrier has in full. After some rounds, it is sealed at
 * the version that the carrier has, unless the run has read that long ago. What came since counts as late.
 */
const isSealedAsRead = ({ rounds, read_at }: State): boolean =>
  rounds >= checkoutLimits.rounds && Date.now() - Date.parse(read_at ?? "") < checkoutLimits.workMs;

/** The run, while it is not known to be checked out and no other copy of this step has called since. */
const asKnown = ({ ref, before: { cart }, announced }: Submission) =>
  ({ run: ref.run, status: "RUNNING", checked_out: false, cart, calls_end_by: announced }) as const;

type Sent = Submission & { readonly receipts: OrderReceipts; readonly response: CarrierResponse };

/** Records what the response to the checkout of the cart settles. See carrier-responses.ts. */
const recordResponse = async (sent: Sent, sentAt: number): Promise<StepResult> => {
  const { before, response } = sent;
  const { settles } = response;
  if (settles === "done") return complete(sent);
  if (settles === "accepted") return ask(sent, Object(response.json).checked_out === false ? "open" : "unsaid");
  const outcome_unknown = before.outcome_unknown || response.mayHaveActed;
  // The same call of another copy of this step, or of one that was killed, may still be in flight. Without a doubt, there is none, although
  // another function's clock may be ahead.
  const isInFlight = response.mayStillAct || (before.outcome_unknown && Date.parse(before.calls_end_by) > sentAt);
  if (settles === "nothing" || isInFlight) {
    if (settles === "refused" && (await recordVerdicts(sent)) === undefined) return lookAgain(sent);
    const last_answer = describeFailure(response);
    const giveUp = `The carrier gave no usable response for too long to check the cart out: ${last_answer}. ${startAgain}`;
    const inFlight = secondsUntil(sent.learnt.calls_end_by ?? "", new Date());
    const wait_seconds = settles === "nothing" ? response.wait_seconds : inFlight;
    return postpone(sent, { giveUp, last_answer, wait_seconds }, { outcome_unknown });
  }
  if (settles === "differs") return correctReceipts(sent);
  if (settles === "conflict") return decideConflict(sent);
  if (settles === "refused") return stopRefused(sent);
  const reason = `The carrier did not check the cart out: ${describeDenial(response)}`;
  return stop(sent, { outcome_unknown, failure: "fault", reason });
};

/** Takes what the carrier says that its cart has for true, and forwards again what differs. */
const correctReceipts = async (sent: Sent): Promise<StepResult> => {
  const { ref, state, receipts, response } = sent;
  const corrections = correctionsOf(receipts, response.json, sent.before.cart);
  if (corrections.length === 0 || state.corrections_left <= 0) {
    const often = corrections.length > 0 ? `, after ${checkoutLimits.corrections} corrections` : "";
    const reason = `The carrier's cart differs from what it has confirmed${often}: ${describeRefusal(response)}. Ask the carrier what its cart has, then start the checkout again.`;
    return stop(sent, { ...decidedOpen, failure: "fault", reason });
  }
  const [first = {}, ...rest] = correctionWrites(corrections);
  const next = { ...roundOf(state), corrections_left: state.corrections_left - 1 };
  const result = await conclude(sent, decidedOpen, next, { ...first, order: moved(ref) });
  if (result.next !== "FORWARD") return result;
  for (const some of rest) {
    const still = { equals: { run: ref.run, ...forwarding } };
    const run = { update: keys.checkout(ref.order_id), set: forwarding, when: still };
    // If a copy of this step has gone on meanwhile, the carrier will say again what it lacks.
    if (await transact({ ...some, run, order: moved(ref) })) break;
  }
  return result;
};

/** The version of the receipts moves with them, so that no copy of a step seals the order by what they have said before. */
const moved = ({ order_id }: RunRef) =>
  ({ update: keys.order(order_id), add: { receipts_version: 1 }, when: { exists: true } }) as const;

/**
 * Records the verdicts on letters that a refusal contains, so that these are sent again before the cart's next checkout. No copy of this
 * step, and no later run, can repeat the call then, or seal the order without such a letter. They move the order's version, too: if another
 * copy's call is on its way, the letter counts as late, and if that has checked the order out, it is listed here. Returns how many
 * transactions that took, or undefined if a letter has been sent again or refused since.
 */
const recordVerdicts = async ({ ref, receipts, response, before: { cart } }: Sent): Promise<number | undefined> => {
  const run = { update: keys.checkout(ref.order_id), set: { sealed: false, key: "" }, when: { equals: { cart } } };
  const add = { attachments_version: 1, receipts_version: 1 };
  const orderIn = (state: Order["state"]) => ({ ...moved(ref), add, when: { equals: { state } } });
  const verdicts = await verdictWrites(ref, receipts, response, cart);
  for (const { decided, late } of verdicts) {
    let unmet = await transact({ ...decided, run, order: orderIn("CART") });
    if (unmet?.size === 1 && unmet.has("order"))
      unmet = await transact({ ...decided, ...late, run, order: orderIn("CHECKED_OUT") });
    if (unmet) return undefined;
  }
  return verdicts.length;
};

/** Ends the run. A refusal without a reason that names no letter of the cart is a fault. */
const stopRefused = async (sent: Sent) => {
  const { response } = sent;
  const verdicts = await recordVerdicts(sent);
  if (verdicts === undefined) return lookAgain(sent);
  const isRefused = verdicts > 0 || response.reason !== null;
  const words = isRefused ? describeRefusal(response) : describeDenial(response);
  const reason = `The carrier refused to check the cart out: ${words}`;
  return stop(sent, { ...decidedOpen, failure: isRefused ? "refused" : "fault", reason });
};

/** A 409 may mean that the cart is checked out, be another conflict, or come from a gateway. The carrier's GET decides, if it can. */
const decideConflict = async (sent: Sent): Promise<StepResult> => {
  const { reason: words, json } = sent.response;
  const answer = await askUpstream(sent.ref.order_id);
  if (answer.cart === "checked out") return complete(sent);
  if (answer.cart === "later") return postpone(sent, withoutAnswer(answer), doubt);
  const outcome_unknown = answer.cart === "cannot say";
  if (outcome_unknown && words === null && json !== undefined) {
    // If another copy has called since, the conflict may be with that call.
    const unchanged = { status: "RUNNING", ...doubt, calls_end_by: sent.announced } as const;
    const isDone = await updateRun(sent.ref, { checked_out: true }, unchanged);
    return isDone ? finish(sent) : lookAgain(sent);
  }
  if (!outcome_unknown && words !== null) return stopRefused(sent);
  const reason = `The carrier refused to check the cart out: ${describeDenial(sent.response)}`;
  return stop(sent, { ...(outcome_unknown ? doubt : decidedOpen), failure: "fault", reason });
};

/** Returns a time that is at least `ms` after now, and later than `before`. */
const later = (now: Date, before: string, ms: number) =>
  new Date(Math.max(now.getTime() + ms, Date.parse(before) + 1)).toISOString();

/** Changes of a run. They say whether it stays unknown whether the cart is checked out. */
type Outcome = Changes & Pick<CheckoutRun, "outcome_unknown">;

/** Records the step's result, and lifts the order's seal unless there is a doubt. If another copy has called since, that copy decides. */
const conclude = async (
  submission: Submission,
  outcome: Outcome,
  next: Partial<State> & Pick<StepResult, "next" | "wait_seconds">,
  also: Readonly<Record<string, Write>> = {},
): Promise<StepResult> => {
  const { ref, state, learnt } = submission;
  const unsealed = !outcome.outcome_unknown && { sealed: false, accepted: null };
  const set = { ...learnt, ...outcome, ...unsealed };
  const lift = { update: keys.order(ref.order_id), remove: ["seal"], when: { exists: true } } as const;
  const unmet = await transactOrUpdate({
    ...also,
    run: { update: keys.checkout(ref.order_id), set, when: { equals: asKnown(submission) } },
    order: unsealed ? { ...lift, ...also.order } : undefined,
  });
  return unmet ? lookAgain(submission) : { ...state, ...next };
};

const stop = (submission: Submission, outcome: Outcome) =>
  conclude(submission, { ...outcome, status: "STOPPING", next_try_at: null }, { next: "FAIL" });

type Wait = { readonly giveUp: string; readonly last_answer: string; readonly wait_seconds: number };

/** Waits for the carrier, or ends the run if that has taken too long. */
const postpone = (submission: Submission, { giveUp, last_answer, ...wait }: Wait, outcome: Outcome) => {
  const { waits } = submission.state;
  if (hasWaitedTooLong(waits, submission.before.started_at))
    return stop(submission, { ...outcome, reason: giveUp, failure: "fault" });
  const wait_seconds = pauseSeconds(waits, wait.wait_seconds, Math.random);
  const next_try_at = new Date(Date.now() + wait_seconds * 1000).toISOString();
  const next = { waits: waits + 1, next: "WAIT_TO_SUBMIT", wait_seconds } as const;
  return conclude(submission, { ...outcome, waits: waits + 1, last_answer, next_try_at }, next);
};

/** Checks out the order, and thereby its requests. The run's reason counts the changes that came too late for the carrier. */
const finish = async (submission: Submission): Promise<StepResult> => {
  const { ref, state } = submission;
  const { order_id, run } = ref;
  const now = new Date();
  const ended_at = now.toISOString();
  const late = await lateChanges(order_id, now);
  const reason = describeLateChanges(late.counts);
  const succeeded = { status: "SUCCEEDED", outcome_unknown: false, ended_at, reason, ...nothingToRetry };
  const unmet = await transact({
    ...(await checkedOut(order_id, late, now)),
    run: { update: keys.checkout(order_id), set: succeeded, when: { equals: { run, status: "RUNNING" } } },
    event: await recordEnd("order.checked_out", ref, { reason, failure: null }, now),
  });
  return unmet ? lookAgain(submission) : { ...state, next: "DONE", reason };
};

const describeLateChanges = ({ not_forwarded, not_withdrawn }: LateChanges["counts"]) => {
  const parts = [
    not_forwarded > 0 && `${not_forwarded} added or changed and not forwarded`,
    not_withdrawn > 0 && `${not_withdrawn} deleted and not withdrawn`,
  ].filter(Boolean);
  return parts.length > 0 ? `Attachments that came too late for the carrier: ${parts.join(", ")}.` : null;
};
