import { sweepOrphanFiles } from "../shared/attachments/sweep.ts";
import { expireReceipts } from "../shared/checkout/expire-receipts.ts";
import { countOverdueRuns } from "../shared/checkout/metrics.ts";
import { emitCounts, log, loggingFailures } from "../shared/log.ts";

type Context = { readonly functionName: string; readonly getRemainingTimeInMillis: () => number };

/** Runs daily. A sweep that reaches the timeout continues the next day. Also counts checkouts whose end was not recorded. */
export const handler = loggingFailures("sweep", async (_event: unknown, context: Context) => {
  const now = new Date();
  emitCounts({ OverdueCheckouts: await countOverdueRuns(now) }, now, context.functionName);
  await expireReceipts(context.getRemainingTimeInMillis);
  const swept = await sweepOrphanFiles({ now, remainingMs: context.getRemainingTimeInMillis });
  const { days: SweptDays, files: SweptFiles, removed: OrphanFilesRemoved, finished, stopped } = swept;
  if (stopped) log.error("SWEEP_STOPPED", stopped);
  const [SweepsUnfinished, SweepsStopped] = [finished || stopped ? 0 : 1, stopped ? 1 : 0];
  const files = { SweptDays, SweptFiles, OrphanFilesRemoved, SweepsUnfinished, SweepsStopped };
  emitCounts(files, now, context.functionName);
  return swept;
});
