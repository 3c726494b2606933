import type { Command } from "commander";
import { knownPermissions } from "../../../shared/tenants/permissions.ts";
import type { User } from "../../../shared/tenants/tenant-schema.ts";
import { findUser, ofAccounts, parseId, printOwned, usersOf } from "../cli/lookups.ts";
import type { Caller } from "../cli/operator.ts";
import { type Format, printRecord, safe } from "../cli/output.ts";
import { add, addChange } from "../cli/usage.ts";
import { change, changeAsRead, create } from "./apply-command.ts";

const permissionsHelp = `\nPermissions:\n${knownPermissions.map((one) => `  ${one}`).join("\n")}`;

const collect = (value: string, all: readonly string[] = []) => [...all, value];

type Change = Readonly<Partial<Record<"add" | "remove" | "set", readonly string[]>>>;

/** Warns of permissions to remove that are not there. They may be misspelt, or all operations of their resource may be granted. */
const warnOfRemoved = (removed: readonly string[], before: readonly string[], after: readonly string[]) => {
  for (const one of removed) {
    const all = one.replace(/:.*/, ":*");
    if (after.includes(all)) console.error(safe(`Warning: ${one} is still granted by ${all}`));
    else if (!before.includes(one)) console.error(safe(`Warning: ${one} was not granted`));
  }
};

const changePermissions = (
  id: string,
  { add: added = [], remove: removed = [], set, ...caller }: Change & Caller,
): Promise<User> =>
  changeAsRead(
    () => findUser(id),
    async (user, precondition) => {
      if (added.length === 0 && removed.length === 0 && !set) return user;
      const base = [...(set ?? user.permissions), ...added];
      const permissions = [...new Set(base)].filter((one) => !removed.includes(one)).sort();
      await change("users", user.id, { permissions }, caller, precondition);
      warnOfRemoved(removed, base, permissions);
      return { ...user, permissions };
    },
  );

export const userRow = ({ id, account, disabled, permissions }: User) => ({ id, account, disabled, permissions });

const list = async ({ account: of, ...format }: Format & { account?: string }) => {
  const users = await ofAccounts(of, usersOf);
  await printOwned(users.map(userRow), format);
};

type Called = Format & Caller;

type NewUser = { readonly account: string; readonly permission?: readonly string[]; readonly disabled: boolean };

export const addUserCommands = (user: Command): void => {
  addChange(user, "create", "create a user with permissions")
    .requiredOption("--account <id>", "the account that the user belongs to", parseId)
    .option(
      "--permission <permission>",
      "a permission, or <resource>:* for all of a resource; can be repeated",
      collect,
    )
    .option("--disabled", "create the user disabled", false)
    .addHelpText("after", permissionsHelp)
    .action(async ({ account, permission: permissions = [], disabled, ...called }: NewUser & Called) =>
      printRecord(await create("users", { account, permissions, disabled }, called), called),
    );
  add(user, "list", "list the users of one account, or of every account")
    .option("--account <id>", "only those of this account", parseId)
    .action(list);
  addChange(user, "permissions <id>", "show a user's permissions, or change them; takes effect immediately")
    .option("--add <permission>", "grant a permission; can be repeated", collect)
    .option("--remove <permission>", "remove a permission; can be repeated", collect)
    .option("--set <permission>", "replace all permissions; can be repeated", collect)
    .addHelpText("after", permissionsHelp)
    .action(async (id: string, options: Change & Called) => {
      const { id: userId, permissions } = await changePermissions(id, options);
      printRecord({ id: userId, permissions }, options);
    });
  const disable = "disable a user; every key that impersonates it stops working immediately";
  for (const [name, description] of Object.entries({ disable, enable: "enable a user again" }))
    addChange(user, `${name} <id>`, description).action(async (id: string, called: Called) => {
      const disabled = name === "disable";
      await change("users", (await findUser(id)).id, { disabled }, called);
      printRecord({ id, disabled }, called);
    });
};
