import * as z from "zod/mini";
import type { Item } from "../table/expressions.ts";
import { collections, keys } from "../table/keys.ts";
import { getMany, parseItem, query, readItem, scan } from "../table/read.ts";
import { Account } from "./schema.ts";

const Count = z.object({ switch_count: z.number() });

/** An account; undefined where there is none. */
export const readAccount = (id: string): Promise<Account | undefined> => readItem(Account, keys.account(id));

/** The accounts with these ids that exist, in one round trip; up to 100. */
export const readAccounts = async (ids: readonly string[]): Promise<Account[]> => {
  const found = await getMany(ids.map(keys.account));
  return found.flatMap((item) => (item ? [parseItem(Account, item)] : []));
};

const partitionOf = ({ pk }: Item) => String(pk);

/** Returns the accounts among items of accounts and counts, each with the sum of its own count and the others. */
const counted = (items: readonly Item[]): Account[] => {
  const counts = new Map<string, number>();
  for (const item of items)
    counts.set(partitionOf(item), (counts.get(partitionOf(item)) ?? 0) + parseItem(Count, item).switch_count);
  return items
    .filter(({ sk }) => sk === "ACCOUNT")
    .map((item) => ({ ...parseItem(Account, item), switch_count: counts.get(partitionOf(item)) ?? 0 }));
};

/** An account with the exact count of its switches, in one round trip; undefined where there is none. */
export const readCountedAccount = async (id: string): Promise<Account | undefined> =>
  counted(await query(collections.accountAndCounts(id), { limit: 100 }))[0];

/** All accounts, parents before their children; reads the whole table. */
export const listAccounts = async (): Promise<Account[]> => {
  const accounts = counted(await Array.fromAsync(scan("accounts")));
  const path = ({ ancestors, id }: Account) => [...ancestors, id].join("/");
  return accounts.sort((a, b) => (path(a) < path(b) ? -1 : 1));
};
