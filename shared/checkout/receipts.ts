import type { Attachment } from "../attachments/schema.ts";
import { keys } from "../table/keys.ts";
import { transact, update } from "../table/write.ts";
import { checkoutLimits, longestCallMs } from "./limits.ts";
import { type Plan, sentMetadataOf } from "./plan.ts";
import type { Receipt } from "./schema.ts";

/** The receipts of the calls to the carrier: each is announced before its call, and completed after it. */

/** Writes a receipt, unless it has changed since it was read: a step may run twice at the same time. */
export const replaceReceipt = (request: string, before: Receipt | undefined, { attachment, ...rest }: Receipt) => {
  const when = before ? unchanged(before) : { exists: false };
  return update({ update: keys.receipt(request, attachment), set: { attachment, ...rest }, when });
};

const unchanged = ({ at, state, attempts }: Receipt) => ({ equals: { at, state, attempts } });

/** Restores the receipt as it was before a call that was announced and not made. */
export const withdrawAnnouncement = async (request: string, before: Receipt | undefined, announced: Receipt) => {
  if (before) await replaceReceipt(request, announced, before);
  else await transact({ receipt: { delete: keys.receipt(request, announced.attachment), when: unchanged(announced) } });
};

/** Records the outcome of a call, unless another step has announced a call since. */
export const completeReceipt = async (
  request: string,
  before: Receipt | undefined,
  { attachment, ...rest }: Receipt,
): Promise<Receipt> => {
  const set = {
    ...rest,
    at: new Date().toISOString(),
    // A call of another step, or of one that was killed, may still be in flight.
    in_flight_until: before?.in_flight_until ?? null,
  };
  const when = { equals: { attempts: rest.attempts } };
  await update({ update: keys.receipt(request, attachment), set, when });
  return { ...set, attachment };
};

/**
 * Returns the receipt that announces a call. A call that may have arrived is repeated as it was; otherwise, the current
 * metadata are sent.
 */
export const announcement = ({ of, attachment, receipt }: Plan["forward"][number], now: Date): Receipt => {
  const endsBy = now.getTime() + longestCallMs(attachment.bytes) + checkoutLimits.clockSkewMs;
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

/** How long an earlier call that forwards the attachment may still be in flight, in seconds. */
export const secondsInFlight = ({ in_flight_until }: Receipt) =>
  in_flight_until === null ? 0 : Math.ceil((Date.parse(in_flight_until) - Date.now()) / 1000);

export const isInFlight = (receipt: Receipt) => secondsInFlight(receipt) > 0;
