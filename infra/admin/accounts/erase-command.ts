import { isOpen } from "../../../shared/checkout/checkout-run.ts";
import { limits } from "../../../shared/limits.ts";
import { keys, parentIn } from "../../../shared/table/keys.ts";
import { getMany } from "../../../shared/table/read.ts";
import { readStoredAccount, readUser } from "../../../shared/tenants/accounts.ts";
import { type Account, canAccess } from "../../../shared/tenants/tenant-schema.ts";
import { CommandError, UsageError } from "../cli/command-errors.ts";
import { accountsBelow, finder, keysOf, ordersInCheckout } from "../cli/lookups.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printRecord } from "../cli/output.ts";
import { formatCount, withProgress } from "../cli/progress.ts";
import { readActualRun } from "../history/actual-run.ts";
import { deletionOf } from "../history/history.ts";
import { type Found, findPartitions, recordKinds, recordsOf } from "./account-records.ts";
import { beginErasure, type Eraser, eraseTree, markedFor, markTree, newMark, unmarkTree } from "./erase.ts";

/** `account erase`. This file has what it would erase, why it refuses, and the confirmation. */

export type EraseOptions = Format & Caller & { readonly yes?: string; readonly cancel: boolean; readonly wait: number };

const findAccount = finder("account", readStoredAccount);

/** Counts the records by kind, and finds the orders whose letters a carrier may have. */
const countRecords = async (partitions: readonly string[]) => {
  const numbers = Object.fromEntries(recordKinds.map((kind) => [kind, 0]));
  const forwarded = new Set<string>();
  let total = 0;
  await withProgress(
    async () => {
      for await (const { records } of recordsOf(partitions)) {
        for (const { kind, item } of records) {
          numbers[kind] = (numbers[kind] ?? 0) + 1;
          if (kind === "receipts" && item.held !== "no") forwarded.add(parentIn(item.pk)?.id ?? "");
        }
        total += records.length;
      }
    },
    () => `Counting … ${formatCount(total)} records`,
  );
  const requests = await getMany([...forwarded].map(keys.request));
  const orders = new Set(requests.flatMap((request) => (request ? [String(request.order)] : [])));
  return { numbers, atCarrier: [...orders].sort() };
};

const maxNamed = 10;
const named = (all: readonly string[]) =>
  [...all.slice(0, maxNamed), ...(all.length > maxNamed ? [`${formatCount(all.length - maxNamed)} more`] : [])].join(
    ", ",
  );

/** Returns the API keys outside of a tree that impersonate its users. `apply` creates none. */
const keysElsewhere = async (top: Account): Promise<string[]> => {
  const found: string[] = [];
  for await (const account of accountsBelow(null))
    for (const { id, user } of canAccess(top.id, account) ? [] : await keysOf(account.id)) {
      const owner = user && (await readUser(user))?.account;
      const ownerAccount = owner && (await readStoredAccount(owner));
      if (ownerAccount && canAccess(top.id, ownerAccount)) found.push(`${id} of the account ${account.id}`);
    }
  return found;
};

/** Throws if an order of the tree is being checked out, or if accounts outside of it would lack requests or users. */
const refuse = async (top: Account, { elsewhere }: Found): Promise<void> => {
  const own = (await ordersInCheckout()).filter((one) => canAccess(top.id, { ...one, id: one.account }));
  const running: string[] = [];
  for (const { id } of own) {
    const run = await readActualRun(id);
    if (run && isOpen(run)) running.push(id);
  }
  if (running.length > 0)
    throw new CommandError(
      `Nothing was erased. These orders are being checked out: ${named(running)}. Repeat the command when their runs have ended.`,
    );
  const requests = elsewhere.map(({ id, order }) => `${id} of the order ${order}`);
  if (requests.length > 0)
    throw new CommandError(
      `Nothing was erased. These requests belong to orders of accounts above, which would lack them: ${named(requests)}. Erase the account of the order.`,
    );
  const impersonating = await keysElsewhere(top);
  if (impersonating.length > 0)
    throw new CommandError(
      `Nothing was erased. These API keys of other accounts impersonate its users: ${named(impersonating)}. Replace them with keys that have users of their own accounts, and revoke them.`,
    );
};

