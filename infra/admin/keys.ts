import { type Command, InvalidArgumentError } from "commander";
import { readAccount } from "../../shared/tenants/accounts.ts";
import { endKey, findKey, listKeys, readUser } from "../../shared/tenants/administration.ts";
import type { Account } from "../../shared/tenants/schema.ts";
import { CommandError } from "./command-error.ts";
import { confirmed } from "./confirm.ts";
import { create } from "./create.ts";
import { accountNames } from "./find.ts";
import { type Output, parseId } from "./options.ts";
import { printRows, printThing } from "./output.ts";
import { readingTable } from "./progress.ts";

const find = async (reference: string) => {
  const key = await readingTable(() => findKey(reference));
  const described = reference.startsWith("apik_") ? "like that" : reference;
  if (!key) throw new CommandError(`There is no API key ${described}: \`key list\` shows those that exist.`);
  return key;
};

const hours = (text: string): number => {
  if (!/^\d{1,4}(\.\d+)?$/.test(text))
    throw new InvalidArgumentError("It must be a number of hours, such as 24 or 0.5.");
  return Number(text);
};

/** A key that has ended before it begins is a slip of the pen. */
const future = (text: string): string => {
  const time = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(time))
    throw new InvalidArgumentError("It must be an ISO 8601 date and time, such as 2030-01-01T00:00:00Z.");
  if (time <= Date.now()) throw new InvalidArgumentError("It is in the past: the key would never be accepted.");
  return text;
};

const hexPrefix = (text: string): string => {
  if (!/^[0-9a-f]{0,64}$/i.test(text)) throw new InvalidArgumentError("It must be the beginning of a SHA-256 in hex.");
  return text;
};

const rootOf = ({ id, ancestors }: Account) => ancestors[0] ?? id;

/** A key for a user of another customer is a slip of the pen. What does not exist is reported when the key is created. */
const requireSameTree = async (accountId: string, userId: string): Promise<void> => {
  const [account, user] = await Promise.all([readAccount(accountId), readUser(userId)]);
  const own = user && (await readAccount(user.account));
  if (account && own && rootOf(account) !== rootOf(own))
    throw new CommandError("--user: must be a user of the same account tree as the key");
};

/** `key issue | list | revoke | rotate`. */
export const addKeyCommands = (key: Command): void => {
  key
    .command("issue")
    .description("issue an API key; it is shown once, here, and never again")
    .requiredOption("--account <id>", "the account that the key belongs to", parseId)
    .requiredOption("--user <id>", "the user that it impersonates, of the same account tree", parseId)
    .option("--expires-at <time>", "ISO 8601 date and time after which it is refused", future)
    .addHelpText(
      "after",
      "\nExample: npm run admin -- key issue --account 01J… --user 01J… --expires-at 2030-01-01T00:00:00Z",
    )
    .action(
      async ({ account, user, expiresAt, json }: Output & { account: string; user: string; expiresAt?: string }) => {
        await requireSameTree(account, user);
        printThing(await create("keys", { account, user, expires_at: expiresAt ?? null }), { json });
      },
    );
  key
    .command("list")
    .description("list keys, by the hash under which they are stored (reads the whole table)")
    .option("--prefix <hex>", "only those whose SHA-256 begins like this", hexPrefix, "")
    .action(async ({ prefix, json }: Output & { prefix: string }) => {
      const keys = await readingTable(() => listKeys(prefix));
      const rows = keys.map(({ sha256, ...rest }) => ({ ...rest, sha256: sha256.slice(0, 16) }));
      if (json) return printRows(rows, { json });
      const names = await readingTable(accountNames);
      printRows(
        rows.map(({ id, account, ...rest }) => ({ id, "account's name": names.get(account), account, ...rest })),
        {},
      );
    });
  key
    .command("revoke")
    .description("revoke a key, by its id or by the key itself; takes effect at once and can't be undone")
    .argument("<id-or-key>", "the key's id, or apik_…")
    .option("-y, --yes", "don't ask")
    .action(async (reference: string, { yes, json }: Output & { yes?: boolean }) => {
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
    .action(async (reference: string, { overlapHours, json }: Output & { overlapHours: number }) => {
      const old = await find(reference);
      if (old.revoked) throw new CommandError(`The API key ${old.id} is revoked: issue a new one with \`key issue\`.`);
      const end = new Date(Date.now() + overlapHours * 3_600_000).toISOString();
      const expiresAt = old.expires_at !== null && old.expires_at < end ? old.expires_at : end;
      const created = await create("keys", { account: old.account, user: old.user });
      await endKey(old, { expires_at: expiresAt });
      printThing({ ...created, replaces: old.id, old_key_ends_at: expiresAt }, { json });
    });
};
