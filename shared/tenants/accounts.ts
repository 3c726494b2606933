import * as z from "zod/mini";
import { keys } from "../table/keys.ts";
import { get, scan } from "../table/read.ts";
import { update } from "../table/write.ts";
import { Account, type User } from "./schema.ts";

/** Whether a key of account `from` sees things of `account`: its own and every account below it, nothing else. */
export const sees = (from: string, account: Pick<Account, "id" | "ancestors">): boolean =>
  account.id === from || account.ancestors.includes(from);

/** Whether a user holds a permission, by its exact name or by the wildcard operation of its resource. */
export const holds = ({ permissions }: User, permission: string): boolean =>
  permissions.includes(permission) || permissions.includes(permission.replace(/:[^:]*$/, ":*"));

/** An account; undefined where there is none. */
export const readAccount = async (id: string): Promise<Account | undefined> => {
  const item = await get(keys.account(id.toUpperCase()));
  return item && z.parse(Account, item);
};

/** All accounts, parents before their children; reads the whole table. */
export const listAccounts = async (): Promise<Account[]> => {
  const accounts = await Array.fromAsync(scan("ACCOUNT"), (item) => z.parse(Account, item));
  const path = ({ ancestors, id }: Account) => [...ancestors, id].join("/");
  return accounts.sort((a, b) => (path(a) < path(b) ? -1 : 1));
};

/** Turns the feature Ordering Attachment Access on or off; false where there is no such account. */
export const setAttachmentAccess = (id: string, on: boolean): Promise<boolean> =>
  update({ update: keys.account(id), set: { features: { ordering_attachment_access: on } }, when: { exists: true } });

/** Gives an account another name; false where there is no such account. */
export const renameAccount = (id: string, name: string): Promise<boolean> =>
  update({ update: keys.account(id), set: { name }, when: { exists: true } });
