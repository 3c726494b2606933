import * as z from "zod/mini";
import { openFile } from "../attachments/files.ts";
import type { Attachment } from "../attachments/schema.ts";
import { ApiError, isUnavailable } from "../errors.ts";
import { fileKey, keys, type ParentRef } from "../table/keys.ts";
import { get, getMany } from "../table/read.ts";
import { update } from "../table/write.ts";
import { putUpstream, withdrawUpstream } from "./carrier.ts";
import { describeRefusal, type Outcome } from "./carrier-client.ts";
import { FileError } from "./carrier-form.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { limits, longestCallMs, pauseSeconds } from "./limits.ts";
import { attachmentsOf, forwardedRequests, isUpToDate, type Plan, planOf, sentMetadataOf } from "./plan.ts";
import { stopRun, updateRun } from "./run.ts";
import { CheckoutRun, type Receipt, type RequestPage, type RunRef } from "./schema.ts";

/** The state of a page after `forward`: complete, to be continued now or later, or a failure of the run. */
type ForwardedPage = RequestPage & {
  readonly outcome: "FORWARDED" | "MORE" | "WAIT" | "FAILED";
  readonly wait_seconds: number;
};

/** Forwards what the carrier lacks of a page's requests and withdraws what was deleted, until time is up. */
export const forwardPage = async (page: RequestPage): Promise<ForwardedPage> => {
  const until = Date.now() + limits.workMs;
  const postponed: Postponed[] = [];
  let progress = false;
  let ending: Ending | undefined;
  const ofOrder = await attachmentsOf({ type: "order", id: page.order_id });
  for (const request of await forwardedRequests(page.order_id, page)) {
    const calls = callsOf({ ref: page, request }, await planOf(request, ofOrder));
    await forEachConcurrently(limits.concurrency, calls, async (call) => {
      if (!ending && Date.now() > until) ending = { kind: "time" };
      if (ending) return;
      const result = await call();
      if (result.kind === "done") progress = true;
      else ending = mostSevere(ending, result);
      if (result.kind === "wait") postponed.push({ request, receipt: result.receipt });
    });
    if (ending) break;
  }
  if (progress && page.waits > 0) await updateRun(page, { waits: 0, last_answer: null, next_try_at: null });
  const result = await pageResult({ ...page, waits: progress ? 0 : page.waits, loops: page.loops - 1 }, ending);
  if (result.outcome === "WAIT") await recordNextTry(postponed, result.wait_seconds);
  return result;
};

const callsOf = (target: Target, { forward, withdraw }: Plan): (() => Promise<CallResult>)[] => [
  ...withdraw.map((receipt) => () => withdrawOne(target, receipt)),
  ...forward.map((planned) => () => forwardOne(target, planned)),
];

/** The result for one attachment: done, to be repeated later, or a reason to stop the run. */
type CallResult =
  | { readonly kind: "done" }
  | { readonly kind: "wait"; readonly wait_seconds: number; readonly reason: string; readonly receipt: Receipt }
  | { readonly kind: "stop" };

/** Why the work on a page ends before the page is complete. */
type Ending = Exclude<CallResult, { kind: "done" }> | { readonly kind: "time" };

type Postponed = { readonly request: string; readonly receipt: Receipt };

/** Returns the more severe of two endings: the end of the run, then the longer wait, then the end of the time. */
const mostSevere = (one: Ending | undefined, other: Ending): Ending => {
  if (!one || one.kind === "time" || other.kind === "stop") return other;
  if (one.kind === "stop" || other.kind === "time") return one;
  return other.wait_seconds > one.wait_seconds ? other : one;
};

const pageResult = async (page: RequestPage, ending: Ending | undefined): Promise<ForwardedPage> => {
  if (ending === undefined) return { ...page, waits: 0, outcome: "FORWARDED", wait_seconds: 0 };
  if (ending.kind === "stop") return { ...page, outcome: "FAILED", wait_seconds: 0 };
  if (page.loops <= 0 || page.waits >= limits.waits) {
    await stopRun(page, ending.kind === "time" ? "There is more to forward than one run can take." : ending.reason);
    return { ...page, outcome: "FAILED", wait_seconds: 0 };
  }
  if (ending.kind === "time") return { ...page, outcome: "MORE", wait_seconds: 0 };
  const wait_seconds = pauseSeconds(page.waits, ending.wait_seconds, Math.random);
  const waits = page.waits + 1;
  await updateRun(page, { waits, last_answer: ending.receipt.last_answer, next_try_at: inSeconds(wait_seconds) });
  return { ...page, waits, outcome: "WAIT", wait_seconds };
};

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

