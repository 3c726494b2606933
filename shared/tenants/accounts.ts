import * as z from "zod/mini";
import { keys } from "../table/keys.ts";
import { get, scan } from "../table/read.ts";
import { Account } from "./schema.ts";

/** An account; undefined where there is none. */
export const readAccount = async (id: string): Promise<Account | undefined> => {
  const item = await get(keys.account(id));
  return item && z.parse(Account, item);
};

/** All accounts, parents before their children; reads the whole table. */
export const listAccounts = async (): Promise<Account[]> => {
  const accounts = await Array.fromAsync(scan("ACCOUNT"), (item) => z.parse(Account, item));
  const path = ({ ancestors, id }: Account) => [...ancestors, id].join("/");
  return accounts.sort((a, b) => (path(a) < path(b) ? -1 : 1));
};
