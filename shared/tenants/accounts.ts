import * as z from "zod/mini";
import { collections, keys } from "../table/keys.ts";
import { parseItem, query, readItem } from "../table/read.ts";
import { Account, isKnown, User } from "./tenant-schema.ts";

const Count = z.object({ switch_count: z.number() });

/** An account with the number of switches in it and below it. */
export type CountedAccount = Account & z.infer<typeof Count>;

export const readStoredAccount = (id: string): Promise<Account | undefined> => readItem(Account, keys.account(id));

/** Returns undefined for an account that is being erased, too. */
export const readAccount = async (id: string): Promise<Account | undefined> => {
  const account = await readStoredAccount(id);
  return account && isKnown(account) ? account : undefined;
};

/** Like `readAccount`, with the exact number of its switches, in one round trip. */
export const readCountedAccount = async (id: string): Promise<CountedAccount | undefined> => {
  // The account's own item comes before the counts.
  const [item, ...counts] = await query(collections.accountAndCounts(id), { limit: 100 });
  if (item?.sk !== keys.account(id).sk) return undefined;
  const total = counts.reduce((sum, count) => sum + parseItem(Count, count).switch_count, 0);
  const account = parseItem(Account, item);
  return isKnown(account) ? { ...account, switch_count: total } : undefined;
};

export const readUser = (id: string): Promise<User | undefined> => readItem(User, keys.user(id));
