import type { Command } from "commander";
import type { Output } from "./make.ts";
import { printRows } from "./output.ts";

/** `check`: exits with 1 where anything is violated. */
export const addCheckCommand = (program: Command): void => {
  program
    .command("check")
    .description(
      "verify everything that must hold between items and files; reads the whole table and bucket, changes nothing",
    )
    .option("--json", "print JSON")
    .action(async ({ json }: Output) => {
      const { checkInvariants } = await import("./invariants.ts");
      const found = await checkInvariants(new Date());
      if (found.length > 0 || json) printRows(found, { json });
      else console.log("Everything holds.");
      if (found.some(({ level }) => level === "violation")) process.exitCode = 1;
    });
};
