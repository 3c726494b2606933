import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { backOff } from "./client.ts";

/** Throws 412 if the caller's If-Match does not match this version of the document. */
export type Precondition = (version: number) => void;

/** `version` counts an item's writes. It is the document's ETag. */
export type Versioned = { readonly version: number; readonly updated_at: string };

/**
 * Returns the next version. Its time is `now` or, if that is later, a millisecond after the version before. A request that started
 * earlier can write later, and events must be in the order of their times.
 */
export const nextVersion = ({ version, updated_at }: Versioned, now: Date) => ({
  updated_at: new Date(Math.max(now.getTime(), Date.parse(updated_at) + 1)).toISOString(),
  version: version + 1,
});

/** Returns what an update writes, the item after it, and the names of the properties that change, which may be none. */
export const updateOf = <S extends z.core.$ZodType<Versioned>>(
  schema: S,
  latest: Versioned,
  sent: Readonly<Record<string, unknown>>,
  now: Date,
) => {
  const changed = z.parse(schema, { ...latest, ...sent });
  const former = new Map<string, unknown>(Object.entries(latest));
  const properties = Object.entries(changed).flatMap(([name, value]) =>
    isDeepStrictEqual(value, former.get(name)) ? [] : [name],
  );
  const next = nextVersion(latest, now);
  return { properties, set: { ...sent, ...next }, written: { ...changed, ...next } };
};

/**
 * Runs a write that is conditional on the version that was read. If another write was faster, waits, reads the item again and
 * retries. Throws 503 at the deadline. `write` returns undefined if its version is out of date, and gets the origin with the time
 * of its write. `reread` throws if the item no longer exists.
 */
export const optimisticWrite = async <T extends Versioned, O extends { readonly now: Date }>(
  current: T,
  origin: O,
  precondition: Precondition,
  reread: () => Promise<T>,
  write: (latest: T, origin: O) => Promise<T | undefined>,
): Promise<T> => {
  let latest = current;
  for (let attempt = 1; ; attempt += 1) {
    precondition(latest.version);
    const written = await write(latest, { ...origin, now: new Date(nextVersion(latest, origin.now).updated_at) });
    if (written) return written;
    await backOff(attempt, new Error("Another write was faster each time."));
    latest = await reread();
  }
};
