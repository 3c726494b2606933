import { LateChange, recordOf } from "../../../shared/history/record.ts";
import type { Write } from "../../../shared/table/expressions.ts";
import { type Collection, collections, keys } from "../../../shared/table/keys.ts";
import { parseReadable, query, queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { CommandError } from "../cli/command-errors.ts";
import { askUnless } from "../cli/confirm.ts";
import { findAccount, findOrder, isBeingErased, namesOfAccounts, readOrders } from "../cli/lookups.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printRecord } from "../cli/output.ts";

/** Which orders a list has. `since` is a time in ISO 8601. */
export type Within = { readonly account?: string | undefined; readonly since?: string | undefined };

/** At most `most`, those of the newest orders, or all. */
const changesIn = async (list: Collection, most?: number): Promise<LateChange[]> => {
  const items = most ? await query(list, { limit: most, descending: true }) : await Array.fromAsync(queryAll(list));
  return parseReadable(LateChange, items).sort((a, b) => (a.at > b.at ? -1 : 1));
};

/** Late changes of the newest orders that have any, at most `most`. */
export const newestLateChanges = (most: number): Promise<LateChange[]> => changesIn(collections.lateChanges(), most);

/** The changes of one order that came after its checkout and are not acknowledged, newest first. */
export const lateChangesOf = (order: string): Promise<LateChange[]> => changesIn(collections.lateChangesOf(order));

/**
 * The orders with changes that came after their checkout and that no operator has acknowledged, newest first. Each has its account's
 * id and name, the time of its newest change, and its changes with the attachment's id, parent and name. For `order list --late` and
 * the console's first page. Reads one item a change, two an order, and nothing of any other order.
 */
export const lateOrders = async ({ account, since = "" }: Within, some?: readonly LateChange[]) => {
  if (account !== undefined) await findAccount(account);
  const byOrder = Map.groupBy(some ?? (await changesIn(collections.lateChanges())), ({ order }) => order);
  const found = (await readOrders([...byOrder.keys()])).filter(
    // A run that failed in its last step may have listed changes of an order that is still a cart.
    (order) => order.state === "CHECKED_OUT" && (account === undefined || order.account === account),
  );
  const names = await namesOfAccounts(found);
  const isErased = await Promise.all(found.map(async (order) => !names.has(order.account) && isBeingErased(order)));
  return found
    .filter((_, nth) => !isErased[nth])
    .map(({ id, account }) => {
      const changes = (byOrder.get(id) ?? []).map(({ order: _, ...change }) => change);
      return { id, account, name: names.get(account) ?? null, at: changes[0]?.at ?? "", changes };
    })
    .filter(({ at }) => at >= since)
    .sort((a, b) => (a.at > b.at ? -1 : 1));
};

/** `LOA.pdf created, notes updated` */
export const describeChanges = (changes: readonly Pick<LateChange, "name" | "change">[]): string =>
  changes.map(({ name, change }) => `${name} ${change}`).join(", ");

/** As many changes as a transaction deletes, with the event. */
const atOnce = 99;

/** `order acknowledge`. Takes the late changes of an order off the list. One that comes meanwhile stays. */
export const acknowledge = async (
  given: string,
  reason: string,
  { yes, ...called }: Format & Caller & { readonly yes?: boolean },
): Promise<void> => {
  const { id, account } = await findOrder(given);
  const changes = await lateChangesOf(id);
  if (changes.length === 0)
    throw new CommandError(
      `The order ${id} has no change after its checkout that is not acknowledged: \`order list --late\` lists the orders that have one.`,
    );
  await askUnless(
    yes,
    `The carrier did not get these changes of the order ${id}: ${describeChanges(changes)}. Continue?`,
  );
  const change = { type: "order.acknowledged", account, resource: { type: "order", id, version: null } } as const;
  let event: Write | undefined = recordOf({ ...change, evidence: { reason } }, await operatorOrigin(called));
  for (let start = 0; start < changes.length; start += atOnce) {
    const writes = changes.slice(start, start + atOnce).map((one): [string, Write] => {
      return [one.id, { delete: keys.lateChange(id, one.id), when: { equals: { at: one.at } } }];
    });
    if (await transact({ ...Object.fromEntries(writes), event }))
      throw new CommandError(
        "An attachment has changed meanwhile: run order list --late, then order acknowledge again.",
      );
    event = undefined;
  }
  printRecord({ id, acknowledged: called.json ? changes.map((one) => one.id) : describeChanges(changes) }, called);
};
