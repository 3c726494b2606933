import { env } from "../env.ts";
import { forEachConcurrently } from "../for-each-concurrently.ts";
import { log } from "../log.ts";
import { collections } from "../table/keys.ts";
import { leaveOut, queryAll } from "../table/read.ts";
import { isActive, isOpen, readRun } from "./checkout-run.ts";
import type { RunRef } from "./checkout-schema.ts";

/** The metrics of checkouts that infra/aws/operations.ts raises alarms for. */

/**
 * Counts a failed checkout, by the stack's name, which separates the stages of an account. The customer corrects a refusal, so only
 * a fault raises an alarm.
 */
export const countFailure = ({ order_id, run }: RunRef, kind: "refused" | "fault"): void => {
  const fields = { order_id, run, kind, stack: env.stackName() };
  if (kind === "fault")
    log.error("checkout-failed", { ...fields, FailedCheckouts: 1 }, { stack: { FailedCheckouts: "Count" } });
  else log.info("checkout-failed", { ...fields, RefusedCheckouts: 1 }, { stack: { RefusedCheckouts: "Count" } });
};

const longMs = 3_600_000;

/** Counts a wait at whose end the checkout is an hour old or more. Without an alarm, ten waits as long as a carrier asks for would pass. */
export const countLongWait = ({ order_id, run }: RunRef, startedAt: Date, waitSeconds: number): void => {
  const next_try_at = new Date(Date.now() + waitSeconds * 1000);
  if (next_try_at.getTime() - startedAt.getTime() < longMs) return;
  const fields = { order_id, run, started_at: startedAt, next_try_at, stack: env.stackName(), WaitingCheckouts: 1 };
  log.error("checkout-waits", fields, { stack: { WaitingCheckouts: "Count" } });
};

/** Counts the orders whose last run is recorded as running for longer than a run can take. Its end was not recorded. */
export const countOverdueRuns = async (now: Date): Promise<number> => {
  let overdue = 0;
  // Reads that start together share a request, which takes a hundred items.
  await forEachConcurrently(100, queryAll(collections.openCheckouts()), async ({ id }) => {
    const run = await readRun(String(id)).catch(leaveOut);
    if (run && isOpen(run) && !isActive(run, now)) overdue += 1;
  });
  return overdue;
};
