import { type Command, InvalidArgumentError } from "commander";
import type { Precondition } from "../../../shared/table/optimistic-update.ts";
import { readUser } from "../../../shared/tenants/accounts.ts";
import { apply } from "../../../shared/tenants/apply.ts";
import { CommandError } from "../cli/command-errors.ts";
import { confirm } from "../cli/confirm.ts";
import { keyByReference, keysOf, ofAccounts, ownerOf, parseId, printOwned, type StoredKey } from "../cli/lookups.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printRecord } from "../cli/output.ts";
import { add, addChange } from "../cli/usage.ts";
import { change, changeAsRead, create } from "./apply-command.ts";

const hours = (text: string): number => {
  if (!/^\d{1,4}(\.\d+)?$/.test(text))
    throw new InvalidArgumentError("It must be a number of hours, such as 24 or 0.5.");
  return Number(text);
};

/** An expiry in the past is a typing error. */
const futureTime = (text: string): string => {
  const time = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(time))
    throw new InvalidArgumentError("It must be an ISO 8601 date and time, such as 2030-01-01T00:00:00Z.");
  if (time <= Date.now()) throw new InvalidArgumentError("It is in the past: the key would never be valid.");
  return text;
};

const hexPrefix = (text: string): string => {
  if (!/^[0-9a-f]{0,64}$/i.test(text))
    throw new InvalidArgumentError("It must be the beginning of a SHA-256 hash in hex.");
  return text;
};

type Called = Format & Caller;

type NewKey = { readonly account: string; readonly user: string; readonly label?: string; readonly expiresAt?: string };

/** If the user of a key is disabled, every request returns 401. */
const keyDetails = async ({ id, account, user, sha256, ...key }: StoredKey) => ({
  id,
  account,
  user,
  user_disabled: (user && (await readUser(user))?.disabled) ?? null,
  label: key.label,
  inserted_at: key.inserted_at,
  expires_at: key.expires_at,
  revoked: key.revoked,
  replaced_by: key.replaced_by,
  sha256,
});

/** Issues a key like `old`, which then expires after the overlap. */
const rotate = async (
  { id, account, user, label, revoked, expires_at, replaced_by }: StoredKey,
  overlapHours: number,
  called: Called,
  precondition: Precondition,
): Promise<void> => {
  if (replaced_by !== null)
    throw new CommandError(
      `The API key ${id} is already replaced by ${replaced_by}: use that one. \`key revoke ${id}\` revokes the old one now.`,
    );
  const isExpired = expires_at !== null && Date.parse(expires_at) <= Date.now();
  if (revoked || isExpired)
    throw new CommandError(
      `The API key ${id} ${revoked ? "is revoked" : "has expired"}: issue a new one with \`key issue\`.`,
    );
  const end = new Date(Date.now() + overlapHours * 3_600_000).toISOString();
  const expiresAt = expires_at !== null && expires_at < end ? expires_at : end;
  const old = { id, expires_at: expiresAt, replaced_by: "created" };
  const keys = { created: { account, user, label, expires_at }, old };
  const { created } = (await apply({ keys }, await operatorOrigin(called), { precondition })).keys;
  printRecord({ id: created?.id, key: created?.key, expires_at, replaces: id, old_key_ends_at: expiresAt }, called);
};

/** A key's row in a table, which has no room for a whole hash or another id. */
export const keyRow = async (key: StoredKey) => {
  const { sha256: _, replaced_by: _id, ...row } = await keyDetails(key);
  return row;
};

export const addKeyCommands = (key: Command): void => {
  addChange(key, "issue", "issue an API key; it is printed only once")
    .requiredOption("--account <id>", "the account that the key belongs to", parseId)
    .requiredOption("--user <id>", "the user that the key impersonates, of the account or of one above it", parseId)
    .option("--label <text>", "what the key is for")
    .option("--expires-at <time>", "ISO 8601 date and time at which it expires", futureTime)
    .action(async ({ account, user, label, expiresAt, ...called }: NewKey & Called) => {
      const entry = { account, user, label: label ?? null, expires_at: expiresAt ?? null };
      printRecord(await create("keys", entry, called), called);
    });
  add(key, "list", "list the keys of one account, or of every account; --json includes their hashes")
    .option("--account <id>", "only those of this account", parseId)
    .option("--prefix <hex>", "only those whose SHA-256 hash starts with this", hexPrefix, "")
    .action(async ({ account, prefix, json }: Format & { account?: string; prefix: string }) => {
      const keys = (await ofAccounts(account, keysOf)).filter(({ sha256 }) => sha256.startsWith(prefix.toLowerCase()));
      await printOwned(await Promise.all(keys.map(json ? keyDetails : keyRow)), { json });
    });
  add(key, "show <id-or-key>", "show a key, with its SHA-256").action(async (reference: string, format: Format) => {
    const { id, account, ...details } = await keyDetails(await keyByReference(reference));
    printRecord({ id, ...(await ownerOf({ account }, format)), ...details }, format);
  });
  addChange(key, "label <id-or-key> <text>", "set a key's label, which describes its purpose").action(
    async (reference: string, text: string, called: Called) => {
      const { id } = await keyByReference(reference);
      await change("keys", id, { label: text }, called);
      printRecord({ id, label: text.trim() }, called);
    },
  );
  addChange(key, "revoke <id-or-key>", "revoke a key; takes effect immediately")
    .option("-y, --yes", "don't ask for confirmation")
    .action(async (reference: string, { yes, ...called }: Called & { yes?: boolean }) => {
      const { id, account } = await keyByReference(reference);
      if (!yes) await confirm(`Revoke the API key ${id} of account ${account}?`);
      await change("keys", id, { revoked: true }, called);
      printRecord({ id, account, revoked: true }, called);
    });
  addChange(key, "rotate <id-or-key>", "issue another key like it; the old one expires after an overlap")
    .option("--overlap-hours <hours>", "how long both keys are valid", hours, 24)
    .action(async (reference: string, { overlapHours, ...called }: Called & { overlapHours: number }) => {
      const { id } = await keyByReference(reference);
      await changeAsRead(
        () => keyByReference(id),
        (old, precondition) => rotate(old, overlapHours, called, precondition),
      );
    });
};
