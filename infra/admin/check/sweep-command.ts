import type { Command } from "commander";
import { sweepOrphanFiles } from "../../../shared/attachments/sweep.ts";
import { expireReceipts } from "../../../shared/checkout/expire-receipts.ts";
import { type Format, printRecord } from "../cli/output.ts";
import { formatCount, withProgress } from "../cli/progress.ts";

export const addSweepCommand = (program: Command): void => {
  program
    .command("sweep")
    .description(
      "remove files without metadata that are older than a day, for the days that are due (on AWS, it also runs daily)",
    )
    .option("--dry-run", "count files, but remove nothing", false)
    .option("--all", "include days that are not due", false)
    .option("--force", "remove files even if many of a day have no metadata (see SWEEP_STOPPED)", false)
    .action(async ({ json, ...options }: Format & { dryRun: boolean; all: boolean; force: boolean }) => {
      const counts = { days: 0, files: 0, removed: 0 };
      if (!options.dryRun) await withProgress(() => expireReceipts(), "Reading deleted attachments …");
      const { removed, stopped, ...swept } = await withProgress(
        () => sweepOrphanFiles({ now: new Date(), counts, ...options }),
        () =>
          `Sweeping … ${formatCount(counts.days)} days and ${formatCount(counts.files)} files, ${formatCount(counts.removed)} of them orphans`,
      );
      const stop = stopped && { stopped: { code: "SWEEP_STOPPED", ...stopped } };
      printRecord({ ...swept, [options.dryRun ? "would_remove" : "removed"]: removed, ...stop }, { json });
      if (!stopped) return;
      process.exitCode = 1;
      const { day, files, unknown } = stopped;
      console.error(
        `SWEEP_STOPPED: ${formatCount(unknown)} of the ${formatCount(files)} files of ${day} are not in the table; none was removed. Check that this is the right table. To delete such files permanently, run: sweep --force`,
      );
    });
};
