import { forEachConcurrently } from "../for-each-concurrently.ts";
import { type LateChange, listLateChange } from "../history/record.ts";
import { keys, type ParentType } from "../table/keys.ts";
import { get, parseItem, readItem } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { forwardableRequests } from "../tenants/orders.ts";
import { Order } from "../tenants/tenant-schema.ts";
import { CheckoutRun, Sealed } from "./checkout-schema.ts";
import { checkoutLimits } from "./limits.ts";
import { inTransactions } from "./manifest.ts";
import { attachmentsOf, parentOf, planOf } from "./plan.ts";

/** Finds an order's attachments that are not forwarded as they are now, and deleted ones that are not withdrawn. Counts them. */
export const lateChanges = async (orderId: string, now: Date) => {
  const item = await get(keys.order(orderId));
  const { seal } = parseItem(Sealed, item);
  const { attachments_version } = parseItem(Order, item);
  const changes = new Map<string, LateChange>();
  if (seal?.version !== attachments_version) {
    const { cart = "" } = (await readItem(CheckoutRun, keys.checkout(orderId))) ?? {};
    const ofOrder = await attachmentsOf({ type: "order", id: orderId });
    await forEachConcurrently(checkoutLimits.concurrency, await forwardableRequests(orderId), async (request) => {
      const { forward, withdraw } = await planOf(request, ofOrder, cart);
      const add = (of: ParentType, change: Omit<LateChange, "order" | "parent">) =>
        changes.set(change.id, { order: orderId, parent: parentOf(of, orderId, request), ...change });
      for (const { of, attachment, receipt } of forward) {
        const { id, name, updated_at: at } = attachment;
        add(of, { id, name, at, change: receipt && receipt.held !== "no" ? "updated" : "created" });
      }
      for (const { of, attachment: id, sent } of withdraw)
        add(of, { id, name: sent.name, at: now.toISOString(), change: "deleted" });
    });
  }
  const listed = [...changes.values()];
  const not_withdrawn = listed.filter(({ change }) => change === "deleted").length;
  const counts = { not_forwarded: listed.length - not_withdrawn, not_withdrawn };
  return { attachments_version, changes: listed, counts };
};
export type LateChanges = Awaited<ReturnType<typeof lateChanges>>;

/** Returns the writes that check an order out and list what came too late, unless the order has changed since. Writes a long list first. */
export const checkedOut = async (orderId: string, { attachments_version, changes }: LateChanges, now: Date) => {
  const [last, ...others] = inTransactions(changes.map(listLateChange), checkoutLimits.writesAtOnce).reverse();
  for (const some of others) await transact(some);
  const set = { state: "CHECKED_OUT", checked_out_at: now.toISOString() };
  const order = { update: keys.order(orderId), set, when: { equals: { state: "CART", attachments_version } } };
  return { order, open: { delete: keys.openCheckout(orderId) }, ...last };
};