const recordNextTry = (postponed: readonly Postponed[], wait_seconds: number) =>
  forEachConcurrently(limits.concurrency, postponed, async ({ request, receipt }) => {
    await replaceReceipt(request, receipt, { ...receipt, next_try_at: inSeconds(wait_seconds) });
  });

type Target = { readonly ref: RunRef; readonly request: string };

/** Writes a receipt, unless it has changed since it was read: a step may run twice at the same time. */
const replaceReceipt = (request: string, before: Receipt | undefined, { attachment, ...rest }: Receipt) => {
  const { at, state, attempts = 0 } = before ?? {};
  return update({
    update: keys.receipt(request, attachment),
    set: { attachment, ...rest },
    when: before ? { equals: { at, state, ...(attempts > 0 && { attempts }) } } : { exists: false },
  });
};

/** Records the outcome of a call, unless another step has announced a call since. */
const completeReceipt = async (
  request: string,
  before: Receipt | undefined,
  { attachment, ...rest }: Receipt,
): Promise<Receipt> => {
  const { at, state, attempts } = rest;
  const set = {
    ...rest,
    at: new Date().toISOString(),
    // A call of another step, or of one that was killed, may still be in flight.
    in_flight_until: before?.in_flight_until ?? null,
  };
  const equals = attempts > 0 ? { attempts } : { at, state: before?.state ?? state };
  await update({ update: keys.receipt(request, attachment), set, when: { equals } });
  return { ...set, attachment };
};

/**
 * Forwards one attachment under one request. Announces the call first, then checks that the run still has its lock and
 * that the attachment still exists. After a later delete, the next plan finds the announcement and withdraws the attachment.
 */
const forwardOne = async (target: Target, planned: Plan["forward"][number]): Promise<CallResult> => {
  const { ref, request } = target;
  const { of, attachment, receipt } = planned;
  const announced = announcement(planned, new Date());
  if (receipt && announced.version !== receipt.version && isInFlight(receipt))
    return waitFor(receipt, `${subject(request, receipt)} cannot be sent with its new metadata yet`);
  if (!(await replaceReceipt(request, receipt, announced))) return overtaken(request, announced);
  const parent: ParentRef = { type: of, id: of === "order" ? ref.order_id : request };
  const [runItem, current] = await getMany([keys.checkout(ref.order_id), keys.attachment(parent, attachment.id)]);
  const locked = isRunning(runItem, ref);
  if (locked && current) return sendFile(target, parent, planned, announced);
  await completeReceipt(request, receipt, announced);
  return { kind: locked ? "done" : "stop" };
};

const isRunning = (item: unknown, { run }: RunRef) => {
  const { success, data } = z.safeParse(CheckoutRun, item);
  return success && data.run === run && data.status === "RUNNING";
};

const subject = (request: string, { attachment }: Pick<Receipt, "attachment">) =>
  `The attachment ${attachment} of the request ${request}`;

/** How long an earlier call that forwards the attachment may still be in flight, in seconds. */
const secondsInFlight = ({ in_flight_until }: Receipt) =>
  in_flight_until === null ? 0 : Math.ceil((Date.parse(in_flight_until) - Date.now()) / 1000);

const isInFlight = (receipt: Receipt) => secondsInFlight(receipt) > 0;

const waitFor = (receipt: Receipt, what: string): CallResult => ({
  kind: "wait",
  wait_seconds: secondsInFlight(receipt),
  reason: `${what}: an earlier call may still be in flight.`,
  receipt,
});

/** Another step is forwarding the same attachment. Its receipt will show what remains to be done. */
const overtaken = (request: string, receipt: Receipt): CallResult => ({
  kind: "wait",
  wait_seconds: 0,
  reason: `${subject(request, receipt)} is being forwarded by another step.`,
  receipt,
});

/**
 * Returns the receipt that announces a call. A call that may have arrived is repeated as it was; otherwise, the current
 * metadata are sent.
 */
