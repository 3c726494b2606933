import { randomBytes } from "node:crypto";
import { backOff } from "./client.ts";

/** Throws 412 unless a document of this version is what the caller's If-Match asks for. */
export type Precondition = (version: number) => void;

/** `version` counts an item's writes; `writers` names the last of them, the newest first. */
type Versioned = { readonly version: number; readonly writers?: readonly string[] | undefined };

/** How many other writes may come between a write and the retry that recognizes it. */
const rememberedWriters = 8;

/**
 * What every change of an item sets as well. The writer's name is unique to this write. By it, a retry recognizes a write
 * whose response was lost, even if other writes have followed. No document contains it.
 */
export const nextVersion = ({ version, writers = [] }: Versioned, now: Date) => ({
  updated_at: now.toISOString(),
  version: version + 1,
  writers: [randomBytes(9).toString("base64url"), ...writers].slice(0, rememberedWriters),
});

/**
 * Tries a write that is conditional on the version that was read. Where another write was faster, waits, reads again
 * and retries; 503 where that happens too often. `write` returns undefined where its version is out of date; `reread`
 * throws where the item no longer exists.
 */
export const onLatest = async <T extends Versioned>(
  current: T,
  precondition: Precondition,
  reread: () => Promise<T>,
  write: (latest: T) => Promise<T | undefined>,
): Promise<T> => {
  let latest = current;
  for (let attempt = 1; ; attempt += 1) {
    precondition(latest.version);
    const written = await write(latest);
    if (written) return written;
    await backOff(attempt, new Error("Another write was faster each time."));
    latest = await reread();
  }
};
