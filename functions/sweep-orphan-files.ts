import { sweepOrphanFiles } from "../shared/attachments/sweep.ts";
import { emitCounts, log } from "../shared/log.ts";

type Context = { readonly functionName: string; readonly getRemainingTimeInMillis: () => number };

/** Runs daily. A sweep that does not finish before the timeout continues the next day. */
export const handler = async (_event: unknown, { functionName, getRemainingTimeInMillis }: Context) => {
  const now = new Date();
  const swept = await sweepOrphanFiles({ now, remainingMs: getRemainingTimeInMillis });
  const { days, files, removed, finished, stopped } = swept;
  if (stopped) log.error("SWEEP_STOPPED", stopped);
  const counts = {
    SweptDays: days,
    SweptFiles: files,
    OrphanFilesRemoved: removed,
    SweepsUnfinished: finished || stopped ? 0 : 1,
    SweepsStopped: stopped ? 1 : 0,
  };
  emitCounts(counts, now, functionName);
  return swept;
};
