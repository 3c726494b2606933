import * as z from "zod/mini";
import { keys, type ParentRef } from "../table/keys.ts";
import { get, getMany, parseItem, readItem } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { dayOf, dayPrefix, fileDay, fileOwner } from "./file-keys.ts";
import { allFiles, removeFile, type StoredFile } from "./files.ts";

const dayMs = 24 * 60 * 60 * 1000;
const dayNumber = (day: string) => Date.parse(`${day}T00:00:00Z`) / dayMs;

/** Each day is read again after this many days, because a crashed delete leaves a file in any day, not only in a recent one. */
const rereadDays = 30;

/**
 * Returns the days that the sweep of `today` must read, ascending. These are the days whose files have all become a day old since
 * the last sweep, the days of missed sweeps, and older days that must be read again.
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

/** Enough time to list a page of files, remove a batch, and save the progress. */
const reserveMs = 20_000;

/**
 * The place in a day, after the file `after`. The sweep reads a day twice. It counts the whole day first, and removes files only in
 * the second pass. The counts are those of the day, but `unknown` begins again with the second pass.
 */
const Place = z.object({
  day: z.string(),
  pass: z.enum(["count", "remove"]),
  after: z.optional(z.string()),
  files: z.number(),
  orphans: z.number(),
  unknown: z.number(),
});
type Place = z.infer<typeof Place>;

const startOf = (day: string): Place => ({ day, pass: "count", after: undefined, files: 0, orphans: 0, unknown: 0 });

/**
 * The progress of the sweep. `first_on` is the day of the table's first sweep. `swept_on` is the day of the last finished sweep.
 * `sweeping` is an unfinished sweep, which continues after the day `done`, at the place `at`.
 */
