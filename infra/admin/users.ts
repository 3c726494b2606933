import { type Command, InvalidArgumentError } from "commander";
import { listUsers, readUser, setPermissions, setUserDisabled } from "../../shared/tenants/administration.ts";
import { permissions as knownPermissions } from "../../shared/tenants/file.ts";
import type { User } from "../../shared/tenants/schema.ts";
import { CommandError } from "./command-error.ts";
import { create } from "./create.ts";
import { accountNames, findAccount } from "./find.ts";
import { collect, type Output, parseId } from "./options.ts";
import { printRows, printThing } from "./output.ts";
import { readingTable } from "./progress.ts";

const knownList = `\nPermissions:\n${knownPermissions.map((one) => `  ${one}`).join("\n")}`;

/** Collects an option that may be repeated; only what some endpoint asks for is a permission. */
const permission = (value: string, all: readonly string[] = []): string[] => {
  if (!knownPermissions.includes(value))
    throw new InvalidArgumentError(`There is no such permission. Permissions are:\n  ${knownPermissions.join("\n  ")}`);
  return [...all, value];
};

const noUser = (id: string) => new CommandError(`There is no user ${id}: \`user list\` shows those that exist.`);

const setDisabled = async (id: string, disabled: boolean, { json }: Output) => {
  if (!(await setUserDisabled(id, disabled))) throw noUser(id);
  printThing({ id, disabled }, { json });
};

type Change = {
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
  readonly set?: readonly string[];
};

/** Reads the user again where someone else has changed it meanwhile. */
const changePermissions = async (id: string, { add = [], remove = [], set }: Change): Promise<User> => {
  for (;;) {
    const user = await readUser(id);
    if (!user) throw noUser(id);
    if (add.length === 0 && remove.length === 0 && !set) return user;
    const base = [...(set ?? user.permissions), ...add];
    const changed = [...new Set(base)].filter((one) => !remove.includes(one)).sort();
    if (await setPermissions(user, changed)) return { ...user, permissions: changed };
  }
};

const list = async ({ account, json }: Output & { account?: string }) => {
  const owner = account === undefined ? undefined : await findAccount(account);
  const users = await readingTable(listUsers);
  const own = users.filter((one) => !owner || one.account === owner.id);
  if (json) return printRows(own, { json });
  const names = owner ? new Map([[owner.id, owner.name]]) : await readingTable(accountNames);
  printRows(
    own.map(({ id, account: of, disabled, permissions }) => ({
      id,
      "account's name": names.get(of),
      account: of,
      disabled,
      permissions,
    })),
    {},
  );
};

/** `user create | list | permissions | disable | enable`. */
export const addUserCommands = (user: Command): void => {
  user
    .command("create")
    .description("create a user with permissions")
    .requiredOption("--account <id>", "the account that the user belongs to", parseId)
    .option("--permission <permission>", "an exact permission, or <resource>:*; repeat for more", permission)
    .option("--disabled", "create it disabled", false)
    .addHelpText(
      "after",
      `\nExample: npm run admin -- user create --account 01J… --permission ordering_cart_requests:show --permission 'ordering_request_attachments:*'\n${knownList}`,
    )
    .action(
      async ({
        account,
        permission: permissions = [],
        disabled,
        json,
      }: Output & { account: string; permission?: string[]; disabled: boolean }) =>
        printThing(await create("users", { account, permissions, disabled }), { json }),
    );
  user
    .command("list")
    .description("list users (reads the whole table)")
    .option("--account <id>", "only those of this account", parseId)
    .action(list);
  user
    .command("permissions")
    .description("show a user's permissions, or change them: takes effect at once")
    .argument("<id>", "its id", parseId)
    .option("--add <permission>", "grant it; repeat for more", permission)
    .option("--remove <permission>", "take it away; repeat for more", collect)
    .option("--set <permission>", "grant these and no others; repeat for more", permission)
    .addHelpText(
      "after",
      `\nExample: npm run admin -- user permissions 01J… --add 'messaging_switches:*'\n${knownList}`,
    )
    .action(async (id: string, { json, ...change }: Output & Change) => {
      const { id: userId, permissions } = await changePermissions(id, change);
      printThing({ id: userId, permissions }, { json });
    });
  user
    .command("disable")
    .description("disable a user: every key that impersonates it is refused at once")
    .argument("<id>", "its id", parseId)
    .action((id: string, output: Output) => setDisabled(id, true, output));
  user
    .command("enable")
    .description("enable a user again")
    .argument("<id>", "its id", parseId)
    .action((id: string, output: Output) => setDisabled(id, false, output));
};
