import * as z from "zod/mini";
import { CarrierReceipt } from "../attachments/attachment-schema.ts";
import { env } from "../env.ts";
import { newId, noId, parseUlid } from "../schema/fields.ts";
import { checkoutLimits } from "./limits.ts";

/** The checkout of an order as it is stored, and as the workflow's steps pass it on. */

/** The carrier's last response, or why there was none. It is null unless the call will be repeated. */
const last_answer = z.nullable(z.string());

/**
 * Why a run failed. `refused` means by the carrier or the malware scan. `fault` means for any other reason, which operators
 * investigate.
 */
export const FailureKind = z.enum(["refused", "fault"]);
export type FailureKind = z.infer<typeof FailureKind>;

/** The latest run of an order's checkout. While it is RUNNING or STOPPING, no other run can start. */
export const CheckoutRun = z.object({
  run: z.string(),
  /** The number of the run, counted per order. */
  attempt: z.number(),
  /** The names of the latest runs before this one. */
  earlier_runs: z.array(z.string()),
  /**
   * STOPPING means that a step has found a reason to fail. CRASHED means that the execution ended without a result. The others are
   * the execution's own states.
   */
  status: z.enum(["RUNNING", "STOPPING", "CRASHED", "FAILED", "SUCCEEDED"]),
  started_at: z.string(),
  /** After this time, the carrier processes no call of an earlier run, and no checkout of the cart. */
  calls_end_by: z.string(),
  ended_at: z.nullable(z.string()),
  reason: z.nullable(z.string()),
  failure: z.nullable(FailureKind),
  /**
   * It is unknown whether the carrier has checked the cart out. Either a run has requested that, or a 409 to another call suggests
   * it.
   */
  outcome_unknown: z.boolean(),
  /**
   * The order's cart: the name of the carrier that has it, and an id. Another one is drawn whenever the order goes to another
   * carrier, also for an earlier one, which may have cleared its cart since.
   */
  cart: z.string(),
  /** The idempotency key of the cart's checkout. It is empty before the first one, and after a decision about it. */
  key: z.string(),
  /** This run has sealed the order, for the checkout of the cart. */
  sealed: z.boolean(),
  /**
   * The carrier has accepted this run's checkout of the cart, and the run asks until the carrier says that it is done. `open` means
   * that the carrier has said that it is not done. Only the carrier's word then completes it.
   */
  accepted: z.nullable(z.enum(["unsaid", "open"])),
  /** The carrier has responded that it has checked the cart out. This is final. */
  checked_out: z.boolean(),
  /** How often the run has waited for the carrier without progress. */
  waits: z.number(),
  last_answer,
  /** When the run calls the carrier again, or null if it does not wait. */
  next_try_at: z.nullable(z.string()),
});
export type CheckoutRun = z.infer<typeof CheckoutRun>;

/** Draws a cart for an order. */
export const newCart = (): string => `${env.carrierName()} ${newId()}`;

export const carrierOf = (cart: string): string => cart.slice(0, -27);

/** Whether this deployment calls the carrier that has this cart. */
export const isHere = (cart: string): boolean => carrierOf(cart) === env.carrierName();

/** The reason of a run that has crashed. */
export const withoutResult = "The run stopped without reporting a result.";

/** A receipt is `pending` before the call, so that the next step or run knows of everything that may have reached the carrier. */
export const Receipt = z.object({
  attachment: z.string(),
  of: z.enum(["order", "request"]),
  ...CarrierReceipt.shape,
  sha256: z.string(),
  bytes: z.number(),
  /** The cart that this receipt is about: see CheckoutRun. */
  cart: z.string(),
  /**
   * The idempotency key of the last call that was announced. The next call keeps it while this one is not decided. It is empty if the
   * next call is another one in any case.
   */
  key: z.string(),
  /**
   * Whether the carrier has some version of it. `yes` holds from a confirmed PUT until a DELETE may have acted. `perhaps` holds
   * while a PUT or a DELETE may have acted. With `no`, nothing needs to be withdrawn.
   */
  held: z.enum(["no", "perhaps", "yes"]),
  /** The version of the attachment whose metadata were sent. */
  version: z.number(),
  /**
   * The number of forwarding calls announced. Each announcement replaces the last. With 0, the file has only waited for its scan.
   */
  attempts: z.number(),
  /**
   * The carrier may process a call for the attachment until this time. It is null if the carrier has responded to every such call.
   */
  in_flight_until: z.nullable(z.string()),
  /** The status of the carrier's last decision, and the beginning of its body. */
  status: z.nullable(z.number()),
  answer: z.nullable(z.string()),
  last_answer,
  /** The table's TTL attribute. It is null while the attachment exists, or while the order's next run may have to withdraw it. */
  expires_at: z.nullable(z.number()),
});
export type Receipt = z.infer<typeof Receipt>;

/**
 * The version of the order that the carrier has in full. An order has a seal while its run requests the checkout of the cart, while
 * the outcome is unknown, and after success. Only transactions with the run write and lift it.
 */
export const Seal = z.object({ run: z.string(), version: z.number(), at: z.string() });

/** An order, as far as its seal is concerned. */
export const Sealed = z.object({ seal: z.optional(Seal) });

/** The id of an order as another system sends it, in either case. Any text that is not a ULID becomes an id that no order has. */
export const OrderId = z.pipe(
  z.unknown(),
  z.transform((sent) => parseUlid(String(sent)) ?? noId),
);

export type RunRef = { readonly order_id: string; readonly run: string };

/**
 * The input of a step. It has the execution's name, which is also the run's, its start, and the state that the previous step
 * returned.
 */
export const StepInput = z.object({ run: z.string(), started_at: z.string(), state: z.unknown() });

/**
 * The state of the workflow between its steps. An execution can last a week, so functions get states that earlier versions wrote.
 * See test/shared/checkout/state.test.ts.
 */
export const State = z.object({
  order_id: OrderId,
  /** How often the order may still be forwarded before the run fails. */
  passes_left: z.number(),
  /** How often the run has found the order changed while it forwarded. */
  rounds: z.number(),
  /** How often the run may still correct receipts that the carrier contradicts. */
  corrections_left: z.number(),
  /** How often the run has waited for the carrier without progress. */
  waits: z.number(),
  /** The order's version that the carrier has in full. It is null before all of it was forwarded. */
  version: z.nullable(z.number()),
  /** When the run has read that version. */
  read_at: z.nullable(z.string()),
  /** The version of the receipts that say so. */
  receipts_version: z.nullable(z.number()),
  /** The cart that has this version. */
  cart: z.nullable(z.string()),
});
export type State = z.infer<typeof State>;

/** The output of a step. It has the state and the next step, which the workflow's state `Decide` chooses. */
export type StepResult = State & {
  readonly next: "FORWARD" | "WAIT_TO_FORWARD" | "SUBMIT" | "WAIT_TO_SUBMIT" | "DONE" | "ALREADY_RUNNING" | "FAIL";
  readonly wait_seconds?: number;
  readonly reason?: string | null;
};

export const firstState = (order_id: string): State => ({
  order_id,
  passes_left: checkoutLimits.passes,
  rounds: 0,
  corrections_left: checkoutLimits.corrections,
  waits: 0,
  version: null,
  read_at: null,
  receipts_version: null,
  cart: null,
});
