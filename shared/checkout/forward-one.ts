import * as z from "zod/mini";
import { openFile } from "../attachments/files.ts";
import { Attachment } from "../attachments/schema.ts";
import { ApiError, isUnavailable } from "../errors.ts";
import { fileKey, keys, type ParentRef } from "../table/keys.ts";
import { get, getMany } from "../table/read.ts";
import { update } from "../table/write.ts";
import type { Outcome } from "./carrier.ts";
import { FileError } from "./carrier-form.ts";
import type { Plan } from "./plan.ts";
import { stopRun } from "./run.ts";
import { CheckoutRun, type Receipt, type RunRef, SentMetadata } from "./schema.ts";
import { putUpstream, withdrawUpstream } from "./upstream.ts";

/** How one attachment ended: done, to be tried again after a while, or the end of the run. */
export type Settled =
  | { readonly kind: "done" }
  | { readonly kind: "away"; readonly wait_seconds: number; readonly reason: string }
  | { readonly kind: "stop" };

type Place = { readonly ref: RunRef; readonly request: string };

const writeReceipt = (request: string, { attachment, ...rest }: Receipt) =>
  update({ update: keys.receipt(request, attachment), set: { attachment, ...rest }, when: {} });

/** Forwards one attachment under one request, unless it has been deleted meanwhile or the run has lost its lock. */
export const forwardOne = async ({ ref, request }: Place, planned: Plan["forward"][number]): Promise<Settled> => {
  const parent: ParentRef = { type: planned.of, id: planned.of === "order" ? ref.order_id : request };
  const [runItem, current] = await getMany([
    keys.checkout(ref.order_id),
    keys.attachment(parent, planned.attachment.id),
  ]);
  if (!holds(runItem, ref)) return { kind: "stop" };
  if (!current) return { kind: "done" };
  const attachment = z.parse(Attachment, current);
  const pending = pendingReceipt(planned, attachment);
  // Before the call: whatever may have reached the carrier must be known to the next run.
  await writeReceipt(request, pending);
  return put({ ref, request }, parent, attachment, pending);
};

const holds = (item: unknown, { run }: RunRef) => {
  const { success, data } = z.safeParse(CheckoutRun, item);
  return success && data.run === run && data.status === "RUNNING";
};

/** A try that may have arrived is repeated as it was; after a refusal, the metadata of today are sent. */
const pendingReceipt = ({ of, receipt }: Plan["forward"][number], attachment: Attachment): Receipt => ({
  attachment: attachment.id,
  of,
  state: "pending",
  at: new Date().toISOString(),
  sha256: attachment.sha256,
  bytes: attachment.bytes,
  sent: receipt?.state === "pending" ? receipt.sent : z.parse(SentMetadata, attachment),
  status: null,
  answer: null,
});

const put = async (place: Place, parent: ParentRef, attachment: Attachment, pending: Receipt): Promise<Settled> => {
  const { ref, request } = place;
  const { id, bytes, sha256, content_type: contentType } = attachment;
  const open = () => openFile(fileKey(parent, id));
  try {
    const file = { sent: pending.sent, contentType, bytes, sha256, open };
    const outcome = await putUpstream({ order: ref.order_id, request, attachment: id }, file);
    return await noteOutcome(place, pending, outcome, "forwarded");
  } catch (error) {
    if (isAway(error)) return { kind: "away", wait_seconds: 0, reason: `${cannot(place, id)}: storage is away.` };
    if (!(error instanceof FileError)) throw error;
    // The file goes after its metadata: without metadata it was deleted, with them it is lost.
    if (error.gone && !(await get(keys.attachment(parent, id)))) return { kind: "done" };
    await writeReceipt(request, { ...pending, at: new Date().toISOString(), answer: error.message });
    await stopRun(ref, `${cannot(place, id)}: ${error.message}.`);
    return { kind: "stop" };
  }
};

const cannot = ({ request }: Place, id: string) =>
  `The attachment ${id} cannot be forwarded under the request ${request}`;

/** S3 refuses passingly, or breaks off in the middle of a file. */
const isAway = (error: unknown) => (error instanceof ApiError && error.status === 503) || isUnavailable(error);

/** Withdraws what was forwarded, or may have been, and has been deleted since. */
export const withdrawOne = async ({ ref, request }: Place, receipt: Receipt): Promise<Settled> => {
  if (!holds(await get(keys.checkout(ref.order_id)), ref)) return { kind: "stop" };
  const outcome = await withdrawUpstream({ order: ref.order_id, request, attachment: receipt.attachment });
  return noteOutcome({ ref, request }, receipt, outcome, "withdrawn");
};

const noteOutcome = async (
  { ref, request }: Place,
  receipt: Receipt,
  outcome: Outcome,
  state: "forwarded" | "withdrawn",
): Promise<Settled> => {
  const doing = `The attachment ${receipt.attachment} of the request ${request}`;
  if (outcome.kind === "away") {
    const reason = `${doing} could not be ${state}: the carrier was away too long (${outcome.reason}).`;
    return { kind: "away", wait_seconds: outcome.wait_seconds, reason };
  }
  const { status, answer } = outcome;
  const at = new Date().toISOString();
  await writeReceipt(request, { ...receipt, at, status, answer, state: outcome.kind === "done" ? state : "refused" });
  if (outcome.kind === "done") return { kind: "done" };
  await stopRun(ref, `${doing} was refused by the carrier, not ${state}: ${status} ${answer}`.trim());
  return { kind: "stop" };
};
