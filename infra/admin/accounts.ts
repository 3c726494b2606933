import type { Command } from "commander";
import { readCountedAccount } from "../../shared/tenants/accounts.ts";
import type { Account } from "../../shared/tenants/tenant-schema.ts";
import { change, create } from "./apply-command.ts";
import { UsageError } from "./command-errors.ts";
import { accountsBelow, findAccount, parseId } from "./find.ts";
import { format, printRecord, printRows } from "./output.ts";
import { withProgress } from "./progress.ts";

type Counted = Account & { readonly below: number };

const accountDetails = ({ id, name, ancestors, features, switch_count }: Account) => ({
  id,
  name,
  parent: ancestors.at(-1) ?? null,
  level: ancestors.length + 1,
  ordering_attachment_access: features.ordering_attachment_access,
  switches_in_tree: switch_count,
});

const tableRows = (accounts: readonly Counted[]) => {
  const names = new Map(accounts.map(({ id, name }) => [id, name]));
  return accounts.map(({ id, name, ancestors, features, switch_count, below }) => ({
    id,
    name,
    "accounts below": below,
    "parent's name": names.get(ancestors.at(-1) ?? ""),
    level: ancestors.length + 1,
    attachments: features.ordering_attachment_access ? "on" : "off",
    switches: switch_count,
    parent: ancestors.at(-1),
  }));
};

/** Returns an account and all accounts below it, each before those below it; without an id, the root accounts. */
const accountsToList = async (id: string | undefined): Promise<Counted[]> => {
  const all = [
    ...(id === undefined ? [] : [await findAccount(id)]),
    ...(await Array.fromAsync(accountsBelow(id ?? null))),
  ];
  const below = Map.groupBy(
    all.flatMap(({ ancestors }) => ancestors),
    (above) => above,
  );
  const listed = all.filter(({ ancestors }) => id !== undefined || ancestors.length === 0);
  const counted = await Promise.all(listed.map((one) => readCountedAccount(one.id)));
  return counted.flatMap((account) => (account ? [{ ...account, below: below.get(account.id)?.length ?? 0 }] : []));
};

const changeAccount = async (id: string, entry: object): Promise<void> => {
  await change("accounts", (await findAccount(id)).id, entry);
  printRecord(accountDetails(await findAccount(id)));
};

export const addAccountCommands = (account: Command): void => {
  account
    .command("create")
    .description("create an account, at the top level or below another account")
    .requiredOption("--name <name>", "display name")
    .option("--parent <id>", "the parent account", parseId)
    .option("--attachments", "enable Ordering Attachment Access", false)
    .addHelpText("after", "\nExample: npm run admin -- account create --name East --parent 01J… --attachments")
    .action(async ({ name, parent, attachments }: { name: string; parent?: string; attachments: boolean }) => {
      const features = { ordering_attachment_access: attachments };
      printRecord(await create("accounts", { name, parent: parent ?? null, features }));
    });
  account
    .command("list")
    .description("list the root accounts, or one account and all accounts below it")
    .option("--account <id>", "the account whose tree is listed", parseId)
    .action(async ({ account: id }: { account?: string }) => {
      const accounts = await withProgress(() => accountsToList(id));
      const detailed = accounts.map((one) => ({ ...accountDetails(one), accounts_below: one.below }));
      printRows(format.json ? detailed : tableRows(accounts));
      if (id === undefined && !format.json)
        console.log("\nThese are the root accounts: `account list --account <id>` lists those below one of them.");
    });
  account
    .command("show")
    .description("show an account")
    .argument("<id>", "the account", parseId)
    .action(async (id: string) => printRecord(accountDetails(await findAccount(id))));
  account
    .command("rename")
    .description("rename an account")
    .argument("<id>", "the account", parseId)
    .argument("<name>")
    .addHelpText("after", "\nExample: npm run admin -- account rename 01J… 'Acme East'")
    .action((id: string, name: string) => changeAccount(id, { name }));
  account
    .command("feature")
    .description("turn Ordering Attachment Access on or off; takes effect immediately")
    .argument("<id>", "the account", parseId)
    .argument("<on|off>")
    .action(async (id: string, state: string) => {
      if (state !== "on" && state !== "off") throw new UsageError(`The feature can be on or off, not ${state}.`);
      await changeAccount(id, { features: { ordering_attachment_access: state === "on" } });
    });
};
