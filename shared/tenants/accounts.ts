import * as z from "zod/mini";
import { collections, keys } from "../table/keys.ts";
import { parseItem, query, readItem } from "../table/read.ts";
import { Account, User } from "./tenant-schema.ts";

const Count = z.object({ switch_count: z.number() });

export const readAccount = (id: string): Promise<Account | undefined> => readItem(Account, keys.account(id));

/** Returns an account with the exact number of its switches in one round trip, or undefined if it does not exist. */
export const readCountedAccount = async (id: string): Promise<Account | undefined> => {
  // The account's own item comes before the counts.
  const [item, ...counts] = await query(collections.accountAndCounts(id), { limit: 100 });
  if (item?.sk !== keys.account(id).sk) return undefined;
  const account = parseItem(Account, item);
  const total = counts.reduce((sum, count) => sum + parseItem(Count, count).switch_count, account.switch_count);
  return { ...account, switch_count: total };
};

export const readUser = (id: string): Promise<User | undefined> => readItem(User, keys.user(id));
