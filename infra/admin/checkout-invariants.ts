import type { Item } from "../../shared/table/expressions.ts";
import { collections, type Key, keys } from "../../shared/table/keys.ts";
import { type Check, keyText, type StoredItem } from "./finding.ts";

const { pk: openPartition, prefix } = collections.openCheckouts();

/** Only a notice, because the functions of version 1.0 neither write the entry nor remove it. */
const noticeUnless = (
  item: StoredItem,
  key: Key,
  detail: string,
  holds: (other: Item | undefined) => boolean,
): Check => ({
  keys: [key],
  judge: ([other]) =>
    holds(other) ? [] : [{ level: "notice", rule: "an open checkout has its entry", at: keyText(item), detail }],
});

/** The checks of runs, and of their orders' entries: an order has one while its checkout has started and not succeeded. */
export const checkoutChecks = (item: StoredItem): Check[] => {
  const { pk, sk, status } = item;
  if (sk === "CHECKOUT" && status !== "SUCCEEDED") {
    const entry = keys.openCheckout(pk.replace("ORDER#", ""));
    return [noticeUnless(item, entry, "`order list --failed` does not find it: start it again", Boolean)];
  }
  if (pk !== openPartition) return [];
  const isOpen = (run: Item | undefined) => run !== undefined && run.status !== "SUCCEEDED";
  return [noticeUnless(item, keys.checkout(sk.slice(prefix.length)), "`order list --failed` leaves it out", isOpen)];
};
