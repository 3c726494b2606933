import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { Item } from "../table/expressions.ts";
import { keys } from "../table/keys.ts";
import { get, scan } from "../table/read.ts";
import { update } from "../table/write.ts";
import { ApiKey } from "./schema.ts";

/** The hash under which a key is stored; the key itself is stored nowhere. */
export const hashOfKey = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** A key as operators see it: what is stored, and the SHA-256 of the key, in hex. */
export type StoredKey = ApiKey & { readonly sha256: string };

const Stored = z.extend(ApiKey, { pk: z.string() });

const stored = (item: Item): StoredKey => {
  const { pk, ...key } = z.parse(Stored, item);
  return { ...key, sha256: pk.slice("KEY#".length) };
};

/** All keys whose hash begins with `prefix`, oldest first; reads the whole table. */
export const listKeys = async (prefix = ""): Promise<StoredKey[]> => {
  const all = await Array.fromAsync(scan("KEY"), stored);
  return all.filter(({ sha256 }) => sha256.startsWith(prefix.toLowerCase())).sort((a, b) => (a.id < b.id ? -1 : 1));
};

/** Finds a key by itself, or by its id (which reads the whole table); undefined where there is none. */
export const findKey = async (reference: string): Promise<StoredKey | undefined> => {
  if (!reference.startsWith("apik_")) return (await listKeys()).find(({ id }) => id === reference.toUpperCase());
  const item = await get(keys.apiKey(hashOfKey(reference)));
  return item && stored(item);
};

/** Changes when a key ends: revoked at once, or from some time on. */
export const endKey = (key: StoredKey, end: { revoked: true } | { expires_at: string }): Promise<boolean> =>
  update({ update: keys.apiKey(key.sha256), set: end, when: { exists: true } });
