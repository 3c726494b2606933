import { env } from "../env.ts";
import { log } from "../log.ts";
import { collections } from "../table/keys.ts";
import { queryAll } from "../table/read.ts";
import { isActive, isOpen, readRun } from "./checkout-run.ts";
import type { RunRef } from "./checkout-schema.ts";

/** The metrics of checkouts that infra/aws/operations.ts raises alarms for. */

/**
 * Counts a failed checkout, by the stack's name, which separates the stages of an account. The customer corrects a refusal; only a
 * fault raises an alarm.
 */
export const countFailure = ({ order_id, run }: RunRef, kind: "refused" | "fault"): void => {
  const fields = { order_id, run, kind, stack: env.stackName() };
  if (kind === "fault")
    log.error("checkout-failed", { ...fields, FailedCheckouts: 1 }, { stack: { FailedCheckouts: "Count" } });
  else log.info("checkout-failed", { ...fields, RefusedCheckouts: 1 }, { stack: { RefusedCheckouts: "Count" } });
};

/** Counts the orders whose last run is recorded as running for longer than a run can take. Its end was not recorded. */
export const countOverdueRuns = async (now: Date): Promise<number> => {
  const orders = await Array.fromAsync(queryAll(collections.openCheckouts()), ({ id }) => String(id));
  const runs = await Promise.all(orders.map(readRun));
  return runs.filter((run) => run && isOpen(run) && !isActive(run, now)).length;
};
