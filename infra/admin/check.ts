import type { Command } from "commander";
import type { Finding } from "./finding.ts";
import { checkInvariants, maxFindings } from "./invariants.ts";
import { format, printRows } from "./output.ts";
import { formatCount, withProgress } from "./progress.ts";

/** Reads the whole table and bucket, and returns what is not consistent. The exit code is 1 if there are violations. */
export const findProblems = async (): Promise<Finding[]> => {
  const progress = { items: 0, files: 0 };
  const findings = await withProgress(
    () => checkInvariants(new Date(), progress),
    () => `Checking … ${formatCount(progress.items)} items and ${formatCount(progress.files)} files read`,
  );
  if (findings.length === maxFindings) console.error(`There may be more than these ${formatCount(maxFindings)}.`);
  if (findings.some(({ level }) => level === "violation")) process.exitCode = 1;
  return findings;
};

export const printProblems = (findings: readonly Finding[]): void =>
  findings.length > 0 || format.json ? printRows(findings, true) : console.log("No problems found.");

export const addCheckCommand = (program: Command): void => {
  program
    .command("check")
    .description("check that items and files are consistent; reads the whole table and bucket, and changes nothing")
    .action(async () => printProblems(await findProblems()));
};
