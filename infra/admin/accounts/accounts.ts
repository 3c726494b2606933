import { type Command, InvalidArgumentError } from "commander";
import pLimit from "p-limit";
import { type CountedAccount, readCountedAccount } from "../../../shared/tenants/accounts.ts";
import { UsageError } from "../cli/command-errors.ts";
import { ask } from "../cli/confirm.ts";
import { accountsBelow, findAccount, parseId } from "../cli/lookups.ts";
import type { Caller } from "../cli/operator.ts";
import { type Format, printRecord, printRows, safe } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { add, addChange } from "../cli/usage.ts";
import type { EraseOptions } from "./erase-command.ts";
import type { ExportOptions } from "./export.ts";

type ListedAccount = CountedAccount & { readonly below: number };

export const accountDetails = ({ id, name, ancestors, features, switch_count }: CountedAccount) => ({
  id,
  name,
  level: ancestors.length + 1,
  ordering_attachment_access: features.ordering_attachment_access,
  switches_in_tree: switch_count,
  parent: ancestors.at(-1) ?? null,
});

const rowsOf = (accounts: readonly ListedAccount[], { json }: Format) => {
  const names = new Map(accounts.map(({ id, name }) => [id, name]));
  return accounts.map((one) => {
    const { parent, ...details } = accountDetails(one);
    const named = !json && { "parent's name": names.get(parent ?? "") };
    return { ...details, accounts_below: one.below, ...named, parent };
  });
};

/** Returns an account and all accounts below it, parents first. Without an id, returns the root accounts. */
const accountsToList = async (id: string | undefined): Promise<ListedAccount[]> => {
  const top = id === undefined ? [] : [await findAccount(id)];
  const all = [...top, ...(await Array.fromAsync(accountsBelow(id ?? null)))];
  const above = all.flatMap(({ ancestors }) => ancestors);
  const listed = all.filter(({ ancestors }) => id !== undefined || ancestors.length === 0);
  const counted = await pLimit(10).map(listed, (one) => readCountedAccount(one.id));
  const below = Map.groupBy(above, (one) => one);
  return counted.flatMap((one) => (one ? [{ ...one, below: below.get(one.id)?.length ?? 0 }] : []));
};

type NewAccount = Format &
  Caller & {
    readonly name: string;
    readonly parent?: string;
    readonly attachments: boolean;
    readonly yes?: boolean;
  };

const createAccount = async ({ name, parent, attachments, yes, ...called }: NewAccount) => {
  const lasting = "It cannot be moved below another account later.";
  if (parent === undefined && process.stdin.isTTY && !yes) await ask(`Create ${name} as a root account? ${lasting}`);
  else if (parent === undefined) console.error(safe(`${name} is a root account. ${lasting}`));
  const features = { ordering_attachment_access: attachments };
  const { create } = await import("./apply-command.ts");
  printRecord(await create("accounts", { name, parent: parent ?? null, features }, called), called);
};

const changeAccount = async (id: string, entry: object, called: Format & Caller): Promise<void> => {
  const { change } = await import("./apply-command.ts");
  await change("accounts", (await findAccount(id)).id, entry, called);
  printRecord(accountDetails(await findAccount(id)), called);
};

const exportHelp = `
Example: ./patchbay account export 01J… --to acme

Each kind of record is a file of JSON Lines; the files of attachments are in files/<order or request>/<attachment>. Check them with
\`sha256sum -c SHA256SUMS\`. Repeat the command to continue after an interruption. It needs the operators' and the evidence policy.`;

const eraseHelp = `
Example: ./patchbay account erase 01J… --yes "Acme"

Erases API keys first, then switches, attachments and their files, orders, requests, and all else. Repeat the command to continue
after an interruption. Until the first key is gone, --cancel takes it back. What stays is one event, with the account's id and the numbers.`;

/** Longer than any request of the API takes (see `timeout` in infra/aws/api.ts). */
const requestSeconds = 30;

const seconds = (text: string): number => {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("It must be a whole number of seconds.");
  return Number(text);
};

export const addAccountCommands = (account: Command): void => {
  addChange(account, "create", "create a root account, or an account below another one")
    .requiredOption("--name <name>", "display name")
    .option("--parent <id>", "the parent account (default: none, which makes it a root account)", parseId)
    .option("--attachments", "enable Ordering Attachment Access", false)
    .option("-y, --yes", "don't ask whether it is to be a root account")
    .action((options: NewAccount) => createAccount(options));
  add(account, "list", "list the root accounts, or one account and all accounts below it")
    .option("--account <id>", "the account whose tree is listed", parseId)
    .action(async ({ account: id, json }: Format & { account?: string }) => {
      const accounts = await withProgress(() => accountsToList(id));
      printRows(rowsOf(accounts, { json }), { json });
      if (id === undefined && !json)
        console.log("\nThese are the root accounts: `account list --account <id>` lists those below one of them.");
    });
  add(account, "show <id>", "show an account").action(async (id: string, format: Format) =>
    printRecord(accountDetails(await findAccount(id)), format),
  );
  addChange(account, "rename <id> <name>", "rename an account").action(
    (id: string, name: string, called: Format & Caller) => changeAccount(id, { name }, called),
  );
  addChange(
    account,
    "feature <id> <on|off>",
    "turn Ordering Attachment Access on or off; takes effect immediately",
  ).action(async (id: string, state: string, called: Format & Caller) => {
    if (state !== "on" && state !== "off") throw new UsageError(`The feature can be on or off, not ${state}.`);
    await changeAccount(id, { features: { ordering_attachment_access: state === "on" } }, called);
  });
  addChange(account, "export <id>", "write everything of an account and those below it, with the files, into a folder")
    .requiredOption("--to <folder>", "the folder: new, empty, or that of an export that was interrupted")
    .option("--with-secrets", "include the secrets of switches and the hashes of API keys", false)
    .addHelpText("after", exportHelp)
    .action(async (id: string, options: ExportOptions) => (await import("./export.ts")).exportAccount(id, options));
  addChange(
    account,
    "erase <id>",
    "print what erasing an account and those below it would remove; with --yes, erase it",
  )
    .option("--yes <name>", "erase it: the name of the account, as a confirmation")
    .option("--cancel", "take back an erasure of which no API key is gone yet", false)
    .option("--wait <seconds>", "how long requests that have begun may take", seconds, requestSeconds)
    .addHelpText("after", eraseHelp)
    .action(async (id: string, options: EraseOptions) =>
      (await import("./erase-command.ts")).eraseAccount(id, options),
    );
};
