import type { Command } from "commander";
import type { Output } from "./make.ts";
import { printThing } from "./output.ts";

/** `sweep`: what runs daily, now. */
export const addSweepCommand = (program: Command): void => {
  program
    .command("sweep")
    .description(
      "remove files older than a day that have no metadata, of the days that are due (it runs daily by itself)",
    )
    .option("--dry-run", "count them, remove nothing", false)
    .option("--all", "every day, due or not", false)
    .option("--json", "print JSON")
    .action(async ({ json, dryRun, all }: Output & { dryRun: boolean; all: boolean }) => {
      const { sweepOrphanFiles } = await import("../../shared/attachments/sweep.ts");
      const { removed, ...swept } = await sweepOrphanFiles({ now: new Date(), dryRun, all });
      printThing({ ...swept, [dryRun ? "would_remove" : "removed"]: removed }, { json });
    });
};
