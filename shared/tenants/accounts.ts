import * as z from "zod/mini";
import type { Item } from "../table/expressions.ts";
import { collections, keys } from "../table/keys.ts";
import { getMany, parseItem, query, readItem, scan } from "../table/read.ts";
import { Account } from "./schema.ts";

const Count = z.object({ switch_count: z.number() });

/** Returns an account, or undefined if it does not exist. */
export const readAccount = (id: string): Promise<Account | undefined> => readItem(Account, keys.account(id));

/** Returns those of several accounts that exist, in one round trip. */
export const readAccounts = async (ids: readonly string[]): Promise<Account[]> => {
  const found = await getMany(ids.map(keys.account));
  return found.flatMap((item) => (item ? [parseItem(Account, item)] : []));
};

const partitionOf = ({ pk }: Item) => String(pk);

/** Returns the accounts among accounts and count items, each with the sum of its counts. */
const withCounts = (items: readonly Item[]): Account[] => {
  const counts = new Map<string, number>();
  for (const item of items)
    counts.set(partitionOf(item), (counts.get(partitionOf(item)) ?? 0) + parseItem(Count, item).switch_count);
  return items
    .filter(({ sk }) => sk === "ACCOUNT")
    .map((item) => ({ ...parseItem(Account, item), switch_count: counts.get(partitionOf(item)) ?? 0 }));
};

/** Returns an account with the exact number of its switches in one round trip, or undefined if it does not exist. */
export const readCountedAccount = async (id: string): Promise<Account | undefined> =>
  withCounts(await query(collections.accountAndCounts(id), { limit: 100 }))[0];

/** Returns all accounts, parents before their children. Reads the whole table. */
export const listAccounts = async (): Promise<Account[]> => {
  const accounts = withCounts(await Array.fromAsync(scan("accounts")));
  const path = ({ ancestors, id }: Account) => [...ancestors, id].join("/");
  return accounts.sort((a, b) => (path(a) < path(b) ? -1 : 1));
};
