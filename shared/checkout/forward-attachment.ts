import * as z from "zod/mini";
import { fileKey } from "../attachments/file-keys.ts";
import { openFile, scanResultOf, signedGet } from "../attachments/files.ts";
import { env } from "../env.ts";
import { ApiError, isUnavailable } from "../errors.ts";
import { keys, type ParentRef } from "../table/keys.ts";
import { get, getMany } from "../table/read.ts";
import { putUpstream, withdrawUpstream } from "./carrier.ts";
import { describeRefusal, type Outcome } from "./carrier-client.ts";
import { FileError } from "./carrier-form.ts";
import { stopRun } from "./checkout-run.ts";
import { CheckoutRun, type Receipt, type RunRef } from "./checkout-schema.ts";
import { isUpToDate, type Plan } from "./plan.ts";
import {
  announcement,
  completeReceipt,
  isInFlight,
  replaceReceipt,
  secondsInFlight,
  type Target,
  withdrawAnnouncement,
} from "./receipts.ts";
import { forwardStep } from "./steps.ts";

/** The result for one attachment: done, to be repeated later, or a reason to stop the run. */
export type CallResult =
  | { readonly kind: "done" }
  | {
      readonly kind: "wait";
      readonly wait_seconds: number;
      readonly reason: string;
      readonly receipt: Receipt;
      /** Only this file waits: the carrier is available. */
      readonly unscanned?: true;
    }
  | { readonly kind: "stop" };

/**
 * Forwards one attachment under one request. Announces the call first, then checks that the run still has its lock and
 * that the attachment still exists. After a later delete, the next plan finds the announcement and withdraws the attachment.
 */
export const forwardOne = async (target: Target, planned: Plan["forward"][number]): Promise<CallResult> => {
  const { ref, request } = target;
  const { of, attachment, receipt } = planned;
  const announced = announcement(planned, new Date());
  if (receipt && announced.version !== receipt.version && isInFlight(receipt))
    return waitFor(receipt, `${subject(request, receipt)} cannot be sent with its new metadata yet`);
  if (!(await replaceReceipt(request, receipt, announced))) return overtaken(request, announced);
  const parent: ParentRef = { type: of, id: of === "order" ? ref.order_id : request };
  // Read beside the items, so that it takes no time. If it fails, sending the file fails.
  const scan = env.malwareScan() ? scanResultOf(fileKey(parent, attachment.id)) : Promise.resolve(clean);
  scan.catch(() => undefined);
  const [runItem, current] = await getMany([keys.checkout(ref.order_id), keys.attachment(parent, attachment.id)]);
  const locked = isRunning(runItem, ref);
  if (locked && current) return sendFile(target, parent, planned, announced, scan);
  await withdrawAnnouncement(request, receipt, announced);
  return { kind: locked ? "done" : "stop" };
};

const isRunning = (item: unknown, { run }: RunRef) => {
  const { success, data } = z.safeParse(CheckoutRun, item);
  return success && data.run === run && data.status === "RUNNING";
};

const subject = (request: string, { attachment }: Pick<Receipt, "attachment">) =>
  `The attachment ${attachment} of the request ${request}`;

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

const sendFile = async (
  target: Target,
  parent: ParentRef,
  { attachment, receipt }: Plan["forward"][number],
  announced: Receipt,
  scan: Promise<string | null | undefined>,
): Promise<CallResult> => {
  const { ref, request } = target;
  const { id, content_type: contentType } = attachment;
  const key = fileKey(parent, id);
  const file = { contentType, open: () => openFile(key), sign: () => signedGet(key, forwardStep.timeoutSeconds) };
  let outcome: Outcome;
  try {
    const found = await scan;
    if (found === undefined) throw new FileError("its file is gone from storage", true);
    if (found !== clean) return recordScan(target, receipt, announced, found);
    outcome = await putUpstream({ order: ref.order_id, request, receipt: announced }, file);
  } catch (error) {
    return recordFileError(target, parent, receipt, announced, error);
  }
  // The refusal of a repeated call says nothing about the current metadata.
  if (outcome.kind === "refused" && !isUpToDate(announced, attachment)) {
    const { status, answer, reason } = outcome;
    await completeReceipt(target, receipt, announced, { status, answer, reason, state: "refused" });
    return { kind: "done" };
  }
  return recordOutcome(target, receipt, announced, outcome, "forwarded");
};

