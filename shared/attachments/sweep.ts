import * as z from "zod/mini";
import { dayOf, dayPrefix, fileDay, fileOwner, filePrefix, keys } from "../table/keys.ts";
import { get, getMany } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { listFiles, removeFile, type StoredFile } from "./files.ts";

const dayMs = 24 * 60 * 60 * 1000;
const numberOf = (day: string) => Date.parse(`${day}T00:00:00Z`) / dayMs;

/** Uploads that crash leave their file under a day just past; deletes that crash, under any: each is read again so often. */
const rereadDays = 30;

/**
 * The days due in the sweep of `today`, ascending: those of which every file has become a day old since the last sweep,
 * and the older ones whose turn it is to be read again. Days that a missed sweep should have read are among them.
 */
export const dueDays = (first: string, lastSweep: string | undefined, today: string): string[] => {
  const newest = numberOf(today) - 2;
  const since = lastSweep === undefined ? Number.POSITIVE_INFINITY : numberOf(today) - numberOf(lastSweep);
  const due: string[] = [];
  for (let day = numberOf(first); day <= newest; day += 1)
    if ((newest - day) % rereadDays < since) due.push(dayOf(new Date(day * dayMs)));
  return due;
};

/** No upload takes as long: a file that is older, and has no metadata, will never have any. */
const graceMs = 24 * 60 * 60 * 1000;

/** Time enough to finish a page of files and to note how far the sweep has come. */
const reserveMs = 20_000;

/** `swept_on`: the day of the last sweep that was finished. The rest is of one that was not: where it goes on. */
const Bookmark = z.object({
  swept_on: z.optional(z.string()),
  sweeping: z.optional(z.object({ of: z.string(), day: z.string(), after: z.optional(z.string()) })),
});
type Bookmark = z.infer<typeof Bookmark>;

type SweepOptions = {
  readonly now: Date;
  /** How long it may still take; it stops in time, and the next one goes on from there. */
  readonly remainingMs?: () => number;
  /** Counts what it would remove, and writes nothing. */
  readonly dryRun?: boolean;
  /** Every day, due or not. */
  readonly all?: boolean;
  /** How many files it lists at a time. */
  readonly pageSize?: number;
  /** Called after each page with the counts so far. */
  readonly onPage?: (counts: Omit<Swept, "finished">) => void;
};

const nothing = { days: 0, files: 0, removed: 0 };
type Swept = typeof nothing & { readonly finished: boolean };

/**
 * Removes files older than a day that have no metadata: what a crash between the two steps of an upload or a delete has
 * left. Two sweeps at a time do no harm. 503 where storage or table is away: the next one goes on from there.
 */
export const sweepOrphanFiles = async (options: SweepOptions): Promise<Swept> => {
  const { now, dryRun = false, all = false } = options;
  const bookmark = z.parse(Bookmark, (await get(keys.sweep())) ?? {});
  const open = all ? undefined : bookmark.sweeping;
  const today = open?.of ?? dayOf(now);
  const days = await daysLeft(bookmark, today, all);
  const counts = { ...nothing };
  const note = (at: Bookmark) => (dryRun || all ? undefined : transact({ sweep: { put: { ...keys.sweep(), ...at } } }));
  for (const day of days) {
    let after = day === open?.day ? open.after : undefined;
    do {
      if ((options.remainingMs?.() ?? Number.POSITIVE_INFINITY) < reserveMs) return { ...counts, finished: false };
      const before = counts.files;
      after = await sweepPage(day, after, options, counts);
      options.onPage?.(counts);
      if (counts.files > before) await note({ ...bookmark, sweeping: { of: today, day, after } });
    } while (after !== undefined);
    counts.days += 1;
  }
  await note({ swept_on: today });
  return { ...counts, finished: true };
};

const daysLeft = async ({ swept_on, sweeping }: Bookmark, today: string, all: boolean): Promise<string[]> => {
  const { files } = await listFiles(filePrefix, undefined, 1);
  const first = files[0] && fileDay(files[0].key);
  if (first === undefined) return [];
  if (all) return dueDays(first, undefined, today);
  return dueDays(first, swept_on, today).filter((day) => sweeping === undefined || day >= sweeping.day);
};

/** One page of a day; the key to go on after, if there is more. */
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

type Owned = { readonly key: string; readonly owner: NonNullable<ReturnType<typeof fileOwner>> };

const withoutMetadata = async (files: readonly StoredFile[]): Promise<Owned[]> => {
  const owned = files.flatMap(({ key }) => {
    const owner = fileOwner(key);
    return owner ? [{ key, owner }] : [];
  });
  const found = await getMany(owned.map(({ owner }) => keys.attachment(owner.parent, owner.id)));
  return owned.filter((_, index) => found[index] === undefined);
};

/** Looks once more, right before; with the file goes the note of a delete that could not remove it. */
const removeOrphan = async ({ key, owner: { parent, id } }: Owned): Promise<boolean> => {
  const unfinished = keys.unfinishedDelete(parent, id);
  const [metadata, noted] = await getMany([keys.attachment(parent, id), unfinished]);
  if (metadata) return false;
  await removeFile(key);
  if (noted) await transact({ unfinished: { delete: unfinished } });
  return true;
};
