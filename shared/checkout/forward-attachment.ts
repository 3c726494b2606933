import * as z from "zod/mini";
import type { Attachment } from "../attachments/attachment-schema.ts";
import { fileKey } from "../attachments/file-keys.ts";
import { openFile, scanResultOf, signedGet } from "../attachments/files.ts";
import { env } from "../env.ts";
import { ApiError, isUnavailable } from "../errors.ts";
import { keys, type ParentRef } from "../table/keys.ts";
import { get, getMany } from "../table/read.ts";
import { putUpstream, withdrawUpstream } from "./carrier.ts";
import { type CarrierResponse, describeDenial, describeFailure, describeRefusal } from "./carrier-client.ts";
import { FileError } from "./carrier-form.ts";
import { earlierCall, startAgain, stopRun } from "./checkout-run.ts";
import { CheckoutRun, type Receipt } from "./checkout-schema.ts";
import { type Plan, parentOf } from "./plan.ts";
import {
  type AnnouncedCall,
  announcement,
  completeReceipt,
  isInFlight,
  known,
  replaceReceipt,
  restoreReceipt,
  secondsInFlight,
  type Target,
  withdrawal,
} from "./receipts.ts";
import { forwardStep } from "./steps.ts";

/** The result for one attachment. It is done, has changed before the call, waits to be repeated, or stops the run. */
export type Done =
  | { readonly kind: "done" }
  | { readonly kind: "changed" }
  | {
      readonly kind: "wait";
      readonly wait_seconds: number;
      readonly reason: string;
      readonly last_answer: string | null;
      /** Only this file waits: the carrier is available. */
      readonly unscanned?: true;
    }
  | { readonly kind: "stop" };

/** Forwards one attachment under one request. */
export const forwardOne = async (target: Target, planned: Plan["forward"][number]): Promise<Done> => {
  const { attachment, receipt } = planned;
  const announced = announcement(target, planned, new Date());
  const before = known(target, receipt);
  if (before && announced.key !== before.key && isInFlight(before))
    return waitForCall(before, `${subject(target.request, before)} cannot be sent with its new metadata yet`);
  return announce({ target, before: receipt, announced }, announced.version, (call) => sendFile(call, attachment));
};

/**
 * Announces a call, and makes it if the run then still has its lock and the attachment is of this version (undefined: deleted). After a
 * later delete, the next plan finds the announcement and withdraws the attachment. An announcement that replaces a receipt is also
 * checked before. Otherwise, two copies of a step that has lost its lock, as after a redrive, would restore each other's announcements
 * instead of the receipt.
 */
const announce = async (
  call: AnnouncedCall,
  version: number | undefined,
  send: (call: AnnouncedCall) => Promise<Done>,
): Promise<Done> => {
  const { target, before, announced } = call;
  const outdated = before && (await resultIfOutdated(target, announced, version));
  if (outdated) return outdated;
  if (!(await replaceReceipt(target.request, before, announced))) return leaveToOther(target, announced);
  const tooLate = await resultIfOutdated(target, announced, version);
  if (!tooLate) return send(call);
  await restoreReceipt(call);
  return tooLate;
};

/**
 * Returns the result if the call must not be made, because its run has ended or moved on, or the attachment is not of the version that
 * was read: it has changed, is gone, or was added after this step read the list, where the version is undefined.
 */
const resultIfOutdated = async (
  target: Target,
  receipt: Receipt,
  expected: number | undefined,
): Promise<Done | undefined> => {
  const { isForwarding, isMoved, version } = await readBeforeCall(target, receipt);
  if (!isForwarding) return { kind: "stop" };
  if (isMoved) return { kind: "changed" };
  if (version === expected) return undefined;
  return { kind: version !== undefined && expected !== undefined ? "changed" : "done" };
};

/**
 * Reads the run and the attachment just before a call. This may be a copy of a step with a plan that is minutes old, and its run
 * may have requested the checkout of the cart since. The version is undefined if the attachment was deleted.
 */
const readBeforeCall = async (target: Target, receipt: Receipt) => {
  const { order_id, run } = target.ref;
  const attachmentKey = keys.attachment(parentOf(receipt.of, order_id, target.request), receipt.attachment);
  const [runItem, attachment] = await getMany([keys.checkout(order_id), attachmentKey]);
  const { data } = z.safeParse(CheckoutRun, runItem);
  const isForwarding = data?.run === run && data.status === "RUNNING" && !data.outcome_unknown;
  return { isForwarding, isMoved: data?.cart !== target.cart, version: attachment?.version };
};