const clean = "NO_THREATS_FOUND";

/** A file that is not scanned yet waits. Any other result is a refusal, in words for the customer only if it is malware. */
const recordScan = async (
  target: Target,
  before: Receipt | undefined,
  announced: Receipt,
  found: string | null,
): Promise<CallResult> => {
  const what = subject(target.request, announced);
  if (found === null) {
    const waiting = { last_answer: "waits for the malware scan", attempts: before?.attempts ?? 0 };
    const receipt = await completeReceipt(target, before, announced, waiting);
    return { kind: "wait", wait_seconds: 0, reason: `${what} waits for the malware scan.`, receipt, unscanned: true };
  }
  const reason = found === "THREATS_FOUND" ? "The file contains malware." : null;
  await completeReceipt(target, before, announced, { answer: `malware scan: ${found}`, reason, state: "refused" });
  await stopRun(target.ref, `${what} was refused by the malware scan, not forwarded: ${found}`);
  return { kind: "stop" };
};

/** Records that a file could not be read. Throws any other error. */
const recordFileError = async (
  target: Target,
  parent: ParentRef,
  before: Receipt | undefined,
  announced: Receipt,
  error: unknown,
): Promise<CallResult> => {
  const cannot = `The attachment ${announced.attachment} cannot be forwarded under the request ${target.request}`;
  if (isTemporary(error)) {
    const ended = await completeReceipt(target, before, announced, { last_answer: "S3 is unavailable" });
    return { kind: "wait", wait_seconds: 0, reason: `${cannot}: S3 is unavailable.`, receipt: ended };
  }
  if (!(error instanceof FileError)) throw error;
  await completeReceipt(target, before, announced, { answer: error.message });
  // A delete removes the metadata before the file. If the metadata still exist, the file is lost.
  if (error.gone && !(await get(keys.attachment(parent, announced.attachment)))) return { kind: "done" };
  await stopRun(target.ref, `${cannot}: ${error.message}.`);
  return { kind: "stop" };
};

/** S3 is temporarily unavailable, or the connection broke in the middle of a file. */
const isTemporary = (error: unknown) => (error instanceof ApiError && error.status === 503) || isUnavailable(error);

/** Withdraws a deleted attachment that was forwarded, or may have been. */
export const withdrawOne = async (target: Target, receipt: Receipt): Promise<CallResult> => {
  const { ref, request } = target;
  if (isInFlight(receipt)) return waitFor(receipt, `${subject(request, receipt)} cannot be withdrawn yet`);
  if (!isRunning(await get(keys.checkout(ref.order_id)), ref)) return { kind: "stop" };
  const outcome = await withdrawUpstream({ order: ref.order_id, request, receipt });
  return recordOutcome(target, receipt, receipt, outcome, "withdrawn");
};

const recordOutcome = async (
  target: Target,
  before: Receipt | undefined,
  receipt: Receipt,
  outcome: Outcome,
  state: "forwarded" | "withdrawn",
): Promise<CallResult> => {
  const { ref, request } = target;
  if (outcome.kind === "unavailable") {
    const { reason: last_answer, wait_seconds } = outcome;
    const ended = await completeReceipt(target, before, receipt, { last_answer });
    const reason = `${subject(request, receipt)} could not be ${state}: the carrier was unavailable for too long (${last_answer}).`;
    return { kind: "wait", wait_seconds, reason, receipt: ended };
  }
  const { status, answer } = outcome;
  const reason = outcome.kind === "refused" ? outcome.reason : null;
  const decided = { status, answer, reason, last_answer: null, next_try_at: null };
  await completeReceipt(target, before, receipt, { ...decided, state: outcome.kind === "done" ? state : "refused" });
  if (outcome.kind === "done") return { kind: "done" };
  const stopped = `${subject(request, receipt)} was refused by the carrier, not ${state}: ${describeRefusal(decided)}`;
  // The cart may be checked out already, although the carrier has denied it.
  await stopRun(ref, stopped, status === 409 ? { outcome_unknown: true } : {});
  return { kind: "stop" };
};
