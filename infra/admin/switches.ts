import type { Command } from "commander";
import { allSwitches, readSwitch } from "../../shared/switches/read.ts";
import type { SwitchData } from "../../shared/switches/schema.ts";
import { readAccount } from "../../shared/tenants/accounts.ts";
import { CommandError } from "./command-error.ts";
import { findAccount } from "./find.ts";
import { accountNames } from "./lists.ts";
import { type Output, parseId } from "./options.ts";
import { printRecord, printRows } from "./output.ts";
import { withProgress } from "./progress.ts";

/** Operators can see whether a secret is set, but not the secret. */
const withoutSecrets = ({ sms_secret, mms_secret, ...rest }: Omit<SwitchData, "sms_options" | "mms_options">) => ({
  ...rest,
  sms_secret: sms_secret === null ? null : "(set)",
  mms_secret: mms_secret === null ? null : "(set)",
});

const list = async ({ account, json }: Output & { account: string }) => {
  const owner = await findAccount(account);
  const switches = await withProgress(
    () => "Reading the switches …",
    () => Array.fromAsync(allSwitches(owner.id)),
  );
  const names = json ? undefined : await accountNames(switches);
  printRows(
    switches.map(({ id, account: of, name, sms_enabled, sms_protocol, mms_enabled, mms_protocol, updated_at }) => ({
      id,
      name,
      ...(names && { "account's name": names.get(of) }),
      account: of,
      sms: sms_enabled ? sms_protocol : "off",
      mms: mms_enabled ? mms_protocol : "off",
      updated_at,
    })),
    { json },
  );
};

/** `switch list | show`, read-only. */
export const addSwitchCommands = (group: Command): void => {
  group
    .command("list")
    .description("list the switches of an account and of every account below it")
    .requiredOption("--account <id>", "the account", parseId)
    .addHelpText("after", "\nExample: npm run admin -- switch list --account 01J…")
    .action(list);
  group
    .command("show")
    .description("show a switch; its secrets are not printed")
    .argument("<id>", "the switch", parseId)
    .action(async (id: string, { json }: Output) => {
      const found = await readSwitch(id);
      if (!found) throw new CommandError(`There is no switch ${id}: \`switch list\` lists the switches of an account.`);
      const owner = json ? undefined : await readAccount(found.account);
      printRecord({ ...withoutSecrets(found), ...(owner && { "account's name": owner.name }) }, { json });
    });
};