const announcement = ({ of, attachment, receipt }: Plan["forward"][number], now: Date): Receipt => {
  const endsBy = now.getTime() + longestCallMs(attachment.bytes) + limits.clockSkewMs;
  const earlier = Date.parse(receipt?.in_flight_until ?? "") || 0;
  const { sent, version } = receipt?.state === "pending" ? receipt : currentMetadata(attachment);
  return {
    attachment: attachment.id,
    of,
    state: "pending",
    at: now.toISOString(),
    sha256: attachment.sha256,
    bytes: attachment.bytes,
    sent,
    version,
    attempts: (receipt?.attempts ?? 0) + 1,
    in_flight_until: new Date(Math.max(endsBy, earlier)).toISOString(),
    status: null,
    answer: null,
    last_answer: null,
    next_try_at: null,
  };
};

const currentMetadata = (attachment: Attachment) => ({ sent: sentMetadataOf(attachment), version: attachment.version });

const sendFile = async (
  target: Target,
  parent: ParentRef,
  { attachment, receipt }: Plan["forward"][number],
  announced: Receipt,
): Promise<CallResult> => {
  const { ref, request } = target;
  const { id, content_type: contentType } = attachment;
  const open = () => openFile(fileKey(parent, id));
  try {
    const outcome = await putUpstream({ order: ref.order_id, request, receipt: announced }, { contentType, open });
    // The refusal of a repeated call says nothing about the current metadata.
    if (outcome.kind === "refused" && !isUpToDate(announced, attachment)) {
      const { status, answer } = outcome;
      await completeReceipt(request, receipt, { ...announced, status, answer, state: "refused" });
      return { kind: "done" };
    }
    return await recordOutcome(target, receipt, announced, outcome, "forwarded");
  } catch (error) {
    return recordFileError(target, parent, receipt, announced, error);
  }
};

/** Records that a file could not be read. Throws any other error. */
const recordFileError = async (
  { ref, request }: Target,
  parent: ParentRef,
  before: Receipt | undefined,
  announced: Receipt,
  error: unknown,
): Promise<CallResult> => {
  const cannot = `The attachment ${announced.attachment} cannot be forwarded under the request ${request}`;
  if (isTemporary(error)) {
    const ended = await completeReceipt(request, before, { ...announced, last_answer: "S3 is unavailable" });
    return { kind: "wait", wait_seconds: 0, reason: `${cannot}: S3 is unavailable.`, receipt: ended };
  }
  if (!(error instanceof FileError)) throw error;
  await completeReceipt(request, before, { ...announced, answer: error.message });
  // A delete removes the metadata before the file. If the metadata still exist, the file is lost.
  if (error.gone && !(await get(keys.attachment(parent, announced.attachment)))) return { kind: "done" };
  await stopRun(ref, `${cannot}: ${error.message}.`);
  return { kind: "stop" };
};

/** S3 is temporarily unavailable, or the connection broke in the middle of a file. */
const isTemporary = (error: unknown) => (error instanceof ApiError && error.status === 503) || isUnavailable(error);

/** Withdraws a deleted attachment that was forwarded, or may have been. */
const withdrawOne = async (target: Target, receipt: Receipt): Promise<CallResult> => {
  const { ref, request } = target;
  if (isInFlight(receipt)) return waitFor(receipt, `${subject(request, receipt)} cannot be withdrawn yet`);
  if (!isRunning(await get(keys.checkout(ref.order_id)), ref)) return { kind: "stop" };
  const outcome = await withdrawUpstream({ order: ref.order_id, request, receipt });
  return recordOutcome(target, receipt, receipt, outcome, "withdrawn");
};

const recordOutcome = async (
  { ref, request }: Target,
  before: Receipt | undefined,
  receipt: Receipt,
  outcome: Outcome,
  state: "forwarded" | "withdrawn",
): Promise<CallResult> => {
  if (outcome.kind === "unavailable") {
    const { reason: last_answer, wait_seconds } = outcome;
    const ended = await completeReceipt(request, before, { ...receipt, last_answer });
    const reason = `${subject(request, receipt)} could not be ${state}: the carrier was unavailable for too long (${last_answer}).`;
    return { kind: "wait", wait_seconds, reason, receipt: ended };
  }
  const { status, answer } = outcome;
  const decided = { status, answer, last_answer: null, next_try_at: null };
  await completeReceipt(request, before, {
    ...receipt,
    ...decided,
    state: outcome.kind === "done" ? state : "refused",
  });
  if (outcome.kind === "done") return { kind: "done" };
  await stopRun(
    ref,
    `${subject(request, receipt)} was refused by the carrier, not ${state}: ${describeRefusal(decided)}`,
  );
  return { kind: "stop" };
};
