import * as z from "zod/mini";
import { Attachment } from "../attachments/schema.ts";
import { Timestamp, Ulid } from "../schema/fields.ts";

/** The checkout of an order, as the table keeps it. */

/** Requests of this type have their attachments forwarded. */
export const forwardedType = "ADD_MESSAGING_NUMBERS";

/** The latest run of an order's checkout. While it is RUNNING or STOPPING, no other run may touch the order. */
export const CheckoutRun = z.object({
  /** The execution's name. */
  run: z.string(),
  /** Counts the runs of the order. */
  attempt: z.number(),
  /** STOPPING: a step has found a reason to fail. CRASHED: its execution ended without a word. */
  status: z.enum(["RUNNING", "STOPPING", "CRASHED", "FAILED", "DONE"]),
  started_at: Timestamp,
  /** From then on, no call to the carrier by an earlier run can be under way. */
  quiet_from: Timestamp,
  ended_at: z.nullable(Timestamp),
  reason: z.nullable(z.string()),
  /** The upstream checkout has been asked for, by this run or an earlier one, and nobody knows whether it was done. */
  asked: z.boolean(),
});
export type CheckoutRun = z.infer<typeof CheckoutRun>;

/** What the carrier is told of an attachment. Kept from the first try on, so that each repetition is the same call. */
export const SentMetadata = z.pick(Attachment, { name: true, notes: true, file_hint: true, filename: true });
export type SentMetadata = z.infer<typeof SentMetadata>;

/**
 * What became of one attachment under one request. `pending` is written before the first call, so that whatever
 * may have reached the carrier is known to the next run.
 */
export const Receipt = z.object({
  attachment: Ulid,
  of: z.enum(["order", "request"]),
  state: z.enum(["pending", "forwarded", "withdrawn", "refused"]),
  at: Timestamp,
  sha256: z.string(),
  bytes: z.number(),
  sent: SentMetadata,
  /** The carrier's last word: its status and the beginning of its answer. */
  status: z.nullable(z.number()),
  answer: z.nullable(z.string()),
});
export type Receipt = z.infer<typeof Receipt>;

/** On an order or a request: the version of its attachments that is complete at the carrier, and the run that saw to it. */
export const Seal = z.object({ run: z.string(), version: z.number(), at: Timestamp });
export type Seal = z.infer<typeof Seal>;

/** What every state of the workflow begins with. */
export const RunRef = z.object({ order_id: Ulid, run: z.string() });
export type RunRef = z.infer<typeof RunRef>;

/** Some of an order's requests: those after one id, up to another. `loops` are left before the run gives up. */
export const RequestPage = z.object({
  ...RunRef.shape,
  after: z.nullable(Ulid),
  through: Ulid,
  loops: z.number(),
  /** How often in a row the carrier was away. */
  waits: z.number(),
});
export type RequestPage = z.infer<typeof RequestPage>;
