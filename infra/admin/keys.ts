import { type Command, InvalidArgumentError } from "commander";
import { confirmed } from "./confirm.ts";
import { CommandError } from "./environment.ts";
import { make, type Output } from "./make.ts";
import { printRows, printThing } from "./output.ts";

const find = async (reference: string) => {
  const { findKey } = await import("../../shared/tenants/administration.ts");
  const key = await findKey(reference);
  const shown = reference.startsWith("apik_") ? "like that" : reference;
  if (!key) throw new CommandError(`There is no API key ${shown}: \`key list\` shows those that exist.`);
  return key;
};

const hours = (text: string): number => {
  if (!/^\d{1,4}(\.\d+)?$/.test(text))
    throw new InvalidArgumentError("It must be a number of hours, such as 24 or 0.5.");
  return Number(text);
};

/** `key issue | list | revoke | rotate`. */
export const addKeyCommands = (key: Command): void => {
  key
    .command("issue")
    .description("issue an API key; it is shown once, here, and never again")
    .requiredOption("--account <id>", "the account that the key belongs to")
    .requiredOption("--user <id>", "the user that it impersonates")
    .option("--expires-at <time>", "ISO 8601 date and time after which it is refused")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExample: npm run admin -- key issue --account 01J… --user 01J… --expires-at 2030-01-01T00:00:00Z",
    )
    .action(
      async ({ account, user, expiresAt, json }: Output & { account: string; user: string; expiresAt?: string }) =>
        printThing(await make("keys", { account, user, expires_at: expiresAt ?? null }), { json }),
    );
  key
    .command("list")
    .description("list keys, by the hash under which they are stored (reads the whole table)")
    .option("--prefix <hex>", "only those whose SHA-256 begins like this", "")
    .option("--json", "print JSON")
    .action(async ({ prefix, json }: Output & { prefix: string }) => {
      const { listKeys } = await import("../../shared/tenants/administration.ts");
      const rows = (await listKeys(prefix)).map(({ sha256, ...rest }) => ({ ...rest, sha256: sha256.slice(0, 16) }));
      printRows(rows, { json });
    });
  key
    .command("revoke")
    .description("revoke a key, by its id or by the key itself; takes effect at once and can't be undone")
    .argument("<id-or-key>", "the key's id, or apik_…")
    .option("-y, --yes", "don't ask")
    .option("--json", "print JSON")
    .action(async (reference: string, { yes, json }: Output & { yes?: boolean }) => {
      const { endKey } = await import("../../shared/tenants/administration.ts");
      const found = await find(reference);
      await confirmed(`Revoke the API key ${found.id} of account ${found.account}?`, yes);
      await endKey(found, { revoked: true });
      printThing({ id: found.id, account: found.account, revoked: true }, { json });
    });
  key
    .command("rotate")
    .description("issue a new key for the same account and user; the old one ends after an overlap")
    .argument("<id-or-key>", "the old key's id, or apik_…")
    .option("--overlap-hours <hours>", "for how long both are accepted", hours, 24)
    .option("--json", "print JSON")
    .action(async (reference: string, { overlapHours, json }: Output & { overlapHours: number }) => {
      const { endKey } = await import("../../shared/tenants/administration.ts");
      const old = await find(reference);
      if (old.revoked) throw new CommandError(`The API key ${old.id} is revoked: issue a new one with \`key issue\`.`);
      const end = new Date(Date.now() + overlapHours * 3_600_000).toISOString();
      const expiresAt = old.expires_at !== null && old.expires_at < end ? old.expires_at : end;
      const made = await make("keys", { account: old.account, user: old.user });
      await endKey(old, { expires_at: expiresAt });
      printThing({ ...made, replaces: old.id, old_key_ends_at: expiresAt }, { json });
    });
};
