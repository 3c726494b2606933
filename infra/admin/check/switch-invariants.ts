import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import type { Item } from "../../../shared/table/expressions.ts";
import { keys } from "../../../shared/table/keys.ts";
import { addCount, type Check, checkOf, keyText, type StoredItem, type Sums } from "./check-finding.ts";

const Owner = z.object({ id: z.string(), name: z.string(), account: z.string(), ancestors: z.array(z.string()) });
type Owner = z.infer<typeof Owner>;

const parseOwner = (item: Item | undefined): Owner | undefined => z.safeParse(Owner, item).data;

const listingAccounts = ({ account, ancestors }: Owner) => [...ancestors, account];

// This is deliberately not the function of switches.ts, because a check must not depend on the code that it checks.
const nameKey = ({ account, name }: Owner) =>
  keys.switchName(account, createHash("sha256").update(name).digest("base64url"));

/** An account's count is the sum of its count items. */
export function* switchChecks(item: StoredItem, sums: Sums): Generator<Check> {
  const { pk, sk } = item;
  if (sk === "SWITCH") yield* ofSwitch(item, sums);
  if (pk.startsWith("SWITCH#") && sk === "OWNER") yield ownerCheck(item);
  if (!pk.startsWith("ACCOUNT#")) return;
  if (sk.startsWith("ACCOUNT#SWITCH_COUNT#")) addCount(sums, pk, Number(item.switch_count));
  if (sk.startsWith("SWITCH_NAME#")) yield nameCheck(item);
  if (sk.startsWith("SWITCH#")) yield entryCheck(item);
}

function* ofSwitch(item: StoredItem, sums: Sums): Generator<Check> {
  const at = keyText(item);
  const one = parseOwner(item);
  if (!one) return;
  yield checkOf("a switch has its name", at, nameKey(one), (name) => {
    return name?.switch === one.id || `the name in ${one.account} is not this switch's`;
  });
  yield checkOf("a switch has its owner", at, keys.switchOwner(one.id), (owner) => {
    return (
      isDeepStrictEqual([owner?.account, owner?.ancestors], [one.account, one.ancestors]) || "access checks differ"
    );
  });
  for (const id of listingAccounts(one)) {
    addCount(sums, keys.account(id).pk, -1);
    yield checkOf("a switch has its accounts", at, keys.account(id), (account) => account !== undefined || id);
    yield checkOf("a switch is in its lists", at, keys.switchEntry(id, one.id), (entry) => {
      return entry !== undefined || `it is not in that of ${id}`;
    });
  }
}

const ownerCheck = (item: StoredItem) =>
  checkOf("a switch's owner has its switch", keyText(item), { pk: item.pk, sk: "SWITCH" }, (found) => {
    return found !== undefined || "there is no such switch";
  });

const nameCheck = (item: StoredItem) =>
  checkOf("a switch's name has its owner", keyText(item), keys.switch(String(item.switch)), (found) => {
    const owner = parseOwner(found);
    return (owner && keyText(nameKey(owner)) === keyText(item)) || `${item.switch} does not have it`;
  });

const entryCheck = (item: StoredItem) =>
  checkOf("a list's entry has its switch", keyText(item), keys.switch(String(item.id)), (found) => {
    const owner = parseOwner(found);
    const entries = owner ? listingAccounts(owner).map((id) => keyText(keys.switchEntry(id, owner.id))) : [];
    return entries.includes(keyText(item)) || `${item.id} does not belong there`;
  });
