import * as z from "zod/mini";
import { keys, type ParentRef } from "../table/keys.ts";
import { get, getMany, parseItem, readItem } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { dayOf, dayPrefix, fileDay, fileOwner } from "./file-keys.ts";
import { allFiles, removeFile } from "./files.ts";

const dayMs = 24 * 60 * 60 * 1000;
const dayNumber = (day: string) => Date.parse(`${day}T00:00:00Z`) / dayMs;

/** Each day is read again after this many days, because a crashed delete leaves a file in any day, not only in a recent one. */
const rereadDays = 30;

/**
 * Returns the days that the sweep of `today` must read, ascending: days whose files have all become a day old since the last
 * sweep, and older days that must be read again. Includes the days of missed sweeps.
 */
export const dueDays = (first: string, lastSweep: string | undefined, today: string): string[] => {
  const newest = dayNumber(today) - 2;
  const since = lastSweep === undefined ? Number.POSITIVE_INFINITY : dayNumber(today) - dayNumber(lastSweep);
  const due: string[] = [];
  for (let day = dayNumber(first); day <= newest; day += 1)
    if ((newest - day) % rereadDays < since) due.push(dayOf(new Date(day * dayMs)));
  return due;
};

/** Longer than any upload takes, so an older file without metadata will never get any. */
const graceMs = 24 * 60 * 60 * 1000;

/** Enough time to read a page of files, remove a batch, and save the progress. */
const reserveMs = 20_000;

/**
 * The progress of the sweep. `first_on` is the day of the table's first sweep, `swept_on` the day of the last finished one.
 * `sweeping` is an unfinished sweep, which continues after the day `done`.
 */
const Bookmark = z.object({
  first_on: z.string(),
  swept_on: z.optional(z.string()),
  sweeping: z.optional(z.object({ of: z.string(), done: z.string() })),
});
type Bookmark = z.infer<typeof Bookmark>;

const noCounts = { days: 0, files: 0, removed: 0 };

type SweepOptions = {
  readonly now: Date;
  /** Returns the time left. The sweep stops before the time is over, and the next sweep continues from there. */
  readonly remainingMs?: () => number;
  readonly dryRun?: boolean;
  readonly all?: boolean;
  /** Removes files even if a day is suspicious. */
  readonly force?: boolean;
  /** The counts so far, for a progress display. */
  readonly counts?: typeof noCounts;
};

type Swept = typeof noCounts & {
  readonly finished: boolean;
  /** Set if the sweep stopped at a day because too many of its files are not in the table. */
  readonly stopped?: { readonly day: string; readonly files: number; readonly unknown: number };
};

/** Whether a day has more unknown files than crashes leave. The table may be wrong, empty, or restored from before that day. */
const isSuspicious = ({ files, unknown }: { readonly files: number; readonly unknown: number }) =>
  unknown > 10 && unknown > files * 0.05;

/**
 * Removes files without metadata that are older than a day. A crash between the two steps of an upload or a delete leaves such
 * files. Stops at a suspicious day, which the next sweep tries again. Two sweeps can run at the same time. Throws 503 if S3 or
 * DynamoDB is unavailable; the next sweep continues from there.
 */
export const sweepOrphanFiles = async (options: SweepOptions): Promise<Swept> => {
  const { now, dryRun = false, all = false, force = false, counts = { ...noCounts } } = options;
  const isLate = () => (options.remainingMs?.() ?? Number.POSITIVE_INFINITY) < reserveMs;
  const bookmark = await readBookmark(dayOf(now), dryRun);
  const today = (all ? undefined : bookmark.sweeping?.of) ?? dayOf(now);
  const save = (progress: Partial<Bookmark>) =>
    dryRun || all ? undefined : transact({ sweep: { put: { ...keys.sweep(), ...bookmark, ...progress } } });
  for (const day of await daysLeft(bookmark, today, all)) {
    const found = isLate() ? undefined : await readDay(day, now, isLate);
    if (!found) return { ...counts, finished: false };
    const { files, orphans } = found;
    counts.files += files;
    const unknown = orphans.filter(({ isKnown }) => !isKnown).length;
    if (!force && isSuspicious({ files, unknown }))
      return { ...counts, finished: false, stopped: { day, files, unknown } };
    for (const [index, orphan] of orphans.entries()) {
      if (index % batchSize === batchSize - 1 && isLate()) return { ...counts, finished: false };
      if (dryRun || (await removeOrphan(orphan))) counts.removed += 1;
    }
    counts.days += 1;
    if (files > 0) await save({ sweeping: { of: today, done: day } });
  }
  await save({ swept_on: today, sweeping: undefined });
  return { ...counts, finished: true };
};

