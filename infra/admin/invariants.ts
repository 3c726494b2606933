import { allFiles } from "../../shared/attachments/files.ts";
import { attachmentFindings } from "../../shared/attachments/invariants.ts";
import { switchFindings } from "../../shared/switches/invariants.ts";
import { scan } from "../../shared/table/read.ts";
import type { Finding, Snapshot } from "../../shared/table/snapshot.ts";
import { snapshot } from "../../shared/table/snapshot.ts";

/** Everything that must hold between the items of the table, and between the table and the bucket. Read-only. */

/** All that is wrong with a table and a bucket, by rule and place. */
export const findings = (of: Snapshot): Finding[] =>
  [...attachmentFindings(of), ...switchFindings(of)].sort((a, b) => (name(a) < name(b) ? -1 : 1));

const name = ({ rule, at }: Finding) => `${rule} ${at}`;

const read = async (now: Date): Promise<Snapshot> => {
  const items = await Array.fromAsync(scan("all"));
  return snapshot(items, await Array.fromAsync(allFiles()), now);
};

/** Reads that agree before something is believed to be wrong. */
const reads = 3;

/**
 * Reads the whole table and bucket, into memory, and tells what is wrong. Nobody stops writing meanwhile, so what one
 * read finds may have been under way: only what every one of three reads finds is told.
 */
export const checkInvariants = async (now: Date): Promise<Finding[]> => {
  let found = findings(await read(now));
  for (let again = 1; again < reads && found.length > 0; again += 1) {
    const anew = new Set(findings(await read(now)).map(name));
    found = found.filter((finding) => anew.has(name(finding)));
  }
  return found;
};
