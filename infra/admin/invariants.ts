import { allFiles } from "../../shared/attachments/files.ts";
import { attachmentFindings } from "../../shared/attachments/invariants.ts";
import { switchFindings } from "../../shared/switches/invariants.ts";
import { scan } from "../../shared/table/read.ts";
import type { Finding, Snapshot } from "../../shared/table/snapshot.ts";
import { snapshot } from "../../shared/table/snapshot.ts";

/** Checks that the items of the table are consistent with each other and with the files in the bucket. Read-only. */

const findingsIn = (snapshot: Snapshot): Finding[] =>
  [...attachmentFindings(snapshot), ...switchFindings(snapshot)].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));

const nameOf = ({ rule, at }: Finding) => `${rule} ${at}`;

export type Progress = { items: number; files: number };

async function* counting<T>(all: AsyncIterable<T>, add: () => void): AsyncGenerator<T> {
  for await (const one of all) {
    add();
    yield one;
  }
}

const readSnapshot = async (now: Date, progress: Progress): Promise<Snapshot> => {
  const items = counting(scan(), () => {
    progress.items += 1;
  });
  const files = counting(allFiles(), () => {
    progress.files += 1;
  });
  // The items first, because a file is stored before its metadata.
  const stored = await Array.fromAsync(items);
  return snapshot(stored, await Array.fromAsync(files), now);
};

/** A finding counts if this many reads in a row have it. */
const reads = 3;

/**
 * Reads the whole table and bucket into memory, and returns what is wrong. Requests may write at the same time, so one
 * read can catch a change halfway: only findings that all three reads have are returned.
 */
export const checkInvariants = async (now: Date, progress: Progress = { items: 0, files: 0 }): Promise<Finding[]> => {
  let found = findingsIn(await readSnapshot(now, progress));
  for (let again = 1; again < reads && found.length > 0; again += 1) {
    const latest = new Set(findingsIn(await readSnapshot(now, progress)).map(nameOf));
    found = found.filter((finding) => latest.has(nameOf(finding)));
  }
  return found;
};
