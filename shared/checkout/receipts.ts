import { sentMetadataOf } from "../attachments/attachment-schema.ts";
import { expiryOf, recordOf } from "../history/record.ts";
import { keys } from "../table/keys.ts";
import { transactOrUpdate } from "../table/update.ts";
import { transact } from "../table/write.ts";
import { keyFor, metadataOf } from "./carrier.ts";
import { originOf } from "./checkout-run.ts";
import { carrierOf, type Receipt, type RunRef } from "./checkout-schema.ts";
import { lateMs, maxCallMs } from "./limits.ts";
import type { Plan } from "./plan.ts";

/** The receipts of the calls to the carrier. Each is announced before its call, and completed after it. */

/** A request that a run forwards, and the accounts that own the attachments. */
export type Target = {
  readonly ref: RunRef;
  readonly request: string;
  /** The order's cart: see CheckoutRun. */
  readonly cart: string;
  readonly accounts: { readonly order: string; readonly request: string };
};

/** Writes a receipt, unless it has changed since it was read, because a step may run twice at the same time. */
export const replaceReceipt = async (request: string, before: Receipt | undefined, receipt: Receipt) => {
  const when = before ? unchanged(before) : { exists: false };
  const unmet = await transactOrUpdate({
    receipt: { update: keys.receipt(request, receipt.attachment), set: receipt, when },
  });
  return !unmet;
};

export const unchanged = ({ at, state, attempts }: Receipt) => ({ equals: { at, state, attempts } });

/** A call to the carrier, with the attachment's receipt before it and the one that announces it. */
export type AnnouncedCall = {
  readonly target: Target;
  readonly before: Receipt | undefined;
  readonly announced: Receipt;
};

/** Restores the receipt as it was before an announced call that was not made. */
export const restoreReceipt = async ({ target: { request }, before, announced }: AnnouncedCall) => {
  if (before) await replaceReceipt(request, announced, before);
  else await transact({ receipt: { delete: keys.receipt(request, announced.attachment), when: unchanged(announced) } });
};

/** A decision of the carrier or of the malware scan. */
type Decision = Exclude<Receipt["state"], "pending">;

/**
 * Records the outcome of a call, and the carrier's decision as an event. Returns undefined if another step has changed the receipt.
 * That step has announced the call again, and its outcome counts. `isOver` says that the carrier has responded to each attempt.
 * `refused` is recorded as the event's reason.
 */
export const completeReceipt = async (
  { target, before, announced }: AnnouncedCall,
  {
    isOver,
    refused,
    ...outcome
  }: Partial<Receipt> & { readonly state?: Decision; readonly refused?: string; readonly isOver: boolean },
): Promise<Receipt | undefined> => {
  const now = new Date();
  // A call of another step, or of one that was killed, may still be in flight.
  const earlier = known(target, before)?.in_flight_until ?? null;
  const in_flight_until = isOver ? earlier : laterOf(now.getTime() + lateMs(announced.bytes), earlier);
  const ended = outcome.state === "withdrawn" && ending(announced, now);
  const completed = { ...announced, ...outcome, ...ended, at: now.toISOString(), in_flight_until };
  const unmet = await transactOrUpdate({
    receipt: { update: keys.receipt(target.request, announced.attachment), set: completed, when: unchanged(announced) },
    event: outcome.state && recordDecision(target, completed, outcome.state, refused, now),
  });
  return unmet ? undefined : completed;
};

/**
 * What a receipt loses when its deleted attachment is withdrawn, and when it expires, which is with the event of the withdrawal.
 */
const ending = ({ sent }: Receipt, now: Date) => ({
  key: "",
  sent: { ...sent, notes: null },
  expires_at: expiryOf(now),
});

export const recordDecision = (
  { ref, request, accounts }: Omit<Target, "cart">,
  { of, attachment, version, bytes, sha256, sent, status, answer }: Receipt,
  state: Decision,
  refused: string | undefined,
  now: Date,
) => {
  const type = `${of}_attachment` as const;
  const parent = { type: "request", id: request } as const;
  const file = state === "forwarded" ? { bytes, sha256 } : undefined;
  const told = { answer: { status, text: answer ?? "" }, ...(refused && { reason: refused }) };
  const evidence = { ...told, name: sent.name, filename: sent.filename };
  const change = { account: accounts[of], resource: { type, id: attachment, version }, parent, file, evidence };
  return recordOf({ type: `${type}.${state}`, ...change }, originOf(ref, now));
};

/**
 * Returns what a receipt says about the order's cart. Of another carrier's, it says nothing. An earlier cart of the same carrier may
 * have been cleared since, or not.
 */
export const known = ({ cart }: Pick<Target, "cart">, receipt: Receipt | undefined): Receipt | undefined => {
  if (!receipt || carrierOf(receipt.cart) !== carrierOf(cart)) return undefined;
  return receipt.cart === cart ? receipt : { ...forgotten(receipt, receipt.at), cart, held: perhaps(receipt) };
};

/** What the carrier has if it may have lost what it had. */
export const perhaps = ({ held }: Receipt) => (held === "no" ? "no" : "perhaps");

/** What the receipt of an attachment says that the carrier has decided nothing about. */
export const undecided = {
  state: "pending",
  status: null,
  answer: null,
  reason: null,
  last_answer: null,
  expires_at: null,
} as const;

/** Forgets what a receipt says. What it is about is then sent again, or withdrawn again, under another key. */
export const forgotten = (receipt: Receipt, at: string): Receipt => ({
  ...receipt,
  state: "pending",
  at,
  key: "",
  expires_at: null,
});

/** Announces a call with the current metadata. The call is in flight until its last attempt, and the carrier's work on it, have ended. */
export const announcement = (
  target: Pick<Target, "request" | "cart">,
  { of, attachment, receipt }: Plan["forward"][number],
  now: Date,
): Receipt => {
  const endsBy = now.getTime() + maxCallMs(attachment.bytes) + lateMs(attachment.bytes);
  const before = known(target, receipt);
  const announced = {
    attachment: attachment.id,
    ...undecided,
    of,
    at: now.toISOString(),
    sha256: attachment.sha256,
    bytes: attachment.bytes,
    cart: target.cart,
    held: before?.held === "yes" ? "yes" : "perhaps",
    sent: sentMetadataOf(attachment),
    version: attachment.version,
    attempts: (receipt?.attempts ?? 0) + 1,
    in_flight_until: laterOf(endsBy, before?.in_flight_until ?? null),
  } as const;
  const metadata = JSON.stringify(metadataOf(target.request, announced, attachment.content_type));
  return { ...announced, key: keyFor(metadata, before?.state === "pending" ? before.key : "") };
};

/** Announces a call that withdraws an attachment. */
export const withdrawal = (receipt: Receipt, now: Date): Receipt => ({
  ...receipt,
  key: keyFor("DELETE", receipt.key),
  held: "perhaps",
  at: now.toISOString(),
  in_flight_until: laterOf(now.getTime() + maxCallMs(0) + lateMs(0), receipt.in_flight_until),
});

const laterOf = (ms: number, time: string | null) => new Date(Math.max(ms, Date.parse(time ?? "") || 0)).toISOString();

/** Returns how long an earlier call for the attachment may still be in flight, in seconds. */
export const secondsInFlight = ({ in_flight_until }: Receipt) =>
  in_flight_until === null ? 0 : Math.ceil((Date.parse(in_flight_until) - Date.now()) / 1000);

export const isInFlight = (receipt: Receipt) => secondsInFlight(receipt) > 0;
