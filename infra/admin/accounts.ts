import type { Command } from "commander";
import { check } from "../../shared/schema/check.ts";
import { nonBlankText } from "../../shared/schema/fields.ts";
import { listAccounts } from "../../shared/tenants/accounts.ts";
import { renameAccount, setAttachmentAccess } from "../../shared/tenants/administration.ts";
import type { Account } from "../../shared/tenants/schema.ts";
import { CommandError } from "./command-error.ts";
import { create } from "./create.ts";
import { findAccount } from "./find.ts";
import { type Output, parseId } from "./options.ts";
import { printRows, printThing } from "./output.ts";
import { readingTable } from "./progress.ts";

const detail = ({ id, name, ancestors, features, switch_count }: Account) => ({
  id,
  name,
  parent: ancestors.at(-1) ?? null,
  level: ancestors.length + 1,
  ordering_attachment_access: features.ordering_attachment_access,
  switches_in_tree: switch_count,
});

const rows = (accounts: readonly Account[]) => {
  const names = new Map(accounts.map(({ id, name }) => [id, name]));
  return accounts.map(({ id, name, ancestors, features, switch_count }) => ({
    id,
    name,
    "parent's name": names.get(ancestors.at(-1) ?? ""),
    level: ancestors.length + 1,
    attachments: features.ordering_attachment_access ? "on" : "off",
    switches: switch_count,
    parent: ancestors.at(-1),
  }));
};

/** `account create | list | show | rename | feature`. */
export const addAccountCommands = (account: Command): void => {
  account
    .command("create")
    .description("create an account, at the top or below another")
    .requiredOption("--name <name>", "display name")
    .option("--parent <id>", "the account above it", parseId)
    .option("--attachments", "enable Ordering Attachment Access for it", false)
    .addHelpText("after", "\nExample: npm run admin -- account create --name East --parent 01J… --attachments")
    .action(
      async ({ name, parent, attachments, json }: Output & { name: string; parent?: string; attachments: boolean }) => {
        const features = { ordering_attachment_access: attachments };
        printThing(await create("accounts", { name, parent: parent ?? null, features }), { json });
      },
    );
  account
    .command("list")
    .description("list all accounts (reads the whole table)")
    .action(async ({ json }: Output) => {
      const accounts = await readingTable(listAccounts);
      printRows(json ? accounts.map(detail) : rows(accounts), { json });
    });
  account
    .command("show")
    .description("show an account")
    .argument("<id>", "its id", parseId)
    .action(async (id: string, { json }: Output) => printThing(detail(await findAccount(id)), { json }));
  account
    .command("rename")
    .description("give an account another name")
    .argument("<id>", "its id", parseId)
    .argument("<name>")
    .addHelpText("after", "\nExample: npm run admin -- account rename 01J… 'Acme East'")
    .action(async (id: string, name: string, { json }: Output) => {
      const checked = check(nonBlankText(255), name, "body");
      if (checked.problems) throw new CommandError(`The name ${checked.problems.map((one) => one.detail).join(", ")}.`);
      const found = await findAccount(id);
      await renameAccount(found.id, checked.value);
      printThing(detail(await findAccount(id)), { json });
    });
  account
    .command("feature")
    .description("turn Ordering Attachment Access on or off; takes effect at once")
    .argument("<id>", "its id", parseId)
    .argument("<on|off>")
    .action(async (id: string, state: string, { json }: Output) => {
      if (state !== "on" && state !== "off") throw new CommandError(`The feature is turned on or off, not ${state}.`);
      const found = await findAccount(id);
      await setAttachmentAccess(found.id, state === "on");
      printThing(detail(await findAccount(id)), { json });
    });
};
