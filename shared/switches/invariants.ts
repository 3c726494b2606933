import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { Item } from "../table/expressions.ts";
import { type Key, keys } from "../table/keys.ts";
import { type Finding, place, type Snapshot, tally, violation } from "../table/snapshot.ts";

const Owner = z.object({ id: z.string(), name: z.string(), account: z.string(), ancestors: z.array(z.string()) });
type Owner = z.infer<typeof Owner>;

const switches = ({ items }: Snapshot): (Owner & Key)[] =>
  items.flatMap((item) => (item.sk === "SWITCH" ? [{ ...z.parse(Owner, item), pk: item.pk, sk: item.sk }] : []));

const treeOf = ({ account, ancestors }: Owner) => [...ancestors, account];

// Computed here again, and not by the code that is checked.
const nameKey = ({ account, name }: Owner) =>
  keys.switchName(account, createHash("sha256").update(name).digest("base64url"));

/** Switches, their names, their entries in the lists of their accounts and all above, and those accounts' counts. */
export const switchFindings = (of: Snapshot): Finding[] => [
  ...switches(of).flatMap((one) => ownFindings(of, one)),
  ...names(of),
  ...entries(of),
  ...counts(of),
];

const ownFindings = (of: Snapshot, one: Owner & Key): Finding[] => {
  const found: Finding[] = [];
  if (of.item(nameKey(one))?.switch !== one.id)
    found.push(violation("a switch has its name", place(one), `the name in ${one.account} is not its own`));
  for (const account of treeOf(one)) {
    if (!of.item(keys.account(account))) found.push(violation("a switch has its accounts", place(one), account));
    if (!of.item(keys.switchEntry(account, one.id)))
      found.push(violation("a switch is in its lists", place(one), `it is not in that of ${account}`));
  }
  return found;
};

const underAccounts = ({ items }: Snapshot, prefix: string) =>
  items.filter(({ pk, sk }) => pk.startsWith("ACCOUNT#") && sk.startsWith(prefix));

const ownerIn = (of: Snapshot, id: unknown): Owner | undefined => {
  const item: Item | undefined = of.item(keys.switch(String(id)));
  return item && z.parse(Owner, item);
};

const names = (of: Snapshot): Finding[] =>
  underAccounts(of, "SWITCH_NAME#").flatMap((item) => {
    const owner = ownerIn(of, item.switch);
    if (owner && place(nameKey(owner)) === place(item)) return [];
    return [violation("a switch's name has its owner", place(item), `${item.switch} does not have it`)];
  });

const entries = (of: Snapshot): Finding[] =>
  underAccounts(of, "SWITCH#").flatMap((item) => {
    const owner = ownerIn(of, item.id);
    if (owner && treeOf(owner).some((account) => place(keys.switchEntry(account, owner.id)) === place(item))) return [];
    return [violation("a list's entry has its switch", place(item), `${item.id} does not belong there`)];
  });

/** What an account's own item has counted, before there were counts beside it, and what these have. */
const counts = (of: Snapshot): Finding[] => {
  const stored = tally(switches(of).flatMap((one) => treeOf(one).map((account) => keys.account(account).pk)));
  const counted = new Map<string, number>();
  for (const { pk, sk, switch_count } of of.items)
    if (/^ACCOUNT($|#SWITCH_COUNT#)/.test(sk)) counted.set(pk, (counted.get(pk) ?? 0) + Number(switch_count));
  return [...counted].flatMap(([account, count]) => {
    const there = stored.get(account) ?? 0;
    if (count === there) return [];
    return [violation("switch_count is exact", account, `it is ${count}, stored are ${there}`)];
  });
};
