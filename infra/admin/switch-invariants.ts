import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { Item } from "../../shared/table/expressions.ts";
import { keys } from "../../shared/table/keys.ts";
import { addCount, type Check, keyText, type StoredItem, type Sums, violation } from "./finding.ts";

const Owner = z.object({ id: z.string(), name: z.string(), account: z.string(), ancestors: z.array(z.string()) });
type Owner = z.infer<typeof Owner>;

const listingAccounts = ({ account, ancestors }: Owner) => [...ancestors, account];

// Deliberately not the function of switches.ts: a check must not depend on the code that it checks.
const nameKey = ({ account, name }: Owner) =>
  keys.switchName(account, createHash("sha256").update(name).digest("base64url"));

/**
 * The checks of one item: switches, their names, and their entries in the lists of their accounts and all accounts above.
 * An account's count is the sum of its own item's and those of its count items.
 */
export const switchChecks = (item: StoredItem, sums: Sums): Check[] => {
  const { pk, sk } = item;
  if (sk === "SWITCH") return switchCheck(item, z.parse(Owner, item), sums);
  if (!pk.startsWith("ACCOUNT#")) return [];
  if (/^ACCOUNT($|#SWITCH_COUNT#)/.test(sk)) addCount(sums, pk, Number(item.switch_count));
  if (sk.startsWith("SWITCH_NAME#")) return [nameCheck(item)];
  return sk.startsWith("SWITCH#") ? [entryCheck(item)] : [];
};

const switchCheck = (item: StoredItem, one: Owner, sums: Sums): Check[] => {
  for (const id of listingAccounts(one)) addCount(sums, keys.account(id).pk, -1);
  const at = keyText(item);
  const nameDetail = `the name in ${one.account} is not this switch's`;
  return [
    {
      keys: [nameKey(one)],
      judge: ([name]) => (name?.switch === one.id ? [] : [violation("a switch has its name", at, nameDetail)]),
    },
    ...listingAccounts(one).map(
      (id): Check => ({
        keys: [keys.account(id), keys.switchEntry(id, one.id)],
        judge: ([account, entry]) => [
          ...(account ? [] : [violation("a switch has its accounts", at, id)]),
          ...(entry ? [] : [violation("a switch is in its lists", at, `it is not in that of ${id}`)]),
        ],
      }),
    ),
  ];
};

const parseOwner = (item: Item | undefined): Owner | undefined => item && z.parse(Owner, item);

const nameCheck = (item: StoredItem): Check => ({
  keys: [keys.switch(String(item.switch))],
  judge: ([found]) => {
    const owner = parseOwner(found);
    if (owner && keyText(nameKey(owner)) === keyText(item)) return [];
    return [violation("a switch's name has its owner", keyText(item), `${item.switch} does not have it`)];
  },
});

const entryCheck = (item: StoredItem): Check => ({
  keys: [keys.switch(String(item.id))],
  judge: ([found]) => {
    const owner = parseOwner(found);
    if (owner && listingAccounts(owner).some((id) => keyText(keys.switchEntry(id, owner.id)) === keyText(item)))
      return [];
    return [violation("a list's entry has its switch", keyText(item), `${item.id} does not belong there`)];
  },
});

/** The check of an account whose count is not the number of its switches and those below it. */
export const switchCountCheck = (pk: string, difference: number): Check => ({
  keys: [],
  judge: () => [
    violation("switch_count is exact", pk, `it differs by ${difference} from the switches that are stored`),
  ],
});
