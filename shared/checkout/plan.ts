import { type Attachment, isUpToDate } from "../attachments/attachment-schema.ts";
import { allAttachments } from "../attachments/attachments.ts";
import type { Item } from "../table/expressions.ts";
import { collections, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { get, getMany, parseItem, queryAll } from "../table/read.ts";
import { forwardableRequests } from "../tenants/orders.ts";
import { Request } from "../tenants/tenant-schema.ts";
import { Receipt, type Seal, Sealed } from "./checkout-schema.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { checkoutLimits } from "./limits.ts";

export type OwnedAttachment = { readonly of: ParentType; readonly attachment: Attachment };

export const attachmentsOf = (parent: ParentRef): Promise<OwnedAttachment[]> =>
  Array.fromAsync(allAttachments(parent), (attachment) => ({ of: parent.type, attachment }));

export const receiptsOf = (requestId: string): Promise<Receipt[]> =>
  Array.fromAsync(queryAll(collections.receipts(requestId)), (item) => parseItem(Receipt, item));

export type Plan = {
  readonly account: string;
  /** The version of the request's attachments, read before them. While it is current, the attachments are unchanged. */
  readonly version: number;
  readonly seal: Seal | undefined;
  /** Attachments that have not been forwarded with their current metadata. */
  readonly forward: readonly (OwnedAttachment & { readonly receipt: Receipt | undefined })[];
  readonly withdraw: readonly Receipt[];
};

/**
 * Compares the attachments of a request and of its order with the request's receipts. The receipts are read last, so that the
 * receipt of an attachment that was deleted is found even if it was written a moment ago.
 */
export const planOf = async (requestId: string, ofOrder: readonly OwnedAttachment[]): Promise<Plan> => {
  const item = await get(keys.request(requestId));
  const { account, attachments_version: version } = parseItem(Request, item);
  const { seal } = parseItem(Sealed, item);
  const owned = [...ofOrder, ...(await attachmentsOf({ type: "request", id: requestId }))];
  const receipts = new Map((await receiptsOf(requestId)).map((receipt) => [receipt.attachment, receipt]));
  const ids = new Set(owned.map(({ attachment }) => attachment.id));
  return {
    account,
    version,
    seal,
    forward: owned
      .map((each) => ({ ...each, receipt: receipts.get(each.attachment.id) }))
      .filter(({ receipt, attachment }) => receipt?.state !== "forwarded" || !isUpToDate(receipt, attachment)),
    withdraw: [...receipts.values()].filter(({ attachment, state }) => state !== "withdrawn" && !ids.has(attachment)),
  };
};

/** Whether attachments, or an order's requests, have changed since the seal. */
const isChanged = (item: Item | undefined) => {
  const { seal } = parseItem(Sealed, item);
  return seal === undefined || item?.attachments_version !== seal.version;
};

/** How many attachments of a sealed order the carrier does not have as they are now, and how many it still has that were deleted. */
export const leftBehind = async (orderId: string) => {
  const all = await forwardableRequests(orderId);
  const [order, ...requests] = await getMany([keys.order(orderId), ...all.map(keys.request)]);
  const changed = isChanged(order) ? all : all.filter((_, index) => isChanged(requests[index]));
  const ofOrder = changed.length > 0 ? await attachmentsOf({ type: "order", id: orderId }) : [];
  const [added, deleted] = [new Set<string>(), new Set<string>()];
  await forEachConcurrently(checkoutLimits.concurrency, changed, async (id) => {
    const { forward, withdraw } = await planOf(id, ofOrder);
    for (const { attachment } of forward) added.add(attachment.id);
    for (const { attachment } of withdraw) deleted.add(attachment);
  });
  return { not_forwarded: added.size, not_withdrawn: deleted.size };
};
