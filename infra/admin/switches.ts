import type { Command } from "commander";
import type { SwitchData } from "../../shared/switches/schema.ts";
import { CommandError } from "./environment.ts";
import type { Output } from "./make.ts";
import { printRows, printThing } from "./output.ts";

/** Secrets stay where they are: an operator sees whether there is one. */
const withoutSecrets = ({ sms_secret, mms_secret, ...rest }: Omit<SwitchData, "sms_options" | "mms_options">) => ({
  ...rest,
  sms_secret: sms_secret === null ? null : "(set)",
  mms_secret: mms_secret === null ? null : "(set)",
});

/** `switch list | show`, read-only. */
export const addSwitchCommands = (group: Command): void => {
  group
    .command("list")
    .description("list the switches of an account and of every account below it")
    .requiredOption("--account <id>", "the account")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample: npm run admin -- switch list --account 01J…")
    .action(async ({ account, json }: Output & { account: string }) => {
      const { allSwitches } = await import("../../shared/switches/read.ts");
      const { readAccount } = await import("../../shared/tenants/accounts.ts");
      if (!(await readAccount(account)))
        throw new CommandError(`There is no account ${account}: \`account list\` shows those that there are.`);
      const rows = await Array.fromAsync(allSwitches(account.toUpperCase()));
      printRows(
        rows.map(({ id, account: owner, name, sms_enabled, sms_protocol, mms_enabled, mms_protocol, updated_at }) => ({
          id,
          account: owner,
          name,
          sms: sms_enabled ? sms_protocol : "off",
          mms: mms_enabled ? mms_protocol : "off",
          updated_at,
        })),
        { json },
      );
    });
  group
    .command("show")
    .description("show a switch; its secrets are not told")
    .argument("<id>", "the switch")
    .option("--json", "print JSON")
    .action(async (id: string, { json }: Output) => {
      const { readSwitch } = await import("../../shared/switches/read.ts");
      const found = await readSwitch(id.toUpperCase());
      if (!found) throw new CommandError(`There is no switch ${id}: \`switch list\` shows those of an account.`);
      const { writers: _, ...shown } = found;
      printThing(withoutSecrets(shown), { json });
    });
};
