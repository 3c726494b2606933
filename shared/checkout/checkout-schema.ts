import * as z from "zod/mini";
import { CarrierReceipt } from "../attachments/attachment-schema.ts";
import { noId, parseUlid } from "../schema/fields.ts";
import { checkoutLimits } from "./limits.ts";

/** The checkout of an order as it is stored, and as the workflow's steps pass it on. */

/** What is known about an unavailable carrier. */
const retryShape = {
  /** The carrier's last response, or why there was none; null unless the call will be repeated. */
  last_answer: z.nullable(z.string()),
  /** When the carrier is called again, or null if no call is planned. */
  next_try_at: z.nullable(z.string()),
};

/** Why a run failed: the carrier or the malware scan refused something, or anything else, which operators look into. */
export const FailureKind = z.enum(["refused", "fault"]);
export type FailureKind = z.infer<typeof FailureKind>;

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
  failure: z.nullable(FailureKind),
  /** This run or an earlier one has requested the checkout of the cart, and it is unknown whether the carrier has done it. */
  outcome_unknown: z.boolean(),
  /** This run has sealed the order, for the checkout of the cart. */
  sealed: z.boolean(),
  /** The carrier has responded that it has checked the cart out. From then on, nothing else can be true. */
  checked_out: z.boolean(),
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
  withdrawals: z.number(),
  /** Until this time, the carrier may process a call for it; null if it has responded to every such call. */
  in_flight_until: z.nullable(z.string()),
  /** The carrier's last decision: its status and the beginning of its body. */
  status: z.nullable(z.number()),
  answer: z.nullable(z.string()),
  ...retryShape,
});
export type Receipt = z.infer<typeof Receipt>;

/**
 * On an order, while its run requests the checkout of the cart, while the outcome is unknown, and after success: the version of the
 * order that the carrier has in full. Written and lifted only in transactions with the run.
 */
export const Seal = z.object({ run: z.string(), version: z.number(), at: z.string() });

/** An order, as far as its seal is concerned. */
export const Sealed = z.object({ seal: z.optional(Seal) });

/** The id of an order as another system sends it, in either case. Anything but a ULID becomes an id that no order has. */
export const OrderId = z.pipe(
  z.unknown(),
  z.transform((sent) => parseUlid(String(sent)) ?? noId),
);

export type RunRef = { readonly order_id: string; readonly run: string };

/** What a step receives: the name of its execution, which is the run's, and the state that the step before it returned. */
export const StepInput = z.object({ run: z.string(), state: z.unknown() });

/**
 * The state of the workflow between its steps. An execution can last a week, so functions get states that earlier versions wrote: see
 * test/shared/checkout/state.test.ts.
 */
export const State = z.object({
  order_id: OrderId,
  /** How often the order may still be forwarded before the run fails. */
  passes_left: z.number(),
  /** How often in a row the carrier was unavailable to the step that is waiting. */
  consecutive_waits: z.number(),
  /** The order's version that the carrier has in full; null before all of it was forwarded. */
  version: z.nullable(z.number()),
});
export type State = z.infer<typeof State>;

/** What a step returns: the state, and what follows. The workflow goes there from its state `Decide`. */
export type StepResult = State & {
  readonly next: "FORWARD" | "WAIT_TO_FORWARD" | "SUBMIT" | "WAIT_TO_SUBMIT" | "DONE" | "ALREADY_RUNNING" | "FAIL";
  readonly wait_seconds?: number;
  readonly reason?: string | null;
};

export const firstState = (order_id: string): State => ({
  order_id,
  passes_left: checkoutLimits.passes,
  consecutive_waits: 0,
  version: null,
});
