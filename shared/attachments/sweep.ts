import * as z from "zod/mini";
import { keys } from "../table/keys.ts";
import { get, getMany } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { dayOf, dayPrefix, fileDay, fileOwner, filePrefix } from "./file-keys.ts";
import { listFiles, removeFile, type StoredFile } from "./files.ts";

const dayMs = 24 * 60 * 60 * 1000;
const dayNumber = (day: string) => Date.parse(`${day}T00:00:00Z`) / dayMs;

/**
 * A crashed upload leaves a file in a recent day, but a crashed delete can leave one in any day. Every day is therefore
 * read again after this many days.
 */
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

/** Longer than any upload takes: an older file without metadata will never get any. */
const graceMs = 24 * 60 * 60 * 1000;

/** Enough time to finish a page of files and to save the progress. */
const reserveMs = 20_000;

/**
 * The progress of the sweep. `swept_on` is the day of the last finished sweep. `sweeping` is where an unfinished one
 * continues.
 */
const Bookmark = z.object({
  swept_on: z.optional(z.string()),
  sweeping: z.optional(z.object({ of: z.string(), day: z.string(), after: z.optional(z.string()) })),
});
type Bookmark = z.infer<typeof Bookmark>;

type SweepOptions = {
  readonly now: Date;
  /** The time that is left. The sweep stops before it is over, and the next sweep continues from there. */
  readonly remainingMs?: () => number;
  /** Only counts the files that it would remove. */
  readonly dryRun?: boolean;
  /** Reads every day, due or not. */
  readonly all?: boolean;
  /** The number of files to list at a time. */
  readonly pageSize?: number;
  /** Called after each page with the counts so far. */
  readonly onPage?: (counts: Omit<Swept, "finished">) => void;
};

const noCounts = { days: 0, files: 0, removed: 0 };
type Swept = typeof noCounts & { readonly finished: boolean };

/**
 * Removes files without metadata that are older than a day. A crash between the two steps of an upload or a delete leaves
 * such files. Two sweeps can run at the same time. 503 if S3 or DynamoDB is unavailable; the next sweep continues from there.
 */
export const sweepOrphanFiles = async (options: SweepOptions): Promise<Swept> => {
  const { now, dryRun = false, all = false } = options;
  const bookmark = z.parse(Bookmark, (await get(keys.sweep())) ?? {});
  const unfinished = all ? undefined : bookmark.sweeping;
  const today = unfinished?.of ?? dayOf(now);
  const days = await daysLeft(bookmark, today, all);
  const counts = { ...noCounts };
  const save = (progress: Bookmark) =>
    dryRun || all ? undefined : transact({ sweep: { put: { ...keys.sweep(), ...progress } } });
  for (const day of days) {
    let after = day === unfinished?.day ? unfinished.after : undefined;
    do {
      if ((options.remainingMs?.() ?? Number.POSITIVE_INFINITY) < reserveMs) return { ...counts, finished: false };
      const before = counts.files;
      after = await sweepPage(day, after, options, counts);
      options.onPage?.(counts);
      if (counts.files > before) await save({ ...bookmark, sweeping: { of: today, day, after } });
    } while (after !== undefined);
    counts.days += 1;
  }
  await save({ swept_on: today });
  return { ...counts, finished: true };
};

const daysLeft = async ({ swept_on, sweeping }: Bookmark, today: string, all: boolean): Promise<string[]> => {
  const { files } = await listFiles(filePrefix, undefined, 1);
  const first = files[0] && fileDay(files[0].key);
  if (first === undefined) return [];
  if (all) return dueDays(first, undefined, today);
  return dueDays(first, swept_on, today).filter((day) => sweeping === undefined || day >= sweeping.day);
};

/** Sweeps one page of a day. Returns the key to continue after, if there are more files. */
const sweepPage = async (
  day: string,
  after: string | undefined,
  { now, dryRun, pageSize }: SweepOptions,
  counts: { files: number; removed: number },
): Promise<string | undefined> => {
  const { files, more } = await listFiles(dayPrefix(day), after, pageSize);
  const old = files.filter(({ storedAt }) => now.getTime() - storedAt.getTime() > graceMs);
  for (let start = 0; start < old.length; start += 50)
    for (const file of await withoutMetadata(old.slice(start, start + 50)))
      if (dryRun || (await removeOrphan(file))) counts.removed += 1;
  counts.files += files.length;
  return more ? files.at(-1)?.key : undefined;
};

type OwnedFile = { readonly key: string; readonly owner: NonNullable<ReturnType<typeof fileOwner>> };

const withoutMetadata = async (files: readonly StoredFile[]): Promise<OwnedFile[]> => {
  const owned = files.flatMap(({ key }) => {
    const owner = fileOwner(key);
    return owner ? [{ key, owner }] : [];
  });
  const found = await getMany(owned.map(({ owner }) => keys.attachment(owner.parent, owner.id)));
  return owned.filter((_, index) => found[index] === undefined);
};

/** Removes a file if it still has no metadata, together with the record of an unfinished delete. */
const removeOrphan = async ({ key, owner: { parent, id } }: OwnedFile): Promise<boolean> => {
  const unfinished = keys.unfinishedDelete(parent, id);
  const [metadata, record] = await getMany([keys.attachment(parent, id), unfinished]);
  if (metadata) return false;
  await removeFile(key);
  if (record) await transact({ unfinished: { delete: unfinished } });
  return true;
};
