import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { Item } from "../../shared/table/expressions.ts";
import { keys } from "../../shared/table/keys.ts";
import { addCount, type Check, checkOf, keyText, type StoredItem, type Sums } from "./finding.ts";

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
  if (sk === "SWITCH") {
    const owner = parseOwner(item);
    if (owner) return switchCheck(item, owner, sums);
    return [
      checkOf("a switch can be read", keyText(item), undefined, () => "its name, account or ancestors are damaged"),
    ];
  }
  if (!pk.startsWith("ACCOUNT#")) return [];
  if (/^ACCOUNT($|#SWITCH_COUNT#)/.test(sk)) addCount(sums, pk, Number(item.switch_count));
  if (sk.startsWith("SWITCH_NAME#")) return [nameCheck(item)];
  return sk.startsWith("SWITCH#") ? [entryCheck(item)] : [];
};

const switchCheck = (item: StoredItem, one: Owner, sums: Sums): Check[] => {
  const accounts = listingAccounts(one);
  for (const id of accounts) addCount(sums, keys.account(id).pk, -1);
  const at = keyText(item);
  return [
    checkOf("a switch has its name", at, nameKey(one), (name) => {
      return name?.switch === one.id || `the name in ${one.account} is not this switch's`;
    }),
    ...accounts.map((id) =>
      checkOf("a switch has its accounts", at, keys.account(id), (account) => Boolean(account) || id),
    ),
    ...accounts.map((id) =>
      checkOf("a switch is in its lists", at, keys.switchEntry(id, one.id), (entry) => {
        return Boolean(entry) || `it is not in that of ${id}`;
      }),
    ),
  ];
};

const parseOwner = (item: Item | undefined): Owner | undefined => z.safeParse(Owner, item).data;

const nameCheck = (item: StoredItem): Check =>
  checkOf("a switch's name has its owner", keyText(item), keys.switch(String(item.switch)), (found) => {
    const owner = parseOwner(found);
    return (owner && keyText(nameKey(owner)) === keyText(item)) || `${item.switch} does not have it`;
  });

const entryCheck = (item: StoredItem): Check =>
  checkOf("a list's entry has its switch", keyText(item), keys.switch(String(item.id)), (found) => {
    const owner = parseOwner(found);
    const entries = owner ? listingAccounts(owner).map((id) => keyText(keys.switchEntry(id, owner.id))) : [];
    return entries.includes(keyText(item)) || `${item.id} does not belong there`;
  });

/** The check of an account whose count is not the number of its switches and those below it. */
export const switchCountCheck = (pk: string, difference: number): Check =>
  checkOf(
    "switch_count is exact",
    pk,
    undefined,
    () => `it differs by ${difference} from the switches that are stored`,
  );
