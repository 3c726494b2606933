import * as z from "zod/mini";
import { forEachConcurrently } from "../for-each-concurrently.ts";
import type { Item } from "../table/expressions.ts";
import { collections, keys } from "../table/keys.ts";
import { getMany, leaveOut, parseItem, queryAll } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { forwardableRequests, readOrder } from "../tenants/orders.ts";
import { readRun } from "./checkout-run.ts";
import { Receipt } from "./checkout-schema.ts";
import { checkoutLimits } from "./limits.ts";

/** A deleted attachment. `expires_at` is when the event of its deletion expires. */
const Deleted = z.object({
  parent: z.object({ type: z.enum(["order", "request"]), id: z.string() }),
  order: z.string(),
  expires_at: z.number(),
});

/** The time that is left to the sweep of files. The function has 15 minutes for both. */
const forFilesMs = 10 * 60_000;

const Ending = z.pick(Receipt, { at: true, sent: true, expires_at: true });

/**
 * Ends the receipts of deleted attachments that no run will withdraw, because their order is checked out. They lose the notes, and
 * expire with the events. The daily sweep does it, because an order's attachment has a receipt under each of its requests. A cart's
 * receipts stay, because the next run needs them to withdraw what the carrier has. Returns the number of attachments.
 */
export const expireReceipts = async (remainingMs = () => Number.POSITIVE_INFINITY): Promise<number> => {
  let ended = 0;
  await forEachConcurrently(checkoutLimits.concurrency, queryAll(collections.deletedAttachments()), async (item) => {
    if (remainingMs() < forFilesMs || !(await endReceipts(item).catch(leaveOut))) return;
    ended += 1;
    await transact({ deleted: { delete: { pk: String(item.pk), sk: String(item.sk) } } });
  });
  return ended;
};

const attachmentOf = ({ sk }: Item) => String(sk).replace("DELETED#", "");

/** Returns false if a run may still withdraw the attachment. */
const endReceipts = async (item: Item): Promise<boolean> => {
  const { parent, order, expires_at } = parseItem(Deleted, item);
  // The run is read first: an order without one has no receipts.
  const run = await readRun(order);
  const found = await readOrder(order);
  if (!found || (found.state === "CART" && !run)) return true;
  if (found.state === "CART") return false;
  const requests = parent.type === "request" ? [parent.id] : await forwardableRequests(order);
  const receiptKeys = requests.map((request) => keys.receipt(request, attachmentOf(item)));
  const receipts = await getMany(receiptKeys);
  await forEachConcurrently(checkoutLimits.concurrency, receiptKeys.entries(), async ([index, update]) => {
    const receipt = receipts[index] && parseItem(Ending, receipts[index]);
    if (!receipt || receipt.expires_at !== null) return;
    const set = { sent: { ...receipt.sent, notes: null }, expires_at };
    await transact({ receipt: { update, set, when: { equals: { at: receipt.at } } } });
  });
  return true;
};