const subject = (request: string, { attachment }: Pick<Receipt, "attachment">) =>
  `The attachment ${attachment} of the request ${request}`;

const waitFor = ({ last_answer }: Pick<Receipt, "last_answer">, reason: string, wait_seconds = 0) =>
  ({ kind: "wait", wait_seconds, reason, last_answer }) as const;

/** Another step has announced this call since, and records its outcome. */
const leaveToOther = ({ request }: Target, receipt: Receipt) =>
  waitFor(receipt, `${subject(request, receipt)} is being handled by another step.`);

const waitForCall = (receipt: Receipt, what: string) => {
  const { last_answer } = receipt;
  const why = last_answer === null ? "" : ` (${last_answer})`;
  const reason = `${what}: an earlier call may still be in flight${why}.`;
  // `order show` and `order checkout --wait` say so.
  return waitFor({ last_answer: last_answer ?? earlierCall }, reason, secondsInFlight(receipt));
};

const sendFile = async (call: AnnouncedCall, attachment: Attachment): Promise<Done> => {
  const { target, announced } = call;
  const parent = parentOf(announced.of, target.ref.order_id, target.request);
  const { id, content_type: contentType } = attachment;
  const key = fileKey(parent, id);
  const file = { contentType, open: () => openFile(key), sign: () => signedGet(key, forwardStep.timeoutSeconds) };
  let response: CarrierResponse;
  try {
    const found = env.malwareScan() ? await scanResultOf(key) : clean;
    if (found === undefined) throw new FileError("its file is missing from storage", { gone: true });
    if (found !== clean) return recordScan(call, attachment, found);
    response = await putUpstream({ order: target.ref.order_id, request: target.request, receipt: announced }, file);
  } catch (error) {
    return recordFileError(call, parent, error);
  }
  return recordResponse(call, response, "forwarded");
};

const clean = "NO_THREATS_FOUND";

/** A file that is not scanned yet waits. Any other result is a refusal, with a reason for customers who can fix the file. */
const recordScan = async (call: AnnouncedCall, attachment: Attachment, found: string | null): Promise<Done> => {
  const { target, before, announced } = call;
  const what = subject(target.request, announced);
  // FAILED is an error of GuardDuty itself.
  if (found === null || found === "FAILED") {
    const waiting = { last_answer: "waits for the malware scan", attempts: before?.attempts ?? 0, ...unsent(call) };
    const receipt = await completeReceipt(call, waiting);
    return { ...waitFor(receipt ?? announced, `${what} waits for the malware scan.`), unscanned: true };
  }
  const refused = { answer: `malware scan: ${found}`, reason: customerReason(found, attachment), ...unsent(call) };
  if (!(await completeReceipt(call, { ...refused, state: "refused" }))) return leaveToOther(target, announced);
  await stopRun(target.ref, "refused", `${what} was refused by the malware scan, not forwarded: ${found}`);
  return { kind: "stop" };
};

/** The outcome of a call that was announced and not sent. */
const unsent = ({ target, before }: AnnouncedCall) =>
  ({ held: known(target, before)?.held ?? "no", isOver: true }) as const;

const customerReason = (found: string, { encrypted }: Attachment) => {
  if (found === "THREATS_FOUND") return "The file contains malware.";
  return found === "UNSUPPORTED" && encrypted === true ? "The file is protected by a password." : null;
};

/** Records that a file could not be read, after attempts that the carrier may still process. Rethrows any other error. */
const recordFileError = async (call: AnnouncedCall, parent: ParentRef, error: unknown): Promise<Done> => {
  const { target, announced } = call;
  const cannot = `The attachment ${announced.attachment} cannot be forwarded under the request ${target.request}`;
  if (isTemporary(error)) {
    const ended = await completeReceipt(call, { last_answer: "S3 is unavailable", isOver: false });
    return waitFor(ended ?? announced, `${cannot}: S3 is unavailable.`);
  }
  if (!(error instanceof FileError)) throw error;
  const recorded = await completeReceipt(call, { answer: error.message, isOver: false });
  // A delete removes the metadata before the file. If the metadata still exist, the file is lost.
  if (error.gone && !(await get(keys.attachment(parent, announced.attachment)))) return { kind: "done" };
  if (!recorded) return leaveToOther(target, announced);
  await stopRun(target.ref, "fault", `${cannot}: ${error.message}.`);
  return { kind: "stop" };
};

