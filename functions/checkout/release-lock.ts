import * as z from "zod/mini";
import { isActive, markCrashed, readRun } from "../../shared/checkout/checkout-run.ts";
import { EndedExecution, isRedriven, orderOf } from "../../shared/checkout/execution.ts";
import { countFailure } from "../../shared/checkout/metrics.ts";
import { log, loggingFailures } from "../../shared/log.ts";

/** Runs after a checkout's execution has failed. Releases the lock if the execution's own failure path could not. */
export const handler = loggingFailures("release-lock", async (event: unknown): Promise<void> => {
  const { detail } = z.parse(z.object({ detail: EndedExecution }), event);
  const { name: run, status } = detail;
  const order = await orderOf(detail);
  const last = order && (await readRun(order));
  const isLocked = last && last.run === run && isActive(last, new Date());
  const released = isLocked && !(await isRedriven(detail)) ? await markCrashed(order, last, new Date()) : false;
  if (released && order) countFailure({ order_id: order, run }, "fault");
  log.info("release-lock", { order_id: order, run, status, released });
});
