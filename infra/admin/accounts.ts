import type { Command } from "commander";
import { readCountedAccount } from "../../shared/tenants/accounts.ts";
import type { Account } from "../../shared/tenants/tenant-schema.ts";
import { change, create } from "./apply-command.ts";
import { UsageError } from "./command-errors.ts";
import { accountsBelow, findAccount, parseId } from "./find.ts";
import { format, printRecord, printRows } from "./output.ts";
import { withProgress } from "./progress.ts";
import { add } from "./usage.ts";

type Counted = Account & { readonly below: number };

const accountDetails = ({ id, name, ancestors, features, switch_count }: Account) => ({
  id,
  name,
  level: ancestors.length + 1,
  ordering_attachment_access: features.ordering_attachment_access,
  switches_in_tree: switch_count,
  parent: ancestors.at(-1) ?? null,
});

const rowsOf = (accounts: readonly Counted[]) => {
  const names = new Map(accounts.map(({ id, name }) => [id, name]));
  return accounts.map((one) => {
    const { parent, ...details } = accountDetails(one);
    const named = !format.json && { "parent's name": names.get(parent ?? "") };
    return { ...details, accounts_below: one.below, ...named, parent };
  });
};

/** Returns an account and all accounts below it, each before those below it; without an id, the root accounts. */
const accountsToList = async (id: string | undefined): Promise<Counted[]> => {
  const top = id === undefined ? [] : [await findAccount(id)];
  const all = [...top, ...(await Array.fromAsync(accountsBelow(id ?? null)))];
  const above = all.flatMap(({ ancestors }) => ancestors);
  const listed = all.filter(({ ancestors }) => id !== undefined || ancestors.length === 0);
  const counted = await Promise.all(listed.map((one) => readCountedAccount(one.id)));
  const below = Map.groupBy(above, (one) => one);
  return counted.flatMap((one) => (one ? [{ ...one, below: below.get(one.id)?.length ?? 0 }] : []));
};

const changeAccount = async (id: string, entry: object): Promise<void> => {
  await change("accounts", (await findAccount(id)).id, entry);
  printRecord(accountDetails(await findAccount(id)));
};

export const addAccountCommands = (account: Command): void => {
  add(account, "create", "create an account, at the top level or below another account")
    .requiredOption("--name <name>", "display name")
    .option("--parent <id>", "the parent account", parseId)
    .option("--attachments", "enable Ordering Attachment Access", false)
    .action(async ({ name, parent, attachments }: { name: string; parent?: string; attachments: boolean }) => {
      const features = { ordering_attachment_access: attachments };
      printRecord(await create("accounts", { name, parent: parent ?? null, features }));
    });
  add(account, "list", "list the root accounts, or one account and all accounts below it")
    .option("--account <id>", "the account whose tree is listed", parseId)
    .action(async ({ account: id }: { account?: string }) => {
      const accounts = await withProgress(() => accountsToList(id));
      printRows(rowsOf(accounts));
      if (id === undefined && !format.json)
        console.log("\nThese are the root accounts: `account list --account <id>` lists those below one of them.");
    });
  add(account, "show <id>", "show an account").action(async (id: string) =>
    printRecord(accountDetails(await findAccount(id))),
  );
  add(account, "rename <id> <name>", "rename an account").action((id: string, name: string) =>
    changeAccount(id, { name }),
  );
  add(account, "feature <id> <on|off>", "turn Ordering Attachment Access on or off; takes effect immediately").action(
    async (id: string, state: string) => {
      if (state !== "on" && state !== "off") throw new UsageError(`The feature can be on or off, not ${state}.`);
      await changeAccount(id, { features: { ordering_attachment_access: state === "on" } });
    },
  );
};
