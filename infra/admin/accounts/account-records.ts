import pLimit from "p-limit";
import type { Item } from "../../../shared/table/expressions.ts";
import { type Collection, collections, type Key, keys, parentIn } from "../../../shared/table/keys.ts";
import { getMany, query, queryAll, scan } from "../../../shared/table/read.ts";
import { inOrder } from "../cli/lookups.ts";
import { formatCount, withProgress } from "../cli/progress.ts";

/** Everything that an account and those below it have, found by a scan. Memory holds the keys of its partitions. */

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

/** Yields a collection page by page. */
export async function* pagesOf(list: Collection): AsyncGenerator<Item[]> {
  let from: string | undefined;
  do {
    const items = await query(list, { after: from, limit: pageSize });
    if (items.length > 0) yield items;
    from = items.length < pageSize ? undefined : String(items.at(-1)?.sk).slice(list.prefix.length);
  } while (from !== undefined);
}

const readAhead = 10;

const limit = pLimit(readAhead);

/** Yields the ids of an account and all accounts below it by level, from the top down, also of those that are being erased. */
export async function* accountLevels(top: string): AsyncGenerator<string[]> {
  const childrenOf = (id: string) =>
    Array.fromAsync(queryAll(collections.childAccounts(id)), (entry) => String(entry.id));
  for (let level = [top]; level.length > 0; level = (await limit.map(level, childrenOf)).flat()) yield level;
}

/** How many parts of the table are read at once. */
const segments = 8;

/** The account that a partition belongs to, as far as this item tells. An order's list of requests names their accounts. */
const accountIn = ({ pk, sk, account }: Item): unknown =>
  /^(?:ACCOUNT|ACCOUNT_ORDERS|IDEMPOTENCY)#(.+)$/.exec(String(pk))?.[1] ??
  (/^ORDER#\S+ REQUEST#/.test(`${pk} ${sk}`) ? undefined : account);

/**
 * Reads the whole table. Returns the partitions of an account and of those below it, in order, and their requests in orders of
 * accounts above. It finds what was written before it began.
 */
export const findPartitions = async (top: string) => {
  const accounts = new Set((await Array.fromAsync(accountLevels(top))).flat());
  const found = new Set<string>();
  const requests: { readonly id: string; readonly order: string }[] = [];
  let items = 0;
  const readSegment = async (Segment: number) => {
    for await (const item of scan({ Segment, TotalSegments: segments })) {
      items += 1;
      if (!accounts.has(String(accountIn(item)))) continue;
      const pk = String(item.pk);
      found.add(pk);
      if (pk === item.sk && parentIn(pk)?.type === "request")
        requests.push({ id: String(item.id), order: String(item.order) });
    }
  };
  await withProgress(
    () => Promise.all(Array.from({ length: segments }, (_, segment) => readSegment(segment))),
    () => `Searching … ${formatCount(items)} items read`,
  );
  const others = requests.filter(({ order }) => !found.has(keys.order(order).pk));
  // An order may have been stored after its part of the table was read.
  const orders = await getMany(others.map(({ order }) => keys.order(order)));
  const elsewhere = others.filter((_, index) => !accounts.has(String(orders[index]?.account)));
  return { partitions: [...found].sort(), elsewhere };
};
export type Found = Awaited<ReturnType<typeof findPartitions>>;

/** Yields the records of partitions page by page. The last page of a partition also has its key. */
export async function* recordsOf(
  partitions: readonly string[],
): AsyncGenerator<{ readonly records: readonly AccountRecord[]; readonly done?: string }> {
  const firstPages = inOrder(partitions, readAhead, async (pk) => {
    const pages = pagesOf({ pk, prefix: "" });
    return { pk, pages, first: await pages.next() };
  });
  for await (const { pk, pages, first } of firstPages) {
    yield { records: (first.value ?? []).flatMap(recordOf) };
    for await (const page of pages) yield { records: page.flatMap(recordOf) };
    yield { records: [], done: pk };
  }
}
