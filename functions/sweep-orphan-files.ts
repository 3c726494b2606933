import { sweepOrphanFiles } from "../shared/attachments/sweep.ts";
import { emitCounts } from "../shared/log.ts";

/** Runs daily. A sweep that does not finish before the timeout continues the next day. */
export const handler = async (_event: unknown, context: { readonly getRemainingTimeInMillis: () => number }) => {
  const now = new Date();
  const swept = await sweepOrphanFiles({ now, remainingMs: context.getRemainingTimeInMillis });
  const { days, files, removed, finished } = swept;
  emitCounts(
    { SweptDays: days, SweptFiles: files, OrphanFilesRemoved: removed, SweepsUnfinished: finished ? 0 : 1 },
    now,
  );
  return swept;
};
