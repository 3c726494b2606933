import pLimit from "p-limit";
import type { Item } from "../../../shared/table/expressions.ts";
import { type Collection, collections, type Key, keys, type ParentRef } from "../../../shared/table/keys.ts";
import { getMany, query, queryAll } from "../../../shared/table/read.ts";
import { readOrder, readRequest } from "../../../shared/tenants/orders.ts";
import { type Account, canAccess } from "../../../shared/tenants/tenant-schema.ts";
import { inOrder } from "../cli/lookups.ts";

/** Everything that an account and those below it have, found by keys. Memory holds some pages of it, however much there is. */

export const recordKinds = [
  "accounts",
  "users",
  "keys",
  "switches",
  "orders",
  "requests",
  "attachments",
  "receipts",
  "checkouts",
  "uploads",
  "unfinished_deletes",
  "idempotency_keys",
  "events",
] as const;

export type AccountRecord = { readonly kind: string; readonly item: Item & Key };

/** The kinds by partition and sort key. Other items are entries of lists and counts, or keep texts unique. */
const kinds: readonly (readonly [pattern: RegExp, kind: string])[] = [
  [/^ACCOUNT#\S+ ACCOUNT$/, "accounts"],
  [/ USER$/, "users"],
  [/ KEY$/, "keys"],
  [/ SWITCH$/, "switches"],
  [/^(ORDER#\S+) \1$/, "orders"],
  [/^(REQUEST#\S+) \1$/, "requests"],
  [/ ATTACHMENT#/, "attachments"],
  [/ RECEIPT#/, "receipts"],
  [/ CHECKOUT$/, "checkouts"],
  [/^(ORDER|REQUEST)#\S+ UPLOAD#/, "uploads"],
  [/ UNFINISHED_DELETE#/, "unfinished_deletes"],
  [/^IDEMPOTENCY#/, "idempotency_keys"],
  [/ EVENT#/, "events"],
];

const recordOf = (item: Item): AccountRecord[] => {
  const [pk, sk] = [String(item.pk), String(item.sk)];
  const kind = kinds.find(([pattern]) => pattern.test(`${pk} ${sk}`))?.[1];
  return kind === undefined ? [] : [{ kind, item: { ...item, pk, sk } }];
};

const pageSize = 100;

/** Yields a collection page by page, after the id `after`. */
export async function* pagesOf(list: Collection, after?: string): AsyncGenerator<Item[]> {
  let from = after;
  do {
    const items = await query(list, { after: from, limit: pageSize });
    if (items.length > 0) yield items;
    from = items.length < pageSize ? undefined : String(items.at(-1)?.sk).slice(list.prefix.length);
  } while (from !== undefined);
}

/** The ids of the entries of a list. */
export const idsIn = async function* (list: Collection): AsyncGenerator<string> {
  for await (const { id } of queryAll(list)) yield String(id);
};

const readAhead = 10;

/** Leaves out the partitions up to the one whose key is `after`. */
export const skippingUntil = (after: string | undefined) => {
  let left = after;
  return {
    skips: (pk: string): boolean => {
      if (left === undefined) return false;
      if (left === pk) left = undefined;
      return true;
    },
    /** Whether that partition has not come. */
    isLost: () => left !== undefined,
  };
};
type Skipping = ReturnType<typeof skippingUntil>;

/** The records of a page. The last page of a partition also has its key. */
export type RecordPage = { readonly records: readonly AccountRecord[]; readonly done?: string };

const pageOf = (items: readonly Item[], pk?: string): RecordPage => ({
  records: items.flatMap(recordOf),
  ...(pk !== undefined && { done: pk }),
});

async function* wanted(mains: AsyncIterable<Key>, { skips }: Skipping): AsyncGenerator<Key> {
  for await (const key of mains) if (!skips(key.pk)) yield key;
}

/** Yields the records of partitions, in order. Reads the first pages of the next ones ahead. */
async function* partitions(mains: AsyncIterable<Key>, skipping: Skipping): AsyncGenerator<RecordPage> {
  const firstPages = inOrder(wanted(mains, skipping), readAhead, async (key) => {
    const list = collections.partition(key);
    return { list, first: await query(list, { limit: pageSize }) };
  });
  for await (const { list, first } of firstPages) {
    yield pageOf(first);
    if (first.length === pageSize) for await (const page of pagesOf(list, String(first.at(-1)?.sk))) yield pageOf(page);
    yield pageOf([], list.pk);
  }
}

async function* keysOfAccount(account: string): AsyncGenerator<Key> {
  for await (const { id, sha256 } of queryAll(collections.accountKeys(account))) {
    yield keys.apiKey(String(sha256));
    yield keys.apiKeyId(String(id));
  }
}

async function* ordersOfAccount(account: string): AsyncGenerator<Key> {
  for await (const order of idsIn(collections.accountOrders(account))) {
    yield* withDownloads({ type: "order", id: order });
    for await (const request of idsIn(collections.orderRequests(order)))
      yield* withDownloads({ type: "request", id: request });
  }
}

/** The partition of an order or a request, and that of the events of its downloads. */
const withDownloads = (of: ParentRef): Key[] => [keys.parent(of), keys.download(of, "")];

/** Yields the requests that an account owns in orders of accounts above `top`, each with its order. */
export async function* requestsElsewhere(top: string, account: string): AsyncGenerator<{ id: string; order: string }> {
  for await (const id of idsIn(collections.accountRequests(account))) {
    const request = await readRequest(id);
    const order = request && (await readOrder(request.order));
    if (order && !canAccess(top, { id: order.account, ancestors: order.ancestors })) yield { id, order: order.id };
  }
}

const each = async function* <T>(ids: AsyncIterable<T>, keysOf: (id: T) => readonly Key[]): AsyncGenerator<Key> {
  for await (const id of ids) yield* keysOf(id);
};

const limit = pLimit(10);

/** Yields the ids of an account and all accounts below it by level, from the top down, also of those that are being erased. */
export async function* accountLevels(top: string): AsyncGenerator<string[]> {
  const childrenOf = (id: string) => Array.fromAsync(idsIn(collections.childAccounts(id)));
  for (let level = [top]; level.length > 0; level = (await limit.map(level, childrenOf)).flat()) yield level;
}

/** Yields the account itself, its events and its used Idempotency-Keys. Its partition also has the entries of all its lists. */
async function* ownRecords(id: string): AsyncGenerator<RecordPage> {
  yield pageOf((await getMany([keys.account(id)])).filter((item) => item !== undefined));
  for (const list of [collections.events({ type: "account", id }), collections.idempotency(id)])
    for await (const page of pagesOf(list)) yield pageOf(page);
  yield pageOf([], keys.account(id).pk);
}

/** Yields every record of an account and of those below it, always in the same order. */
export async function* recordsOf(top: Account, skipping = skippingUntil(undefined)): AsyncGenerator<RecordPage> {
  for (const id of (await Array.fromAsync(accountLevels(top.id))).flat()) {
    if (!skipping.skips(keys.account(id).pk)) yield* ownRecords(id);
    const users = each(idsIn(collections.accountUsers(id)), (user) => [keys.user(user)]);
    const deletedSwitches = each(idsIn(collections.deletedSwitches(id)), (one) => [keys.switch(one)]);
    const elsewhere = each(requestsElsewhere(top.id, id), (one) => withDownloads({ type: "request", id: one.id }));
    for (const mains of [users, keysOfAccount(id), deletedSwitches, ordersOfAccount(id), elsewhere])
      yield* partitions(mains, skipping);
  }
  // The list of the account has the switches of all accounts below it.
  const switches = each(idsIn(collections.switches(top.id)), (one) => [keys.switch(one)]);
  yield* partitions(switches, skipping);
}