/** Reads the bookmark. The first sweep of a table writes it. */
const readBookmark = async (today: string, dryRun: boolean): Promise<Bookmark> => {
  const stored = await get(keys.sweep());
  if (stored) return parseItem(Bookmark, stored);
  const first: Bookmark = { first_on: today };
  if (dryRun) return first;
  const unmet = await transact({ sweep: { put: { ...keys.sweep(), ...first }, when: { exists: false } } });
  return parseItem(Bookmark, unmet?.get("sweep") ?? first);
};

/** Makes today the day of the first sweep, if there was none, for a stack without a schedule. Throws 503 if DynamoDB is unavailable. */
export const rememberFirstDay = async (now: Date): Promise<void> => {
  await readBookmark(dayOf(now), false);
};

/** How many days before its first sweep a table's files can be from. A sweep reads the days up to two days ago. */
const daysBeforeFirst = 2;

/**
 * Returns the oldest day that is swept. Files from days before it are another table's. So a sweep removes none of them if a new
 * table replaces the right one by mistake.
 */
const oldestSwept = ({ first_on }: Bookmark): string =>
  dayOf(new Date((dayNumber(first_on) - daysBeforeFirst) * dayMs));

/** Returns the oldest day that is swept, and the day of the last finished sweep, if any. Throws 503 if DynamoDB is unavailable. */
export const sweptDays = async (): Promise<{ readonly oldest?: string; readonly last?: string | undefined }> => {
  const bookmark = await readItem(Bookmark, keys.sweep());
  return bookmark ? { oldest: oldestSwept(bookmark), last: bookmark.swept_on } : {};
};

/** Returns the day of the oldest file, or `own` if that is later. Returns undefined if there is no file. */
const firstDay = async (own: string): Promise<string | undefined> => {
  for await (const { key } of allFiles()) {
    // The key of any other file gives no day.
    const day = fileDay(key) ?? own;
    return day > own ? day : own;
  }
  return undefined;
};

const daysLeft = async (bookmark: Bookmark, today: string, all: boolean): Promise<string[]> => {
  const { swept_on, sweeping } = bookmark;
  const first = await firstDay(oldestSwept(bookmark));
  if (first === undefined) return [];
  if (all) return dueDays(first, undefined, today);
  return dueDays(first, swept_on, today).filter((day) => sweeping === undefined || day > sweeping.done);
};

type OwnedFile = { readonly key: string; readonly parent: ParentRef; readonly id: string };

/** A file without metadata. It is known if the table has a record of its upload or its delete. */
type Orphan = OwnedFile & { readonly isKnown: boolean };

/** How many files are looked up in one call, or removed before the time is checked. */
const batchSize = 50;

/** How many files of a day are read before the time is checked. */
const pageSize = 1_000;

/** Returns the number of files of a day, and those without metadata that are old enough, or undefined if the time is over. */
const readDay = async (
  day: string,
  now: Date,
  isLate: () => boolean,
): Promise<{ files: number; orphans: Orphan[] } | undefined> => {
  const orphans: Orphan[] = [];
  let files = 0;
  let batch: OwnedFile[] = [];
  for await (const { key, storedAt } of allFiles(dayPrefix(day))) {
    if (files > 0 && files % pageSize === 0 && isLate()) return undefined;
    files += 1;
    const owner = fileOwner(key);
    if (owner && now.getTime() - storedAt.getTime() > graceMs) batch.push({ key, ...owner });
    if (batch.length < batchSize) continue;
    orphans.push(...(await orphansOf(batch)));
    batch = [];
  }
  orphans.push(...(await orphansOf(batch)));
  return { files, orphans };
};

const orphansOf = async (files: readonly OwnedFile[]): Promise<Orphan[]> => {
  const metadata = await getMany(files.map(({ parent, id }) => keys.attachment(parent, id)));
  const orphans = files.filter((_, index) => metadata[index] === undefined);
  const records = await getMany(
    orphans.flatMap(({ parent, id }) => [keys.upload(parent, id), keys.unfinishedDelete(parent, id)]),
  );
  return orphans.map((file, index) => ({ ...file, isKnown: Boolean(records[2 * index] ?? records[2 * index + 1]) }));
};

/** Removes a file if it still has no metadata, together with the record of an unfinished delete. */
const removeOrphan = async ({ key, parent, id }: OwnedFile): Promise<boolean> => {
  const unfinished = keys.unfinishedDelete(parent, id);
  const [metadata, record] = await getMany([keys.attachment(parent, id), unfinished]);
  if (metadata) return false;
  await removeFile(key);
  if (record) await transact({ unfinished: { delete: unfinished } });
  return true;
};
