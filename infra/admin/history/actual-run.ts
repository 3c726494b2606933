import { isOpen, readRun } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun, FailureKind } from "../../../shared/checkout/checkout-schema.ts";
import { isExecuting } from "../../../shared/checkout/execution.ts";

/** Returns an order's last run. Its status is CRASHED if its end is not recorded although its execution has ended. */
export const readActualRun = async (orderId: string): Promise<CheckoutRun | undefined> => {
  const before = await readRun(orderId);
  if (!before || !isOpen(before) || (await isExecuting(before))) return before;
  const last = await readRun(orderId);
  return last?.run === before.run && isOpen(last) ? { ...last, status: "CRASHED" } : last;
};

/** Returns whether the carrier has refused or something else has failed, or null if the run has not failed. A crash is a fault. */
export const failureOf = (last: Pick<CheckoutRun, "failure" | "status"> | undefined): FailureKind | null =>
  !last || isOpen(last) || last.status === "SUCCEEDED" ? null : (last.failure ?? "fault");
