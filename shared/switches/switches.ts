import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { invalid, notFound, takenFault } from "../errors.ts";
import { newId } from "../schema/fields.ts";
import type { Item, Write } from "../table/expressions.ts";
import type { Created, Idempotency } from "../table/idempotency.ts";
import { keys } from "../table/keys.ts";
import { nextVersion, onLatest, type Precondition } from "../table/optimistic-update.ts";
import { showsOwnWrite, transact, update } from "../table/write.ts";
import type { Account } from "../tenants/schema.ts";
import { readSwitch } from "./read.ts";
import { Switch, type SwitchChanges, type SwitchSettings, switchFaults } from "./schema.ts";

/** The key of a name in its account. It contains the name's hash, since a name of 255 characters can be longer than a key. */
const nameKey = ({ account, name }: Pick<Switch, "account" | "name">) =>
  keys.switchName(account, createHash("sha256").update(name).digest("base64url"));

const nameOf = (of: Switch) => ({ put: { ...nameKey(of), switch: of.id }, when: { exists: false } }) as const;

/** The accounts that list a switch: its own and all above it. */
const treeOf = ({ account, ancestors }: Switch): readonly string[] => [...ancestors, account];

/** For each account that lists a switch, the writes that add or remove its entry, and count it. */
const inTree = (of: Switch, difference: 1 | -1): Record<string, Write> => {
  const writes = treeOf(of).flatMap((account): [string, Write][] => {
    const key = keys.switchEntry(account, of.id);
    const entry: Write = difference === 1 ? { put: { ...key, id: of.id } } : { delete: key };
    const count = { update: keys.switchCount(account, of.id), add: { switch_count: difference }, when: {} };
    return [
      [`entry of ${account}`, entry],
      [`count of ${account}`, count],
    ];
  });
  return Object.fromEntries(writes);
};

const nameTaken = (by: Item | undefined) => invalid([takenFault("/data/name", { id: by?.switch, type: "switch" })]);

const newSwitch = ({ id: account, ancestors }: Account, settings: SwitchSettings, { id, at }: Created): Switch => ({
  id,
  ...settings,
  inserted_at: at,
  updated_at: at,
  account,
  ancestors,
  version: 1,
});

/**
 * Creates a switch in an account, its name, and its entries in the lists of the account and all above it, in one
 * transaction. With an Idempotency-Key that was used before, returns the switch that was created then. 422 if the name
 * is taken in that account.
 */
export const createSwitch = async (
  account: Account,
  settings: SwitchSettings,
  now: Date,
  idempotency: Idempotency | undefined,
): Promise<{ readonly made: Switch; readonly replayed: boolean }> => {
  if (idempotency?.created) return { made: newSwitch(account, settings, idempotency.created), replayed: true };
  const mark = { id: newId(now.getTime()), at: now.toISOString() };
  const made = newSwitch(account, settings, mark);
  const refused = await transact<string>({
    idempotency: idempotency?.write(mark),
    name: nameOf(made),
    switch: { put: { ...keys.switch(made.id), ...made }, when: { exists: false } },
    ...inTree(made, 1),
  });
  if (refused.size === 0 || showsOwnWrite(refused, made.id)) return { made, replayed: false };
  if (idempotency && refused.has("idempotency"))
    return { made: newSwitch(account, settings, idempotency.winner(refused.get("idempotency"))), replayed: true };
  throw nameTaken(refused.get("name"));
};

const reread = (id: string) => async (): Promise<Switch> => {
  const found = await readSwitch(id);
  if (!found) throw notFound("switch", id);
  return found;
};

/**
 * Changes the properties that were sent. The rules apply to the result, and are checked again if another change came
 * first. A PATCH without changes writes nothing. 422 if the new name is taken or a rule is broken.
 */
export const updateSwitch = (
  current: Switch,
  changes: SwitchChanges,
  now: Date,
  precondition: Precondition,
): Promise<Switch> =>
  onLatest(current, precondition, reread(current.id), async (latest) => {
    const faults = switchFaults({ data: changes }, latest);
    if (faults.length > 0) throw invalid(faults);
    const changed = z.parse(Switch, { ...latest, ...changes });
    if (JSON.stringify(changed) === JSON.stringify(z.parse(Switch, latest))) return latest;
    const next = nextVersion(latest, now);
    const set = { ...changes, ...next };
    const written = { ...changed, ...next };
    const write = { update: keys.switch(latest.id), set, when: { equals: { version: latest.version } } };
    if (written.name === latest.name) return (await update(write)) ? written : undefined;
    const refused = await transact({ switch: write, name: nameOf(written), formerName: { delete: nameKey(latest) } });
    if (refused.has("switch")) return undefined;
    if (refused.has("name")) throw nameTaken(refused.get("name"));
    return written;
  });

/** Deletes a switch, its name and its entries in all lists, in one transaction. Returns it as it was. */
export const deleteSwitch = (current: Switch, precondition: Precondition): Promise<Switch> =>
  onLatest(current, precondition, reread(current.id), async (latest) => {
    const refused = await transact<string>({
      switch: { delete: keys.switch(latest.id), when: { equals: { version: latest.version } } },
      name: { delete: nameKey(latest) },
      ...inTree(latest, -1),
    });
    return refused.size === 0 ? latest : undefined;
  });
