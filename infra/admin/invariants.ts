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

/** How much has been read so far. */
export type Read = { items: number; files: number };

async function* counted<T>(all: AsyncIterable<T>, add: () => void): AsyncGenerator<T> {
  for await (const one of all) {
    add();
    yield one;
  }
}

const read = async (now: Date, progress: Read): Promise<Snapshot> => {
  const items = counted(scan("all"), () => {
    progress.items += 1;
  });
  const files = counted(allFiles(), () => {
    progress.files += 1;
  });
  // The items first: a file is stored before its metadata.
  const stored = await Array.fromAsync(items);
  return snapshot(stored, await Array.fromAsync(files), now);
};

/** Reads that agree before something is believed to be wrong. */
const reads = 3;

/**
 * Reads the whole table and bucket, into memory, and returns what is wrong. Others write in the meantime, so what one
 * read finds may have been under way: only what all of three reads find is returned.
 */
export const checkInvariants = async (now: Date, progress: Read = { items: 0, files: 0 }): Promise<Finding[]> => {
  let found = findings(await read(now, progress));
  for (let again = 1; again < reads && found.length > 0; again += 1) {
    const anew = new Set(findings(await read(now, progress)).map(name));
    found = found.filter((finding) => anew.has(name(finding)));
  }
  return found;
};
