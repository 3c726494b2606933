import type { Command } from "commander";
import { checkInvariants } from "./invariants.ts";
import type { Output } from "./options.ts";
import { printRows } from "./output.ts";
import { count, withProgress } from "./progress.ts";

/** `check`: exits with 1 where anything is violated. */
export const addCheckCommand = (program: Command): void => {
  program
    .command("check")
    .description(
      "verify everything that must hold between items and files; reads the whole table and bucket, changes nothing",
    )
    .action(async ({ json }: Output) => {
      const read = { items: 0, files: 0 };
      const found = await withProgress(
        () => `Checking … ${count(read.items)} items and ${count(read.files)} files read`,
        () => checkInvariants(new Date(), read),
      );
      if (found.length > 0 || json) printRows(found, { json, whole: true });
      else console.log("Everything holds.");
      if (found.some(({ level }) => level === "violation")) process.exitCode = 1;
    });
};
