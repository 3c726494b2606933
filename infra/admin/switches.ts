import type { Command } from "commander";
import { allSwitches, readSwitch } from "../../shared/switches/read.ts";
import type { SwitchData } from "../../shared/switches/schema.ts";
import { readAccount } from "../../shared/tenants/accounts.ts";
import { findAccount, finder, parseId, printOwned } from "./find.ts";
import { format, printRecord } from "./output.ts";
import { withProgress } from "./progress.ts";

const findSwitch = finder("switch", readSwitch, "`switch list` lists the switches of an account");

/** Operators can see whether a secret is set, but not the secret. */
const withoutSecrets = ({ sms_secret, mms_secret, ...rest }: Omit<SwitchData, "sms_options" | "mms_options">) => ({
  ...rest,
  sms_secret: sms_secret === null ? null : "(set)",
  mms_secret: mms_secret === null ? null : "(set)",
});

const list = async ({ account }: { account: string }) => {
  await findAccount(account);
  const switches = await withProgress(() => Array.fromAsync(allSwitches(account)), "Reading the switches …");
  await printOwned(
    switches.map(({ id, name, account, sms_enabled, sms_protocol, mms_enabled, mms_protocol, updated_at }) => ({
      id,
      name,
      account,
      sms: sms_enabled ? sms_protocol : "off",
      mms: mms_enabled ? mms_protocol : "off",
      updated_at,
    })),
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
    .action(async (id: string) => {
      const found = await findSwitch(id);
      const owner = format.json ? undefined : await readAccount(found.account);
      printRecord({ ...withoutSecrets(found), ...(owner && { "account's name": owner.name }) });
    });
};
