import type { Command } from "commander";
import { CommandError } from "./environment.ts";
import { collect, make, type Output } from "./make.ts";
import { printRows, printThing } from "./output.ts";

const setDisabled = async (id: string, disabled: boolean, { json }: Output) => {
  const { setUserDisabled } = await import("../../shared/tenants/administration.ts");
  if (!(await setUserDisabled(id, disabled)))
    throw new CommandError(`There is no user ${id}: \`user list\` shows those that exist.`);
  printThing({ id, disabled }, { json });
};

/** `user create | list | disable | enable`. */
export const addUserCommands = (user: Command): void => {
  user
    .command("create")
    .description("create a user with permissions")
    .requiredOption("--account <id>", "the account that the user belongs to")
    .option("--permission <permission>", "an exact permission, or <resource>:*; repeat for more", collect, [])
    .option("--disabled", "create it disabled", false)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExample: npm run admin -- user create --account 01J… --permission ordering_cart_requests:show --permission 'ordering_request_attachments:*'",
    )
    .action(
      async ({
        account,
        permission,
        disabled,
        json,
      }: Output & { account: string; permission: string[]; disabled: boolean }) =>
        printThing(await make("users", { account, permissions: permission, disabled }), { json }),
    );
  user
    .command("list")
    .description("list users (reads the whole table)")
    .option("--account <id>", "only those of this account")
    .option("--json", "print JSON")
    .action(async ({ account, json }: Output & { account?: string }) => {
      const { listUsers } = await import("../../shared/tenants/administration.ts");
      const users = (await listUsers()).filter((one) => !account || one.account === account.toUpperCase());
      printRows(users, { json });
    });
  user
    .command("disable")
    .description("disable a user: every key that impersonates it is refused at once")
    .argument("<id>")
    .option("--json", "print JSON")
    .action((id: string, output: Output) => setDisabled(id, true, output));
  user
    .command("enable")
    .description("enable a user again")
    .argument("<id>")
    .option("--json", "print JSON")
    .action((id: string, output: Output) => setDisabled(id, false, output));
};
