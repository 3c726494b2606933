import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { Item } from "../table/expressions.ts";
import { type Key, keys } from "../table/keys.ts";
import { type Finding, keyText, type Snapshot, tally, violation } from "../table/snapshot.ts";

const Owner = z.object({ id: z.string(), name: z.string(), account: z.string(), ancestors: z.array(z.string()) });
type Owner = z.infer<typeof Owner>;

const switches = ({ items }: Snapshot): (Owner & Key)[] =>
  items.flatMap((item) => (item.sk === "SWITCH" ? [{ ...z.parse(Owner, item), pk: item.pk, sk: item.sk }] : []));

const listingAccounts = ({ account, ancestors }: Owner) => [...ancestors, account];

// Deliberately not the function of switches.ts: a check must not depend on the code that it checks.
const nameKey = ({ account, name }: Owner) =>
  keys.switchName(account, createHash("sha256").update(name).digest("base64url"));

/**
 * Checks switches, their names, their entries in the lists of their accounts and all accounts above, and those accounts'
 * counts.
 */
export const switchFindings = (snapshot: Snapshot): Finding[] => [
  ...switches(snapshot).flatMap((one) => ownFindings(snapshot, one)),
  ...names(snapshot),
  ...entries(snapshot),
  ...counts(snapshot),
];

const ownFindings = (snapshot: Snapshot, one: Owner & Key): Finding[] => {
  const found: Finding[] = [];
  if (snapshot.item(nameKey(one))?.switch !== one.id)
    found.push(violation("a switch has its name", keyText(one), `the name in ${one.account} is not this switch's`));
  for (const account of listingAccounts(one)) {
    if (!snapshot.item(keys.account(account)))
      found.push(violation("a switch has its accounts", keyText(one), account));
    if (!snapshot.item(keys.switchEntry(account, one.id)))
      found.push(violation("a switch is in its lists", keyText(one), `it is not in that of ${account}`));
  }
  return found;
};

const underAccounts = ({ items }: Snapshot, prefix: string) =>
  items.filter(({ pk, sk }) => pk.startsWith("ACCOUNT#") && sk.startsWith(prefix));

const ownerIn = (snapshot: Snapshot, id: unknown): Owner | undefined => {
  const item: Item | undefined = snapshot.item(keys.switch(String(id)));
  return item && z.parse(Owner, item);
};

const names = (snapshot: Snapshot): Finding[] =>
  underAccounts(snapshot, "SWITCH_NAME#").flatMap((item) => {
    const owner = ownerIn(snapshot, item.switch);
    if (owner && keyText(nameKey(owner)) === keyText(item)) return [];
    return [violation("a switch's name has its owner", keyText(item), `${item.switch} does not have it`)];
  });

const entries = (snapshot: Snapshot): Finding[] =>
  underAccounts(snapshot, "SWITCH#").flatMap((item) => {
    const owner = ownerIn(snapshot, item.id);
    if (
      owner &&
      listingAccounts(owner).some((account) => keyText(keys.switchEntry(account, owner.id)) === keyText(item))
    )
      return [];
    return [violation("a list's entry has its switch", keyText(item), `${item.id} does not belong there`)];
  });

/** An account's count is the sum of its own item's, which is older, and those of its count items. */
const counts = (snapshot: Snapshot): Finding[] => {
  const stored = tally(
    switches(snapshot).flatMap((one) => listingAccounts(one).map((account) => keys.account(account).pk)),
  );
  const counted = new Map<string, number>();
  for (const { pk, sk, switch_count } of snapshot.items)
    if (/^ACCOUNT($|#SWITCH_COUNT#)/.test(sk)) counted.set(pk, (counted.get(pk) ?? 0) + Number(switch_count));
  return [...counted].flatMap(([account, count]) => {
    const actual = stored.get(account) ?? 0;
    if (count === actual) return [];
    return [violation("switch_count is exact", account, `it is ${count}, but ${actual} are stored`)];
  });
};
