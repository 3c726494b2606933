import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import * as z from "zod/mini";
import { dayOf, fileKey, parentPrefix } from "../../../shared/attachments/file-keys.ts";
import { allFiles, removeFile } from "../../../shared/attachments/files.ts";
import { forEachConcurrently } from "../../../shared/for-each-concurrently.ts";
import { Event } from "../../../shared/history/event.ts";
import { type Origin, recordOf } from "../../../shared/history/record.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { readSwitch } from "../../../shared/switches/read.ts";
import { switchRemoval } from "../../../shared/switches/switches.ts";
import { backOff } from "../../../shared/table/client.ts";
import type { Item, Write } from "../../../shared/table/expressions.ts";
import {
  collections,
  eventPrefix,
  type Key,
  keys,
  lookupOf,
  type ParentRef,
  parentIn,
} from "../../../shared/table/keys.ts";
import { readItem } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { readStoredAccount } from "../../../shared/tenants/accounts.ts";
import type { Account } from "../../../shared/tenants/tenant-schema.ts";
import { accountLevels, findPartitions, pagesOf } from "./account-records.ts";

/**
 * Erases an account and everything below it. Nothing is added to an account that is marked, and after a pause, whatever was on its
 * way has been written or refused. Then one read of the table finds all of it. What names the account of a partition goes last, so
 * an erase that was interrupted finds the rest.
 */

/** How many partitions are erased at once, and how many files are removed and single items changed. */
const partitionsAtOnce = 4;
const limit = pLimit(16);

/** At most half of the writes that a transaction takes, because DynamoDB also limits it to 4 MB. */
const batchSize = 50;

const deleteAll = async (wanted: readonly Key[]): Promise<void> => {
  for (let start = 0; start < wanted.length; start += batchSize) {
    const batch = new Map(wanted.slice(start, start + batchSize).map(({ pk, sk }) => [`${pk} ${sk}`, { pk, sk }]));
    await transact(Object.fromEntries([...batch].map(([name, key]): [string, Write] => [name, { delete: key }])));
  }
};

const keyOf = ({ pk, sk }: Item): Key => ({ pk: String(pk), sk: String(sk) });

/** The accounts by level, from the erased one down. */
type Levels = readonly (readonly string[])[];

const forEachOrder = async (account: string, work: (order: Key) => Promise<unknown>): Promise<void> => {
  for await (const page of pagesOf(collections.accountOrders(account)))
    await limit.map(page, ({ id }) => work(keys.order(String(id))));
};

const Marked = z.object({
  id: z._default(z.string(), ""),
  ancestors: z._default(z.array(z.string()), []),
  erasing: z.optional(z.array(z.string())),
  erasure: z.optional(z.unknown()),
});
type Marked = z.infer<typeof Marked>;

/** Returns the writes by which the accounts above leave out of their lists what is below an account, or no longer do. */
const hidingWrites = ({ id, ancestors }: Pick<Marked, "id" | "ancestors">, isHidden: boolean) =>
  Object.fromEntries(
    ancestors.map((above): [string, Write] => {
      const key = keys.erasing(above, id);
      return [`hidden from ${above}`, isHidden ? { put: { ...key, account: id, ancestors } } : { delete: key }];
    }),
  );

type Change = (marks: readonly string[]) => readonly string[];

/**
 * Changes the marks of an order or, with the account that is erased, of an account. Takes none from one whose erasure has begun.
 * Returns whether it changed any.
 */
const changeMarks = async (of: Key, change: Change, top?: string) => {
  for (let attempt = 1; ; attempt += 1) {
    const found = await readItem(Marked, of);
    if (!found) return false;
    const { id, erasing, erasure } = found;
    const [before, after] = [erasing ?? [], change(erasing ?? [])];
    if (before.length === after.length || (after.length < before.length && erasure)) return false;
    const marks = after.length > 0 ? { set: { erasing: after } } : { remove: ["erasing"] };
    const when = { exists: true, equals: { erasing, erasure } };
    const more = top === undefined ? {} : { add: { version: 1 } };
    const hiding = top === id || (top && after.length === 0) ? hidingWrites(found, after.length > 0) : {};
    const unmet = await transact<string>({ marks: { update: of, ...marks, ...more, when }, ...hiding });
    if (!unmet) return true;
    if (!unmet.get("marks")) return false;
    await backOff(attempt, new Error("The marks have changed each time."));
  }
};

