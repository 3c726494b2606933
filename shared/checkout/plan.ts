import { type Attachment, isUpToDate } from "../attachments/attachment-schema.ts";
import { allAttachments } from "../attachments/read.ts";
import { collections, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { get, parseItem, queryAll } from "../table/read.ts";
import { Request } from "../tenants/tenant-schema.ts";
import { carrierOf, Receipt } from "./checkout-schema.ts";

/** The parent of an attachment that is forwarded under a request: this request, or its order. */
export const parentOf = (of: ParentType, order: string, request: string): ParentRef => ({
  type: of,
  id: of === "order" ? order : request,
});

export type OwnedAttachment = { readonly of: ParentType; readonly attachment: Attachment };

export const attachmentsOf = (parent: ParentRef): Promise<OwnedAttachment[]> =>
  Array.fromAsync(allAttachments(parent), (attachment) => ({ of: parent.type, attachment }));

export const receiptsOf = (requestId: string): Promise<Receipt[]> =>
  Array.fromAsync(queryAll(collections.receipts(requestId)), (item) => parseItem(Receipt, item));

export type Plan = {
  readonly account: string;
  /** Attachments that have not been forwarded with their current metadata. */
  readonly forward: readonly (OwnedAttachment & { readonly receipt: Receipt | undefined })[];
  readonly withdraw: readonly Receipt[];
};

/**
 * Compares the attachments of a request and of its order with the request's receipts of this cart. Reads the receipts last, so
 * that it finds the receipt of a deleted attachment even if that was written a moment ago.
 */
export const planOf = async (requestId: string, ofOrder: readonly OwnedAttachment[], cart: string): Promise<Plan> => {
  const { account } = parseItem(Request, await get(keys.request(requestId)));
  const owned = [...ofOrder, ...(await attachmentsOf({ type: "request", id: requestId }))];
  const receipts = new Map((await receiptsOf(requestId)).map((receipt) => [receipt.attachment, receipt]));
  const ids = new Set(owned.map(({ attachment }) => attachment.id));
  return {
    account,
    forward: owned
      .map((each) => ({ ...each, receipt: receipts.get(each.attachment.id) }))
      .filter(({ receipt, attachment }) => !isForwarded(receipt, cart) || !isUpToDate(receipt, attachment)),
    withdraw: [...receipts.values()].filter(
      (receipt) => receipt.held !== "no" && carrierOf(receipt.cart) === carrierOf(cart) && !ids.has(receipt.attachment),
    ),
  };
};

export const isForwarded = (receipt: Receipt | undefined, cart: string): receipt is Receipt =>
  receipt?.state === "forwarded" && receipt.held === "yes" && receipt.cart === cart;
