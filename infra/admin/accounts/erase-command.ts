import { isOpen } from "../../../shared/checkout/checkout-run.ts";
import { readStoredAccount } from "../../../shared/tenants/accounts.ts";
import { type Account, canAccess } from "../../../shared/tenants/tenant-schema.ts";
import { CommandError, UsageError } from "../cli/command-errors.ts";
import { finder, ordersInCheckout } from "../cli/lookups.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printRecord } from "../cli/output.ts";
import { formatCount, withProgress } from "../cli/progress.ts";
import { readActualRun } from "../history/actual-run.ts";
import { deletionOf } from "../history/history.ts";
import { accountTree, recordKinds, recordsOf, requestsElsewhere } from "./account-records.ts";
import { type Eraser, eraseTree, markTree, unmarkTree } from "./erase.ts";

/** `account erase`. This file has what it would erase, why it refuses, and the confirmation. */

export type EraseOptions = Format & Caller & { readonly yes?: string; readonly wait: number };

const findAccount = finder("account", readStoredAccount);

const countRecords = async (top: Account): Promise<Record<string, number>> => {
  const numbers = Object.fromEntries(recordKinds.map((kind) => [kind, 0]));
  let total = 0;
  await withProgress(
    async () => {
      for await (const { records } of recordsOf(top)) {
        for (const { kind } of records) numbers[kind] = (numbers[kind] ?? 0) + 1;
        total += records.length;
      }
    },
    () => `Counting … ${formatCount(total)} records`,
  );
  return numbers;
};

const maxNamed = 10;
const named = (all: readonly string[]) =>
  [...all.slice(0, maxNamed), ...(all.length > maxNamed ? [`${formatCount(all.length - maxNamed)} more`] : [])].join(
    ", ",
  );

/** Throws if an order of the tree is being checked out, or if the tree owns requests of an order outside of it. */
const refuse = async (top: Account): Promise<void> => {
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
  const elsewhere: string[] = [];
  for await (const { id } of accountTree(top))
    for await (const request of requestsElsewhere(top.id, id))
      elsewhere.push(`${request.id} of the order ${request.order}`);
  if (elsewhere.length > 0)
    throw new CommandError(
      `Nothing was erased. These requests belong to orders of accounts above, which would lack them: ${named(elsewhere)}. Erase the account of the order.`,
    );
};

export const eraseAccount = async (id: string, { yes, wait, ...called }: EraseOptions): Promise<void> => {
  const erasure = (await readStoredAccount(id)) ? undefined : await deletionOf({ type: "account", id }, id);
  if (erasure) throw new CommandError(`The account ${id} was erased at ${erasure}.`);
  const account = await findAccount(id);
  if (yes !== undefined && yes !== account.name)
    throw new UsageError(`--yes must be the name of the account, which is: ${account.name}`);
  // A repeated command erases the rest of what the first one has counted.
  const numbers = (yes !== undefined && account.erasing) || (await countRecords(account));
  if (!account.erasing) await withProgress(() => refuse(account));
  if (yes === undefined) {
    printRecord({ account: account.id, name: account.name, ...numbers }, called);
    const state = account.erasing ? "Its erasure has begun, and this is left." : "Nothing was erased.";
    return console.error(
      `${state} To erase all of it, which cannot be undone, repeat the command with --yes <the name>.`,
    );
  }
  const levels = await withProgress(() => markTree(account, numbers), "Marking the accounts …");
  // A run, or a request, may have begun before the mark. Nothing has been erased yet. From the mark on, none begins.
  await refuse(account).catch(async (error: unknown) => {
    await unmarkTree(levels);
    throw error;
  });
  const marked = await findAccount(account.id);
  const progress: Eraser["progress"] = { removed: 0, waiting: undefined };
  await withProgress(
    async () => eraseTree(marked, { levels, waitMs: wait * 1000, progress }, await operatorOrigin(called)),
    () => [`Erasing … ${formatCount(progress.removed)} items removed`, progress.waiting].filter(Boolean).join("; "),
  );
  // DynamoDB returns attributes in any order.
  const erased = Object.fromEntries(recordKinds.map((kind) => [kind, marked.erasing?.[kind] ?? 0]));
  printRecord({ account: account.id, name: account.name, erased: true, ...erased }, called);
  console.error('Backups and versions keep it for a while: see "What is kept of an erased account" in SECURITY.md.');
};
