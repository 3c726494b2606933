import * as z from "zod/mini";
import { CarrierReceipt } from "../attachments/attachment-schema.ts";
import { noId, parseUlid, Ulid } from "../schema/fields.ts";

/** The checkout of an order as it is stored, and as the workflow's steps hand it to each other. */

/** What is known about an unavailable carrier. */
const retryShape = {
  /** The carrier's last response, or why there was none; null unless the call will be repeated. */
  last_answer: z.nullable(z.string()),
  /** When the carrier is called again, or null if no call is planned. */
  next_try_at: z.nullable(z.string()),
};

/** The latest run of an order's checkout. While it is RUNNING or STOPPING, no other run can start. */
export const CheckoutRun = z.object({
  run: z.string(),
  /** The number of the run, counted per order. */
  attempt: z.number(),
  /** The latest of the runs before it. */
  earlier_runs: z.array(z.string()),
  /** STOPPING: a step has found a reason to fail. CRASHED: the execution ended without a result. Else as its execution ends. */
  status: z.enum(["RUNNING", "STOPPING", "CRASHED", "FAILED", "SUCCEEDED"]),
  started_at: z.string(),
  /** After this time, the carrier processes no call of an earlier run, and no checkout of the cart. */
  calls_end_by: z.string(),
  ended_at: z.nullable(z.string()),
  reason: z.nullable(z.string()),
  /** The upstream checkout was requested, by this run or an earlier one, and its outcome is unknown. */
  outcome_unknown: z.boolean(),
  /** How often in a row the run has waited for the carrier. */
  consecutive_waits: z.number(),
  ...retryShape,
});
export type CheckoutRun = z.infer<typeof CheckoutRun>;

/** `pending` is stored before the call, so that the next step or run knows of everything that may have reached the carrier. */
export const Receipt = z.object({
  attachment: z.string(),
  of: z.enum(["order", "request"]),
  ...CarrierReceipt.shape,
  sha256: z.string(),
  bytes: z.number(),
  /** The version of the attachment whose metadata were sent. */
  version: z.number(),
  /** How many forwarding calls were announced. Each replaces the previous one. 0: the file has only waited for its scan. */
  attempts: z.number(),
  /** How often it was withdrawn. What comes back after that needs another idempotency key. */
  withdrawals: z._default(z.number(), 0),
  /** Until this time, the carrier may process a call that forwards it; null if it has responded to every such call. */
  in_flight_until: z.nullable(z.string()),
  /** The carrier's last decision: its status and the beginning of its body. */
  status: z.nullable(z.number()),
  answer: z.nullable(z.string()),
  ...retryShape,
});
export type Receipt = z.infer<typeof Receipt>;

/** On an order or a request: the version of its attachments that the carrier has in full, and the run that sealed it. */
export const Seal = z.object({
  run: z.string(),
  version: z.number(),
  at: z.string(),
  /** How many passes the run had left. A copy of a step that has more is older than the seal. Seals of version 1.0 have none. */
  passes_left: z.optional(z.number()),
});
export type Seal = z.infer<typeof Seal>;

/** An order or a request, as far as its seal is concerned. */
export const Sealed = z.object({ seal: z.optional(Seal) });

/** Whether a request was sealed by the same run after the step began that has this page: the step is a copy that runs on. */
export const isSealedSince = (seal: Seal | undefined, { run, passes_left }: Pick<RequestPage, "run" | "passes_left">) =>
  seal?.run === run && (seal.passes_left ?? passes_left) < passes_left;

/** The id of an order as another system sends it, in either case. Anything but a ULID becomes an id that no order has. */
export const OrderId = z.pipe(
  z.unknown(),
  z.transform((sent) => parseUlid(String(sent)) ?? noId),
);

/**
 * The properties that every state of the workflow has. An execution can last a week, so functions get states that earlier
 * versions wrote, and executions of earlier definitions read theirs: see test/shared/checkout/state.test.ts.
 */
export const RunRef = z.object({ order_id: OrderId, run: z.string() });
export type RunRef = z.infer<typeof RunRef>;

/** Some of an order's requests: those after the id `after`, up to the id `through`. */
export const RequestPage = z.object({
  ...RunRef.shape,
  after: z.nullable(Ulid),
  through: Ulid,
  /** How often the page may still be processed before the run fails. */
  passes_left: z.number(),
  /** How often in a row the carrier was unavailable. */
  consecutive_waits: z.number(),
});
export type RequestPage = z.infer<typeof RequestPage>;
