import { isDeepStrictEqual } from "node:util";
import { type Command, InvalidArgumentError } from "commander";
import * as z from "zod/mini";
import { parentPermissions } from "../../shared/attachments/routes.ts";
import { routes } from "../../shared/routes.ts";
import { readUser } from "../../shared/tenants/accounts.ts";
import { User } from "../../shared/tenants/schema.ts";
import { change, create } from "./change.ts";
import { CommandError } from "./command-error.ts";
import { findAccount } from "./find.ts";
import { accountNames, ofAccounts, usersOf } from "./lists.ts";
import { collect, type Output, parseId } from "./options.ts";
import { printRecord, printRows } from "./output.ts";
import { withTableProgress } from "./progress.ts";

const exactPermissions = [
  ...routes.map(({ permission }) => permission),
  ...Object.values(parentPermissions).flatMap((states) => Object.values(states)),
];

/** Every permission that an endpoint requires, and the wildcard of each resource. */
export const knownPermissions: readonly string[] = [
  ...new Set([...exactPermissions, ...exactPermissions.map((exact) => exact.replace(/:[^:]*$/, ":*"))]),
].sort();

const permissionsHelp = `\nPermissions:\n${knownPermissions.map((one) => `  ${one}`).join("\n")}`;

/** Collects an option that may be repeated. Accepts only permissions that an endpoint requires, and their wildcards. */
const collectPermission = (value: string, all: readonly string[] = []): string[] => {
  if (!knownPermissions.includes(value))
    throw new InvalidArgumentError(
      `There is no such permission. The permissions are:\n  ${knownPermissions.join("\n  ")}`,
    );
  return [...all, value];
};

const findUser = async (id: string): Promise<User> => {
  const user = await readUser(id);
  if (!user) throw new CommandError(`There is no user ${id}: \`user list\` lists the existing ones.`);
  return user;
};

const setDisabled = async (id: string, disabled: boolean, { json }: Output) => {
  const user = await findUser(id);
  await change("users", user.id, { disabled });
  printRecord({ id, disabled }, { json });
};

type Change = {
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
  readonly set?: readonly string[];
};

/** Tries again if someone else has changed the permissions since they were read. */
const changePermissions = async (id: string, { add = [], remove = [], set }: Change): Promise<User> => {
  for (let user = await findUser(id); ; ) {
    if (add.length === 0 && remove.length === 0 && !set) return user;
    const base = [...(set ?? user.permissions), ...add];
    const permissions = [...new Set(base)].filter((one) => !remove.includes(one)).sort();
    const { permissions: before = user.permissions } = await change("users", user.id, { permissions });
    if (set || isDeepStrictEqual(before, user.permissions)) return { ...user, permissions };
    user = z.parse(User, { ...user, permissions: before });
  }
};

const list = async ({ account, json }: Output & { account?: string }) => {
  const owner = account === undefined ? undefined : await findAccount(account);
  const users = await withTableProgress(() => ofAccounts(owner?.id, usersOf));
  if (json) return printRows(users, { json });
  const names = await accountNames(users);
  printRows(
    users.map(({ id, account: of, disabled, permissions }) => ({
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
    .option(
      "--permission <permission>",
      "a permission, or <resource>:* for all of a resource; can be repeated",
      collectPermission,
    )
    .option("--disabled", "create the user disabled", false)
    .addHelpText(
      "after",
      `\nExample: npm run admin -- user create --account 01J… --permission ordering_cart_requests:show --permission 'ordering_request_attachments:*'\n${permissionsHelp}`,
    )
    .action(
      async ({
        account,
        permission: permissions = [],
        disabled,
        json,
      }: Output & { account: string; permission?: string[]; disabled: boolean }) =>
        printRecord(await create("users", { account, permissions, disabled }), { json }),
    );
  user
    .command("list")
    .description("list the users of one account, or of every account")
    .option("--account <id>", "only those of this account", parseId)
    .action(list);
  user
    .command("permissions")
    .description("show a user's permissions, or change them; takes effect immediately")
    .argument("<id>", "the user", parseId)
    .option("--add <permission>", "grant a permission; can be repeated", collectPermission)
    .option("--remove <permission>", "remove a permission; can be repeated", collect)
    .option("--set <permission>", "replace all permissions; can be repeated", collectPermission)
    .addHelpText(
      "after",
      `\nExample: npm run admin -- user permissions 01J… --add 'messaging_switches:*'\n${permissionsHelp}`,
    )
    .action(async (id: string, { json, ...change }: Output & Change) => {
      const { id: userId, permissions } = await changePermissions(id, change);
      printRecord({ id: userId, permissions }, { json });
    });
  user
    .command("disable")
    .description("disable a user; every key that impersonates it stops working immediately")
    .argument("<id>", "the user", parseId)
    .action((id: string, output: Output) => setDisabled(id, true, output));
  user
    .command("enable")
    .description("enable a user again")
    .argument("<id>", "the user", parseId)
    .action((id: string, output: Output) => setDisabled(id, false, output));
};
