import { keys } from "../../shared/table/keys.ts";
import { type Check, keyText, type StoredItem } from "./finding.ts";

/**
 * The check of a run and its order's entry: there is one while the checkout has started and not succeeded. Otherwise only a
 * notice, because the functions of version 1.0 neither write entries nor remove them.
 */
export const checkoutChecks = (item: StoredItem): Check[] => {
  const [, order] = /^(?=ORDER.* CHECKOUT$|OPEN_CHECKOUTS ).*ORDER#(\w+)/.exec(keyText(item)) ?? [];
  if (order === undefined) return [];
  const [run, entry] = [keys.checkout(order), keys.openCheckout(order)];
  const detail = "if its order is in CART, `order list --failed` does not find it: start it again";
  const finding = { level: "notice", rule: "an open checkout has its entry", at: keyText(run), detail } as const;
  const isOpen = (status: unknown) => status !== undefined && status !== "SUCCEEDED";
  return [
    {
      keys: [run, entry],
      judge: ([run, entry]) => (isOpen(run?.status) === (entry !== undefined) ? [] : [finding]),
    },
  ];
};
