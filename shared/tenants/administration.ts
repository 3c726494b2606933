import * as z from "zod/mini";
import type { Item } from "../table/expressions.ts";
import { hashOfKey, keys } from "../table/keys.ts";
import { get, parseItem, readItem, scan } from "../table/read.ts";
import { update } from "../table/write.ts";
import { ApiKey, User } from "./schema.ts";

/** What operators do with accounts, users and keys once they exist; `apply.ts` creates them. */

/** Gives an account another name; false where there is no such account. */
export const renameAccount = (id: string, name: string): Promise<boolean> =>
  update({ update: keys.account(id), set: { name }, when: { exists: true } });

/** Turns the feature Ordering Attachment Access on or off; false where there is no such account. */
export const setAttachmentAccess = (id: string, on: boolean): Promise<boolean> =>
  update({ update: keys.account(id), set: { features: { ordering_attachment_access: on } }, when: { exists: true } });

/** All users, by id; reads the whole table. */
export const listUsers = async (): Promise<User[]> => {
  const users = await Array.fromAsync(scan("USER"), (item) => parseItem(User, item));
  return users.sort((a, b) => (a.id < b.id ? -1 : 1));
};

/** A user; undefined where there is none. */
export const readUser = (id: string): Promise<User | undefined> => readItem(User, keys.user(id));

/** Changes a user's permissions; false where they are no longer those that were read. */
export const setPermissions = ({ id, permissions }: User, changed: readonly string[]): Promise<boolean> =>
  update({ update: keys.user(id), set: { permissions: changed }, when: { exists: true, equals: { permissions } } });

/** Disables or enables a user; false where there is none. */
export const setUserDisabled = (id: string, disabled: boolean): Promise<boolean> =>
  update({ update: keys.user(id), set: { disabled }, when: { exists: true } });

/** A key as operators see it: what is stored, and the SHA-256 of the key, in hex. */
type StoredKey = ApiKey & { readonly sha256: string };

const Stored = z.extend(ApiKey, { pk: z.string() });

const stored = (item: Item): StoredKey => {
  const { pk, ...key } = parseItem(Stored, item);
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
