import * as z from "zod/mini";
import { collections, keys } from "../table/keys.ts";
import { parseItem, query, readItem } from "../table/read.ts";
import { Account, canAccess, isKnown, type Order, User } from "./tenant-schema.ts";

const Count = z.object({ switch_count: z.number() });
/** An account below that is being erased. */
const Erasing = z.object({ account: z.string(), ancestors: z.array(z.string()) });

/** An account with the number of switches in it and below it, and with the highest accounts below that are being erased. */
export type CountedAccount = Account & z.infer<typeof Count> & { readonly erasingBelow: readonly string[] };

export const readStoredAccount = (id: string): Promise<Account | undefined> => readItem(Account, keys.account(id));

/** Returns undefined for an account that is being erased, too. */
export const readAccount = async (id: string): Promise<Account | undefined> => {
  const account = await readStoredAccount(id);
  return account && isKnown(account) ? account : undefined;
};

const readCounts = async (id: string) => {
  // The account's own item comes first. Accounts that are being erased have no `switch_count`.
  const [item, ...others] = await query(collections.accountAndCounts(id), { limit: 1_000 });
  const counts = others.filter((one) => one.switch_count !== undefined).map((one) => parseItem(Count, one));
  const below = others.filter((one) => one.switch_count === undefined).map((one) => parseItem(Erasing, one));
  const highest = below.filter(({ ancestors }) => !below.some(({ account }) => ancestors.includes(account)));
  return {
    account: item?.sk === keys.account(id).sk ? parseItem(Account, item) : undefined,
    switch_count: counts.reduce((sum, one) => sum + one.switch_count, 0),
    erasingBelow: highest.map(({ account }) => account),
  };
};

/** Like `readAccount`, with the exact number of its switches, in one round trip unless an account below is being erased. */
export const readCountedAccount = async (id: string): Promise<CountedAccount | undefined> => {
  const { account, switch_count, erasingBelow } = await readCounts(id);
  if (!account || !isKnown(account)) return undefined;
  const erased = await Promise.all(erasingBelow.map(readCounts));
  return {
    ...account,
    erasingBelow,
    switch_count: erased.reduce((left, one) => left - one.switch_count, switch_count),
  };
};

/** Whether something of an account below is left out of the lists, because that is being erased. */
export const isErasedBelow = (
  { erasingBelow }: CountedAccount,
  { account, ancestors }: Pick<Order, "account" | "ancestors">,
): boolean => erasingBelow.some((top) => canAccess(top, { id: account, ancestors }));

export const readUser = (id: string): Promise<User | undefined> => readItem(User, keys.user(id));
