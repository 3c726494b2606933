import type { Command } from "commander";
import { sweepOrphanFiles } from "../../shared/attachments/sweep.ts";
import type { Output } from "./options.ts";
import { printRecord } from "./output.ts";
import { formatCount, withProgress } from "./progress.ts";

/** `sweep`: runs the daily sweep now. */
export const addSweepCommand = (program: Command): void => {
  program
    .command("sweep")
    .description(
      "remove files without metadata that are older than a day, for the days that are due (also runs daily on its own)",
    )
    .option("--dry-run", "count files, but remove nothing", false)
    .option("--all", "include days that are not due", false)
    .action(async ({ json, dryRun, all }: Output & { dryRun: boolean; all: boolean }) => {
      let last = { days: 0, files: 0, removed: 0 };
      const onPage = (counts: typeof last) => {
        last = { ...counts };
      };
      const options = { now: new Date(), dryRun, all, onPage };
      const { removed, ...swept } = await withProgress(
        () =>
          `Sweeping … ${formatCount(last.days)} days and ${formatCount(last.files)} files, ${formatCount(last.removed)} of them orphans`,
        () => sweepOrphanFiles(options),
      );
      printRecord({ ...swept, [dryRun ? "would_remove" : "removed"]: removed }, { json });
    });
};
