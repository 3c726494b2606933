import type { Command } from "commander";
import { sweepOrphanFiles } from "../../shared/attachments/sweep.ts";
import type { Output } from "./options.ts";
import { printThing } from "./output.ts";
import { count, withProgress } from "./progress.ts";

/** `sweep`: what runs daily, now. */
export const addSweepCommand = (program: Command): void => {
  program
    .command("sweep")
    .description(
      "remove files older than a day that have no metadata, of the days that are due (it runs daily by itself)",
    )
    .option("--dry-run", "count them, remove nothing", false)
    .option("--all", "every day, due or not", false)
    .action(async ({ json, dryRun, all }: Output & { dryRun: boolean; all: boolean }) => {
      let last = { days: 0, files: 0, removed: 0 };
      const onPage = (counts: typeof last) => {
        last = { ...counts };
      };
      const options = { now: new Date(), dryRun, all, onPage };
      const { removed, ...swept } = await withProgress(
        () =>
          `Sweeping … ${count(last.days)} days and ${count(last.files)} files, ${count(last.removed)} of them orphans`,
        () => sweepOrphanFiles(options),
      );
      printThing({ ...swept, [dryRun ? "would_remove" : "removed"]: removed }, { json });
    });
};