/** Changes the marks of a tree, parents first, so that no child is added to an account whose children have been listed. */
const changeTree = async (top: string, change: Change) => {
  const levels: string[][] = [];
  let isChanged = false;
  const changeOne = async (...args: Parameters<typeof changeMarks>) => {
    if (await changeMarks(...args)) isChanged = true;
  };
  for await (const level of accountLevels(top)) {
    levels.push(level);
    await limit.map(level, (id) => changeOne(keys.account(id), change, top));
  }
  for (const account of levels.flat()) await forEachOrder(account, (order) => changeOne(order, change));
  return { levels, isChanged };
};

/** The mark of one call that erases `top`. Calls can erase trees that overlap, and each removes its own marks only. */
export const newMark = (top: string): string => `${top} ${newId()}`;

/** The account that the call with this mark erases. */
export const markedFor = (mark: string): string => mark.split(" ")[0] ?? "";

/** Marks an account and everything below it, which then exists for nobody, and their orders, whose checkouts cannot begin any more. */
export const markTree = async (top: string, mark: string): Promise<Levels> =>
  (await changeTree(top, (marks) => [...marks, mark])).levels;

/** Removes marks from a tree. Returns whether there were any. */
export const unmarkTree = async (top: string, isRemoved: (mark: string) => boolean): Promise<boolean> =>
  (await changeTree(top, (marks) => marks.filter((mark) => !isRemoved(mark)))).isChanged;

/**
 * From now on, nothing takes the erasure back. `numbers` counts what is erased, and those of an erasure that has begun before stay.
 * Returns undefined if the mark, or the account, is gone.
 */
export const beginErasure = async (
  mark: string,
  levels: Levels,
  numbers: Readonly<Record<string, number>>,
): Promise<Account | undefined> => {
  const [top = "", ...below] = levels.flat();
  const begin = (id: string, erasure: object, equals: Item) =>
    transact({
      begin: {
        update: keys.account(id),
        set: { erasure },
        when: { exists: true, equals: { ...equals, erasure: undefined } },
      },
    });
  for (let attempt = 1; ; attempt += 1) {
    const account = await readStoredAccount(top);
    if (!account?.erasing?.includes(mark)) return undefined;
    if (account.erasure) {
      await limit.map(below, (id) => begin(id, {}, {}));
      return account;
    }
    if (await begin(top, numbers, { erasing: account.erasing }))
      await backOff(attempt, new Error("The marks have changed each time."));
  }
};

export type Eraser = {
  readonly levels: Levels;
  /** How long a request that has begun may take. */
  readonly waitMs: number;
  readonly progress: { removed: number; hasUploads: boolean };
};

const accountsOf = ({ levels }: Eraser) => levels.flat();

/** From this moment on, every key of the accounts gets a 401. */
const eraseKeys = (eraser: Eraser) =>
  forEachConcurrently(partitionsAtOnce, accountsOf(eraser), async (account) => {
    for await (const page of pagesOf(collections.accountKeys(account)))
      await deleteAll(page.map(({ sha256 }) => keys.apiKey(String(sha256))));
  });

const eraseSwitch = async (id: string): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    const found = await readSwitch(id);
    // Another command may erase it at the same time.
    if (!found || !(await transact<string>(switchRemoval(found)))) return;
    await backOff(attempt, new Error("The switch has changed each time."));
  }
};

/** Erases a partition. The item that names its account goes last, because a repeated command finds the partition by it. */
const erasePartition = async (pk: string, eraser: Eraser): Promise<void> => {
  const id = pk.slice(pk.indexOf("#") + 1);
  const parent = parentIn(pk);
  if (pk.startsWith("SWITCH#")) await eraseSwitch(id);
  if (pk.startsWith("DELETED#")) await deleteAll([keys.deletedAttachment(id)]);
  if (parent) await eraseRecentFiles(parent);
  for await (const page of pagesOf({ pk, prefix: "" }))
    await eraseItems(
      page.filter(({ sk }) => sk !== pk),
      eraser,
    );
  if (parent?.type === "order") {
    await deleteAll([keys.openCheckout(id)]);
    for await (const page of pagesOf(collections.lateChangesOf(id))) await deleteAll(page.map(keyOf));
  }
  await deleteAll([{ pk, sk: pk }]);
};

