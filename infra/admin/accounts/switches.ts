import type { Command } from "commander";
import { mapped } from "../../../shared/schema/fields.ts";
import { readSwitch, readSwitches, SwitchEntry } from "../../../shared/switches/read.ts";
import type { Switch } from "../../../shared/switches/switch-schema.ts";
import { collections } from "../../../shared/table/keys.ts";
import { parseReadable, queryAll } from "../../../shared/table/read.ts";
import { isErasedBelow } from "../../../shared/tenants/accounts.ts";
import { childAccounts, findAccount, finder, ownerOf, parseId, printOwned } from "../cli/lookups.ts";
import { type Format, printRecord } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { add } from "../cli/usage.ts";

/** Shows only whether a secret is set. The names of secrets end with `_secret`. */
export const withoutSecrets = (settings: Switch) =>
  mapped<unknown, unknown>(settings, (value, name) => (name.endsWith("_secret") && value !== null ? "(set)" : value));

/** Yields the switches of an account and of all accounts below it or, without one, of every account. */
export async function* switchesOf(account: string | undefined): AsyncGenerator<Switch> {
  const ids = account === undefined ? (await childAccounts(null)).map(({ id }) => id) : [account];
  for (const id of ids) {
    const top = await findAccount(id);
    const entries = await Array.fromAsync(queryAll(collections.switches(id)));
    const switches = await readSwitches(parseReadable(SwitchEntry, entries).map(({ id }) => id));
    yield* switches.filter((one) => !isErasedBelow(top, one));
  }
}

export const switchRow = ({ id, name, account, updated_at, ...one }: Switch) => ({
  id,
  name,
  account,
  sms: one.sms_enabled ? one.sms_protocol : "off",
  mms: one.mms_enabled ? one.mms_protocol : "off",
  updated_at,
});

const list = async ({ account: of, json }: Format & { account?: string }) => {
  const switches = await withProgress(() => Array.fromAsync(switchesOf(of)), "Reading the switches …");
  await printOwned(switches.map(switchRow), { json });
};

export const addSwitchCommands = (group: Command): void => {
  add(group, "list", "list the switches of an account and of every account below it, or those of every account")
    .option("--account <id>", "only those of this account and the accounts below it", parseId)
    .action(list);
  add(group, "show <id>", "show a switch; its secrets are not printed").action(async (id: string, format: Format) => {
    const found = await finder("switch", readSwitch, "`switch list` lists the switches of an account")(id);
    printRecord({ ...withoutSecrets(found), ...(await ownerOf(found, format)) }, format);
  });
};