const Bookmark = z.object({
  first_on: z.string(),
  swept_on: z.optional(z.string()),
  sweeping: z.optional(z.object({ of: z.string(), done: z.optional(z.string()), at: z.optional(Place) })),
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

const isLate = ({ remainingMs }: SweepOptions) => remainingMs !== undefined && remainingMs() < reserveMs;

/** Whether a day has more unknown files than crashes leave. The table may be wrong, empty, or restored from before that day. */
const isSuspicious = ({ files, unknown }: { readonly files: number; readonly unknown: number }) =>
  unknown > 10 && unknown > files * 0.05;

/**
 * Removes files without metadata that are older than a day. A crash between the two steps of an upload or a delete leaves such
 * files. Stops at a suspicious day, which the next sweep tries again. Two sweeps can run at the same time. Throws 503 if S3 or
 * DynamoDB is unavailable. The next sweep then continues from there.
 */
export const sweepOrphanFiles = async (options: SweepOptions): Promise<Swept> => {
  const { now, dryRun = false, all = false, counts = { ...noCounts } } = options;
  const bookmark = await readBookmark(dayOf(now), { dryRun });
  const { of, done, at } = (all ? undefined : bookmark.sweeping) ?? {};
  const today = of ?? dayOf(now);
  const save = async (progress: Partial<Bookmark>) => {
    if (!dryRun && !all) await transact({ sweep: { put: { ...keys.sweep(), ...bookmark, ...progress } } });
  };
  let sweeping = { of: today, done };
  const saveAt = (place?: Place) => save({ sweeping: { ...sweeping, at: place } });
  for (const day of await daysLeft(bookmark, today, all)) {
    if (isLate(options)) return { ...counts, finished: false };
    const place = at?.day === day && !dryRun ? at : startOf(day);
    const { isOver, stopped } = await sweepDay(place, { ...options, counts, saveAt });
    // The next sweep counts a suspicious day again.
    if (stopped) await saveAt();
    if (isOver || stopped) return { ...counts, finished: false, ...(stopped && { stopped }) };
    counts.days += 1;
    sweeping = { of: today, done: day };
    if (place.files > 0) await saveAt();
  }
  await save({ swept_on: today, sweeping: undefined });
  return { ...counts, finished: true };
};

type DayOptions = SweepOptions & {
  readonly counts: typeof noCounts;
  readonly saveAt: (place: Place) => Promise<void>;
};

/** Sweeps a day from the place, which moves on, until the day or the time is over. */
const sweepDay = async (place: Place, options: DayOptions): Promise<Pick<Swept, "stopped"> & { isOver?: true }> => {
  const { dryRun = false, force = false, counts } = options;
  if (place.pass === "count") {
    const isCounted = await readBatches(place, options, async (files, orphans) => {
      counts.files += files;
      place.files += files;
      place.orphans += orphans.length;
      place.unknown += countUnknown(orphans);
      return true;
    });
    if (!isCounted) return { isOver: true };
    const { day, files, unknown } = place;
    if (!force && isSuspicious(place)) return { stopped: { day, files, unknown } };
    if (dryRun) counts.removed += place.orphans;
    if (dryRun || place.orphans === 0) return {};
    Object.assign(place, { pass: "remove", after: undefined, unknown: 0 });
  }
  const isSwept = await readBatches(place, options, async (_, orphans) => {
    place.unknown += countUnknown(orphans);
    if (!force && isSuspicious(place)) return false;
    for (const orphan of orphans) if (await removeOrphan(orphan)) counts.removed += 1;
    return true;
  });
  if (isSwept) return {};
  if (force || !isSuspicious(place)) return { isOver: true };
  // The day has changed since it was counted, or an operator forced that sweep and interrupted it.
  return sweepDay(Object.assign(place, startOf(place.day)), options);
};

/** Reads the bookmark. The first sweep of a table writes it. */
const readBookmark = async (today: string, { dryRun = false } = {}): Promise<Bookmark> => {
  const stored = await get(keys.sweep());
  if (stored) return parseItem(Bookmark, stored);
  const first: Bookmark = { first_on: today };
  if (dryRun) return first;
  const unmet = await transact({ sweep: { put: { ...keys.sweep(), ...first }, when: { exists: false } } });
  return parseItem(Bookmark, unmet?.get("sweep") ?? first);
};

/** Makes today the day of the first sweep, if there was none, for a stack without a schedule. Throws 503 if DynamoDB is unavailable. */
export const rememberFirstDay = async (now: Date): Promise<void> => {
  await readBookmark(dayOf(now));
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
    // A key that is not an attachment's gives no day.
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
  return dueDays(first, swept_on, today).filter((day) => sweeping?.done === undefined || day > sweeping.done);
};

type OwnedFile = { readonly key: string; readonly parent: ParentRef; readonly id: string };

/** A file without metadata. It is known if the table has a record of its upload or its delete. */
type Orphan = OwnedFile & { readonly isKnown: boolean };

/** How many files are looked up in one call, and how many orphans are removed before the time is checked. */
const batchSize = 50;

/** How many files are read before the progress is saved. S3 lists as many in one call. */
const pageSize = 1_000;

/**
 * Passes the number of files in each batch, and its orphans, to `handle`, until that returns false or the time is over. Returns whether
 * the day was read to its end. Saves the place from time to time, because a sweep can be killed.
 */
const readBatches = async (
  place: Place,
  options: DayOptions,
  handle: (files: number, orphans: readonly Orphan[]) => Promise<boolean>,
): Promise<boolean> => {
  const { now, saveAt } = options;
  let read = 0;
  for await (const batch of batchesOf(allFiles(dayPrefix(place.day), place.after))) {
    if (isLate(options)) {
      await saveAt(place);
      return false;
    }
    const old = batch.filter(({ storedAt }) => now.getTime() - storedAt.getTime() > graceMs);
    const owned = old.flatMap(({ key }) => {
      const owner = fileOwner(key);
      return owner ? [{ key, ...owner }] : [];
    });
    if (!(await handle(batch.length, await orphansOf(owned)))) return false;
    place.after = batch.at(-1)?.key;
    read += batch.length;
    if (read % pageSize === 0) await saveAt(place);
  }
  return true;
};

async function* batchesOf(files: AsyncIterable<StoredFile>): AsyncGenerator<StoredFile[]> {
  let batch: StoredFile[] = [];
  for await (const file of files) {
    batch.push(file);
    if (batch.length < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

const countUnknown = (orphans: readonly Orphan[]) => orphans.filter(({ isKnown }) => !isKnown).length;

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
