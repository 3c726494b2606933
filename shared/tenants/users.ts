import * as z from "zod/mini";
import { keys } from "../table/keys.ts";
import { get, scan } from "../table/read.ts";
import { update } from "../table/write.ts";
import { User } from "./schema.ts";

/** All users, by id; reads the whole table. */
export const listUsers = async (): Promise<User[]> => {
  const users = await Array.fromAsync(scan("USER"), (item) => z.parse(User, item));
  return users.sort((a, b) => (a.id < b.id ? -1 : 1));
};

/** A user; undefined where there is none. */
export const readUser = async (id: string): Promise<User | undefined> => {
  const item = await get(keys.user(id.toUpperCase()));
  return item && z.parse(User, item);
};

/** Changes a user's permissions; false where they are no longer those that were read. */
export const setPermissions = ({ id, permissions }: User, changed: readonly string[]): Promise<boolean> =>
  update({ update: keys.user(id), set: { permissions: changed }, when: { exists: true, equals: { permissions } } });

/** Disables or enables a user; false where there is none. */
export const setUserDisabled = (id: string, disabled: boolean): Promise<boolean> =>
  update({ update: keys.user(id.toUpperCase()), set: { disabled }, when: { exists: true } });