/** Erases items, with the files that they name. */
const eraseItems = async (items: readonly Item[], eraser: Eraser): Promise<void> => {
  await limit.map(items, async (item) => {
    const file = fileOf(item);
    if (file === undefined) return;
    if (String(item.sk).startsWith("UPLOAD#")) eraser.progress.hasUploads = true;
    await removeFile(fileKey(file.parent, file.id));
  });
  await deleteAll(items.map(keyOf));
  eraser.progress.removed += items.length;
};

/**
 * Returns the attachment whose file an item names. The item is an attachment, an upload, an unfinished delete, or the event of a
 * deletion.
 */
const fileOf = (item: Item): { readonly parent: ParentRef; readonly id: string } | undefined => {
  const parent = parentIn(String(item.pk));
  if (!parent) return undefined;
  const [, id] = /^(?:ATTACHMENT|UPLOAD|UNFINISHED_DELETE)#(.+)$/.exec(String(item.sk)) ?? [];
  if (id !== undefined) return { parent, id };
  if (!String(item.sk).startsWith(eventPrefix)) return undefined;
  // A damaged event names no file, and is erased like any other.
  const event = z.safeParse(Event, item).data;
  return event?.type.endsWith("_attachment.deleted") ? { parent, id: event.resource.id } : undefined;
};

/** Removes files without metadata, which a crash has left since the last sweep. */
const eraseRecentFiles = async (parent: ParentRef): Promise<void> => {
  for (const daysAgo of [0, 1, 2]) {
    const day = dayOf(new Date(Date.now() - daysAgo * 86_400_000));
    for await (const { key } of allFiles(parentPrefix(day, parent))) await removeFile(key);
  }
};

/** Erases what is left in an account's partitions, and then the account, unless it is gone. */
const eraseAccount = async (account: Account, eraser: Eraser, event?: Write): Promise<void> => {
  const own = keys.account(account.id);
  for await (const page of pagesOf(collections.partition(own)))
    await eraseItems(
      page.filter(({ sk }) => sk !== own.sk),
      eraser,
    );
  const parent = account.ancestors.at(-1);
  const unmet = await transact<string>({
    account: { delete: own, when: { exists: true } },
    child: { delete: keys.childAccount(parent ?? null, account.id) },
    ...hidingWrites(account, false),
    // The account above may be erased at the same time. Once that has begun, it keeps no event, either.
    parent:
      event && parent
        ? { check: keys.account(parent), when: { exists: true, equals: { erasure: undefined } } }
        : undefined,
    event,
  });
  if (unmet?.has("parent") && !unmet.has("account")) await eraseAccount(account, eraser);
};

/** The one event that stays. It is in the history of the account above, or in that of the root accounts, and `find` finds it by the id. */
const erasedEvent = ({ id, version, ancestors, erasure }: Account, origin: Origin): Write => {
  const resource = { type: "account", id, version };
  const { put } = recordOf({ type: "account.erased", account: id, resource, numbers: erasure ?? {} }, origin);
  return { put: { ...put, pk: collections.childAccounts(ancestors.at(-1) ?? null).pk, ...lookupOf(id) } };
};

/** Erases a marked tree. The keys go first. From then on, nobody writes who must not. */
export const eraseTree = async (top: Account, eraser: Eraser, origin: Origin): Promise<void> => {
  const end = Date.now() + eraser.waitMs;
  await eraseKeys(eraser);
  // Requests that have begun may still write. A timer can fire a millisecond early.
  while (Date.now() < end) await sleep(end - Date.now());
  const { partitions } = await findPartitions(top.id);
  const others = partitions.filter((pk) => !pk.startsWith("ACCOUNT#"));
  await forEachConcurrently(partitionsAtOnce, others, (pk) => erasePartition(pk, eraser));
  for (const level of eraser.levels.slice(1).toReversed())
    await forEachConcurrently(partitionsAtOnce, level, async (id) => {
      const account = await readStoredAccount(id);
      if (account) await eraseAccount(account, eraser);
    });
  await eraseAccount(top, eraser, erasedEvent(top, origin));
};
