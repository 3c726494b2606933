import * as z from "zod/mini";
import type { Item } from "../table/expressions.ts";
import { hashApiKey, keys } from "../table/keys.ts";
import { get, parseItem, readItem, scan } from "../table/read.ts";
import { update } from "../table/write.ts";
import { ApiKey, User } from "./schema.ts";

/** What operators do with existing accounts, users and API keys. `apply.ts` creates them. */

/** Renames an account. Returns false if it does not exist. */
export const renameAccount = (id: string, name: string): Promise<boolean> =>
  update({ update: keys.account(id), set: { name }, when: { exists: true } });

/** Turns the feature Ordering Attachment Access on or off. Returns false if the account does not exist. */
export const setAttachmentAccess = (id: string, on: boolean): Promise<boolean> =>
  update({ update: keys.account(id), set: { features: { ordering_attachment_access: on } }, when: { exists: true } });

/** Returns all users, by id. Reads the whole table. */
export const listUsers = async (): Promise<User[]> => {
  const users = await Array.fromAsync(scan("USER"), (item) => parseItem(User, item));
  return users.sort((a, b) => (a.id < b.id ? -1 : 1));
};

/** Returns a user, or undefined if it does not exist. */
export const readUser = (id: string): Promise<User | undefined> => readItem(User, keys.user(id));

/** Changes a user's permissions. Returns false if they have changed since they were read. */
export const setPermissions = ({ id, permissions }: User, changed: readonly string[]): Promise<boolean> =>
  update({ update: keys.user(id), set: { permissions: changed }, when: { exists: true, equals: { permissions } } });

/** Disables or enables a user. Returns false if the user does not exist. */
export const setUserDisabled = (id: string, disabled: boolean): Promise<boolean> =>
  update({ update: keys.user(id), set: { disabled }, when: { exists: true } });

/** An API key as it is stored, with its SHA-256 in hexadecimal. */
type StoredKey = ApiKey & { readonly sha256: string };

const Stored = z.extend(ApiKey, { pk: z.string() });

const stored = (item: Item): StoredKey => {
  const { pk, ...key } = parseItem(Stored, item);
  return { ...key, sha256: pk.slice("KEY#".length) };
};

/** Returns all API keys whose hash begins with `prefix`, oldest first. Reads the whole table. */
export const listKeys = async (prefix = ""): Promise<StoredKey[]> => {
  const all = await Array.fromAsync(scan("KEY"), stored);
  return all.filter(({ sha256 }) => sha256.startsWith(prefix.toLowerCase())).sort((a, b) => (a.id < b.id ? -1 : 1));
};

/** Finds an API key by its text or its id, if it exists. By id, this reads the whole table. */
export const findKey = async (reference: string): Promise<StoredKey | undefined> => {
  if (!reference.startsWith("apik_")) return (await listKeys()).find(({ id }) => id === reference.toUpperCase());
  const item = await get(keys.apiKey(hashApiKey(reference)));
  return item && stored(item);
};

/** Revokes an API key, or sets when it expires. */
export const endKey = (key: StoredKey, end: { revoked: true } | { expires_at: string }): Promise<boolean> =>
  update({ update: keys.apiKey(key.sha256), set: end, when: { exists: true } });
