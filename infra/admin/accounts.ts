import type { Command } from "commander";
import { CommandError } from "./environment.ts";
import { make, type Output } from "./make.ts";
import { printRows, printThing } from "./output.ts";

const row = ({ id, name, ancestors, features, switch_count }: Awaited<ReturnType<typeof load>>) => ({
  id,
  name,
  parent: ancestors.at(-1) ?? null,
  level: ancestors.length + 1,
  ordering_attachment_access: features.ordering_attachment_access,
  switches_in_tree: switch_count,
});

const load = async (id: string) => {
  const { readCountedAccount } = await import("../../shared/tenants/accounts.ts");
  const account = await readCountedAccount(id);
  if (!account) throw new CommandError(`There is no account ${id}: \`account list\` shows those that exist.`);
  return account;
};

/** `account create | list | show | feature`. */
export const addAccountCommands = (account: Command): void => {
  account
    .command("create")
    .description("create an account, at the top or below another")
    .requiredOption("--name <name>", "display name")
    .option("--parent <id>", "the account above it")
    .option("--attachments", "enable Ordering Attachment Access for it", false)
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample: npm run admin -- account create --name East --parent 01J… --attachments")
    .action(
      async ({ name, parent, attachments, json }: Output & { name: string; parent?: string; attachments: boolean }) => {
        const features = { ordering_attachment_access: attachments };
        printThing(await make("accounts", { name, parent: parent ?? null, features }), { json });
      },
    );
  account
    .command("list")
    .description("list all accounts (reads the whole table)")
    .option("--json", "print JSON")
    .action(async ({ json }: Output) => {
      const { listAccounts } = await import("../../shared/tenants/accounts.ts");
      printRows((await listAccounts()).map(row), { json });
    });
  account
    .command("show")
    .description("show an account")
    .argument("<id>")
    .option("--json", "print JSON")
    .action(async (id: string, { json }: Output) => printThing(row(await load(id)), { json }));
  account
    .command("feature")
    .description("turn Ordering Attachment Access on or off; takes effect at once")
    .argument("<id>")
    .argument("<on|off>")
    .option("--json", "print JSON")
    .action(async (id: string, state: string, { json }: Output) => {
      if (state !== "on" && state !== "off") throw new CommandError(`The feature is turned on or off, not ${state}.`);
      const { setAttachmentAccess } = await import("../../shared/tenants/administration.ts");
      const { id: accountId } = await load(id);
      await setAttachmentAccess(accountId, state === "on");
      printThing(row(await load(id)), { json });
    });
};
