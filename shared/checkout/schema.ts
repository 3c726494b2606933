import * as z from "zod/mini";
import { CarrierReceipt, SentMetadata } from "../attachments/schema.ts";
import { Ulid } from "../schema/fields.ts";

/** The checkout of an order as it is stored. Properties with a default are newer than some of the stored items. */

/** A run ends as SUCCEEDED or FAILED, like its execution. Earlier versions stored DONE instead of SUCCEEDED. */
const RunStatus = z.pipe(
  z.enum(["RUNNING", "STOPPING", "CRASHED", "FAILED", "SUCCEEDED", "DONE"]),
  z.transform((status) => (status === "DONE" ? "SUCCEEDED" : status)),
);

/** What is known about an unavailable carrier. */
const retryShape = {
  /** The carrier's last response, or why there was none; null unless the call will be repeated. */
  last_answer: z._default(z.nullable(z.string()), null),
  /** When the carrier is called again, or null if no call is planned. */
  next_try_at: z._default(z.nullable(z.string()), null),
};

/** The latest run of an order's checkout. While it is RUNNING or STOPPING, no other run can start. */
export const CheckoutRun = z.object({
  /** The execution's name. */
  run: z.string(),
  /** The number of the run, counted per order. */
  attempt: z.number(),
  /** STOPPING: a step has found a reason to fail. CRASHED: the execution ended without reporting a result. */
  status: RunStatus,
  started_at: z.string(),
  /** After this time, no call of an earlier run can be in flight. */
  quiet_from: z.string(),
  ended_at: z.nullable(z.string()),
  reason: z.nullable(z.string()),
  /** The upstream checkout was requested, by this run or an earlier one, and its outcome is unknown. */
  asked: z.boolean(),
  /** How often in a row the run has waited for the carrier. */
  waits: z._default(z.number(), 0),
  ...retryShape,
});
export type CheckoutRun = z.infer<typeof CheckoutRun>;

/**
 * What the carrier has of one attachment under one request. `pending` is stored before the call, so that the next step
 * or run knows of everything that may have reached the carrier.
 */
export const Receipt = z.object({
  attachment: z.string(),
  of: z.enum(["order", "request"]),
  ...CarrierReceipt.shape,
  sha256: z.string(),
  bytes: z.number(),
  sent: SentMetadata,
  /** The version of the attachment whose metadata were sent. 0 in receipts that are older than this property. */
  version: z._default(z.number(), 0),
  /** How many forwarding calls were announced. Each announcement replaces the previous one. */
  attempts: z._default(z.number(), 0),
  /** Until this time, a call that forwards it may be in flight; null if every such call has returned. */
  in_flight_until: z._default(z.nullable(z.string()), null),
  /** The carrier's last decision: its status and the beginning of its body. */
  status: z.nullable(z.number()),
  answer: z.nullable(z.string()),
  ...retryShape,
});
export type Receipt = z.infer<typeof Receipt>;

/** On an order or a request: the version of its attachments that the carrier has in full, and the run that sealed it. */
export const Seal = z.object({ run: z.string(), version: z.number(), at: z.string() });
export type Seal = z.infer<typeof Seal>;

/** The properties that every state of the workflow has. */
export const RunRef = z.object({ order_id: Ulid, run: z.string() });
export type RunRef = z.infer<typeof RunRef>;

/** Some of an order's requests: those after the id `after`, up to the id `through`. */
export const RequestPage = z.object({
  ...RunRef.shape,
  after: z.nullable(Ulid),
  through: Ulid,
  /** How often the page may still be processed before the run fails. */
  loops: z.number(),
  /** How often in a row the carrier was unavailable. */
  waits: z.number(),
});
export type RequestPage = z.infer<typeof RequestPage>;
