import { createHash } from "node:crypto";
import { alreadyTaken, invalid, notFound } from "../errors.ts";
import { type Origin, recordOf } from "../history/record.ts";
import { newId } from "../schema/fields.ts";
import type { Item, Write } from "../table/expressions.ts";
import type { Created, Idempotency } from "../table/idempotency.ts";
import { keys } from "../table/keys.ts";
import { optimisticWrite, type Precondition, updateOf } from "../table/optimistic-update.ts";
import { transact } from "../table/write.ts";
import type { Account } from "../tenants/tenant-schema.ts";
import { readSwitch } from "./read.ts";
import { Switch, type SwitchChanges, type SwitchSettings, switchProblems } from "./switch-schema.ts";

/** The key of a name in its account. It contains the name's hash, because a name of 255 characters can be too long for a key. */
const nameKey = ({ account, name }: Pick<Switch, "account" | "name">) =>
  keys.switchName(account, createHash("sha256").update(name).digest("base64url"));

const putName = (of: Switch) => ({ put: { ...nameKey(of), switch: of.id }, when: { exists: false } }) as const;

/** Returns the writes that add or remove a switch's entry in the list of its account and all above, and change the counts. */
const listWrites = (of: Switch, difference: 1 | -1): Record<string, Write> => {
  const writes = [...of.ancestors, of.account].flatMap((account): [string, Write][] => {
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

const nameTaken = (by: Item | undefined) => invalid([alreadyTaken("/data/name", { id: by?.switch, type: "switch" })]);

const recordChange = (
  action: "created" | "updated" | "deleted",
  { id, name, version, account }: Switch,
  origin: Origin,
  changed?: readonly string[],
): Write => {
  const resource = { type: "switch", id, version };
  return recordOf({ type: `switch.${action}`, account, resource, changed, evidence: { name } }, origin);
};

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
 * Creates a switch, its name, and its entries in the lists of its account and all above, in one transaction. With an
 * Idempotency-Key that was used before, returns the switch that was created then. Throws 422 if the name is taken in that account.
 */
export const createSwitch = async (
  account: Account,
  settings: SwitchSettings,
  origin: Origin,
  idempotency: Idempotency | undefined,
): Promise<{ readonly created: Switch; readonly replayed: boolean }> => {
  if (idempotency?.created) return { created: newSwitch(account, settings, idempotency.created), replayed: true };
  const creation = { id: newId(origin.now.getTime()), at: origin.now.toISOString() };
  const created = newSwitch(account, settings, creation);
  const unmet = await transact<string>({
    idempotency: idempotency?.write(creation),
    name: putName(created),
    switch: { put: { ...keys.switch(created.id), ...created }, when: { exists: false } },
    owner: { put: { ...keys.switchOwner(created.id), account: account.id, ancestors: account.ancestors } },
    ...listWrites(created, 1),
    event: recordChange("created", created, origin),
  });
  if (!unmet) return { created, replayed: false };
  if (idempotency && unmet.has("idempotency"))
    return { created: newSwitch(account, settings, idempotency.winner(unmet.get("idempotency"))), replayed: true };
  throw nameTaken(unmet.get("name"));
};

const reread = (id: string) => async (): Promise<Switch> => {
  const found = await readSwitch(id);
  if (!found) throw notFound("switch", id);
  return found;
};

/** Applies the rules to the result, again if another change was faster. If nothing differs, writes nothing. */
export const updateSwitch = (
  current: Switch,
  changes: SwitchChanges,
  origin: Origin,
  precondition: Precondition,
): Promise<Switch> =>
  optimisticWrite(current, origin, precondition, reread(current.id), async (latest, origin) => {
    const problems = switchProblems(changes, latest);
    if (problems.length > 0) throw invalid(problems);
    const { properties, set, written } = updateOf(Switch, latest, changes, origin.now);
    if (properties.length === 0) return latest;
    const isRenamed = properties.includes("name");
    const unmet = await transact({
      switch: { update: keys.switch(latest.id), set, when: { equals: { version: latest.version } } },
      name: isRenamed ? putName(written) : undefined,
      formerName: isRenamed ? { delete: nameKey(latest) } : undefined,
      event: recordChange("updated", written, origin, properties),
    });
    if (unmet?.has("switch")) return undefined;
    if (unmet) throw nameTaken(unmet.get("name"));
    return written;
  });

/** Returns the writes that remove a switch, its name, and its entries in all lists. Its events stay. */
export const switchRemoval = (one: Switch): Readonly<Record<string, Write>> => ({
  switch: { delete: keys.switch(one.id), when: { equals: { version: one.version } } },
  owner: { delete: keys.switchOwner(one.id) },
  name: { delete: nameKey(one) },
  ...listWrites(one, -1),
});

/** Deletes a switch in one transaction. Returns the switch as it was. */
export const deleteSwitch = (current: Switch, origin: Origin, precondition: Precondition): Promise<Switch> =>
  optimisticWrite(current, origin, precondition, reread(current.id), async (latest, origin) => {
    const unmet = await transact<string>({
      ...switchRemoval(latest),
      event: recordChange("deleted", latest, origin),
    });
    return unmet ? undefined : latest;
  });