const cancelErasure = async ({ id, name, erasing = [] }: Account, format: Format): Promise<void> => {
  const isOwn = (mark: string) => markedFor(mark) === id;
  const isChanged = await withProgress(() => unmarkTree(id, isOwn), "Removing the marks …");
  const left = await readStoredAccount(id);
  if (left?.erasure)
    throw new CommandError(
      `The erasure of ${id} can't be taken back, because its API keys are gone. To complete it, repeat the command with --yes.`,
    );
  const other = left?.erasing?.find((mark) => !isOwn(mark));
  if (other !== undefined)
    throw new CommandError(`The account ${id} is being erased with ${markedFor(other)}, which is above it.`);
  if (!isChanged && !erasing.some(isOwn))
    throw new CommandError(`The account ${id} is not being erased: there is nothing to take back.`);
  printRecord({ account: id, name, erased: false }, format);
};

const printAtCarrier = (orders: readonly string[]) => {
  if (orders.length === 0) return;
  console.error(`The carrier may have letters of these orders. Ask it to delete its copies: ${orders.join(", ")}`);
};

const stateOf = ({ erasing, erasure }: Account) => {
  if (erasure) return "Its erasure has begun, and this is left.";
  return `Nothing was erased.${erasing ? " Its erasure was interrupted before: --cancel takes it back." : ""}`;
};

export const eraseAccount = async (id: string, options: EraseOptions): Promise<void> => {
  const { yes, cancel, wait, ...called } = options;
  if (cancel && yes !== undefined) throw new UsageError("Specify --yes or --cancel, not both.");
  const erasure = (await readStoredAccount(id)) ? undefined : await deletionOf({ type: "account", id }, id);
  if (erasure) throw new CommandError(`The account ${id} was erased at ${erasure}.`);
  const account = await findAccount(id);
  if (cancel) return cancelErasure(account, called);
  if (yes !== undefined && yes !== account.name)
    throw new UsageError(`--yes must be the name of the account, which is: ${account.name}`);
  const found = await findPartitions(account.id);
  const { numbers, atCarrier } = await countRecords(found.partitions);
  if (!account.erasing) await withProgress(() => refuse(account, found));
  if (yes === undefined) {
    printRecord({ account: account.id, name: account.name, ...numbers }, called);
    printAtCarrier(atCarrier);
    return console.error(
      `${stateOf(account)} To erase all of it, which cannot be undone, repeat the command with --yes <the name>.`,
    );
  }
  const { levels, marked } = await mark(account, numbers);
  // Before anything is erased, because a repeated command finds fewer.
  printAtCarrier(atCarrier);
  const progress: Eraser["progress"] = { removed: 0, hasUploads: Boolean(marked.erasure?.uploads) };
  const urlsEnd = new Date(Date.now() + limits.uploadSeconds * 1000).toISOString();
  await withProgress(
    async () => eraseTree(marked, { levels, waitMs: wait * 1000, progress }, await operatorOrigin(called)),
    () => `Erasing … ${formatCount(progress.removed)} items removed`,
  );
  // DynamoDB returns attributes in any order. A repeated command prints the numbers of the first.
  const erased = Object.fromEntries(recordKinds.map((kind) => [kind, marked.erasure?.[kind] ?? 0]));
  printRecord({ account: account.id, name: account.name, erased: true, ...erased }, called);
  if (progress.hasUploads)
    console.error(
      `Until ${urlsEnd}, a file may still be sent to the URL of an upload. Nobody can read it, and the sweep removes it within two days.`,
    );
  console.error('Backups and versions keep it for a while: see "What is kept" in SECURITY.md.');
};

/** Marks the tree, and begins its erasure, unless it must be refused. */
const mark = async (account: Account, numbers: Readonly<Record<string, number>>) => {
  const own = newMark(account.id);
  const levels = await withProgress(() => markTree(account.id, own), "Marking the accounts …");
  const takeBack = () => unmarkTree(account.id, (one) => one === own);
  // A run, or a request, may have begun before the mark. Nothing has been erased yet. From the mark on, none begins.
  if (!account.erasure)
    await findPartitions(account.id)
      .then((found) => refuse(account, found))
      .catch(async (error: unknown) => {
        await takeBack();
        throw error;
      });
  const marked = await beginErasure(own, levels, numbers);
  if (marked) return { levels, marked };
  await takeBack();
  throw new CommandError(
    `Meanwhile, the erasure of ${account.id} was taken back, or another command has completed it.`,
  );
};