/** S3 is temporarily unavailable, or the connection broke in the middle of a file. */
const isTemporary = (error: unknown) => (error instanceof ApiError && error.status === 503) || isUnavailable(error);

/** Withdraws a deleted attachment that was forwarded, or may have been. */
export const withdrawOne = async (target: Target, stored: Receipt): Promise<Done> => {
  const { ref, request } = target;
  const receipt = known(target, stored) ?? stored;
  if (isInFlight(receipt)) return waitForCall(receipt, `${subject(request, receipt)} cannot be withdrawn yet`);
  const announced = withdrawal(receipt, new Date());
  return announce({ target, before: stored, announced }, undefined, async (call) => {
    const response = await withdrawUpstream({ order: ref.order_id, request, receipt: announced });
    return recordResponse(call, response, "withdrawn");
  });
};

/** Records what a response settles. While an earlier attempt may still act, waits and repeats the call unless it is done. */
const recordResponse = async (
  call: AnnouncedCall,
  response: CarrierResponse,
  decision: "forwarded" | "withdrawn",
): Promise<Done> => {
  const { target, before, announced } = call;
  const { settles, status, text, reason } = response;
  const earlier = known(target, before);
  const isOver = !response.mayStillAct;
  const held = response.mayHaveActed ? announced.held : (earlier?.held ?? "no");
  // A 404 to a DELETE of what the carrier has confirmed comes from another system, or the carrier has lost the attachment.
  const isDone = settles === "done" || (settles === "gone" && held !== "yes");
  const waits = !isOver || (earlier && isInFlight(earlier));
  if (settles === "nothing" || (waits && !isDone)) return repeatLater(call, response, held, decision);
  // Many carriers repeat the metadata in a success, and the notes must not outlive the letter.
  const answer = isDone ? (reason ?? "") : text;
  const decided = { status, answer, reason, last_answer: null, isOver };
  if (isDone) {
    const now = decision === "forwarded" ? "yes" : "no";
    const recorded = await completeReceipt(call, { ...decided, held: now, state: decision });
    return recorded ? { kind: "done" } : leaveToOther(target, announced);
  }
  if (settles === "refused") {
    const refusal = { ...decided, held, key: "", state: "refused", refused: `not ${decision}` } as const;
    if (!(await completeReceipt(call, refusal))) return leaveToOther(target, announced);
    const why = `was refused by the carrier, not ${decision}: ${describeRefusal(response)}`;
    await stopRun(target.ref, "refused", `${subject(target.request, announced)} ${why}`);
    return { kind: "stop" };
  }
  // Any other response says nothing about the letter. The next run takes another 404 to the DELETE as the carrier's word.
  const unsettled = { ...decided, reason: null, held: settles === "gone" ? "perhaps" : held } as const;
  if (!(await completeReceipt(call, unsettled))) return leaveToOther(target, announced);
  const mayHaveActed = response.mayHaveActed || (earlier?.in_flight_until ?? null) !== null;
  return stopUnsettled(call, response, mayHaveActed ? `may or may not have been ${decision}` : `was not ${decision}`);
};

const repeatLater = async (call: AnnouncedCall, response: CarrierResponse, held: Receipt["held"], decision: string) => {
  const last_answer = describeFailure(response);
  const isOver = !response.mayStillAct;
  const ended = (await completeReceipt(call, { last_answer, held, isOver })) ?? call.announced;
  const seconds = response.settles === "nothing" ? response.wait_seconds : secondsInFlight(ended);
  const what = subject(call.target.request, ended);
  const why = `the carrier gave no usable response for too long (${last_answer}). ${startAgain}`;
  return waitFor(ended, `${what} could not be ${decision}: ${why}`, seconds);
};

/** Ends the run after a response that leaves open what the carrier has. */
const stopUnsettled = async ({ target, announced }: AnnouncedCall, response: CarrierResponse, outcome: string) => {
  const { settles } = response;
  const what = subject(target.request, announced);
  const said = settles === "denied" ? describeDenial(response) : describeRefusal(response);
  const reason =
    settles === "gone"
      ? `${what} is unknown to the carrier, which has confirmed it before: ${said}. Ask the carrier what its cart has, then start the checkout again.`
      : `${what} ${outcome}. The carrier responded: ${said}`;
  // After a conflict, the cart may be checked out already, although no run has requested it.
  const doubt = { outcome_unknown: true, calls_end_by: new Date().toISOString() };
  await stopRun(target.ref, "fault", reason, settles === "conflict" ? doubt : {});
  return { kind: "stop" } as const;
};
