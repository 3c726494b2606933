import { isDeepStrictEqual } from "node:util";
import { allAttachments } from "../attachments/attachments.ts";
import { type Attachment, SentMetadata } from "../attachments/schema.ts";
import { pick } from "../schema/fields.ts";
import { collections, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { get, parseItem, queryAll } from "../table/read.ts";
import { requestsOfOrder } from "../tenants/orders.ts";
import { forwardedType, Request } from "../tenants/schema.ts";
import { Receipt, type RequestPage } from "./schema.ts";

/** The ids of the requests whose attachments are forwarded, in ascending order: all of an order, or those of one page. */
export const forwardedRequests = async (
  orderId: string,
  { after, through }: Partial<Pick<RequestPage, "after" | "through">> = {},
): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { id, type } of requestsOfOrder(orderId, after ?? undefined)) {
    if (through !== undefined && id > through) break;
    if (type === forwardedType) ids.push(id);
  }
  return ids;
};

/** An attachment, and the kind of parent that it belongs to. */
export type Owned = { readonly of: ParentType; readonly attachment: Attachment };

/** Every attachment of an order or a request. */
export const attachmentsOf = (parent: ParentRef): Promise<Owned[]> =>
  Array.fromAsync(allAttachments(parent), (attachment) => ({ of: parent.type, attachment }));

export const receiptsOf = (requestId: string): Promise<Receipt[]> =>
  Array.fromAsync(queryAll(collections.receipts(requestId)), (item) => parseItem(Receipt, item));

export const sentMetadataOf = (attachment: Attachment): SentMetadata => pick(SentMetadata, attachment);

/** Whether a receipt is about the metadata that the attachment has now. */
export const isUpToDate = ({ sent }: Receipt, attachment: Attachment): boolean =>
  isDeepStrictEqual(sent, sentMetadataOf(attachment));

/** What the carrier lacks for a request, and what it may have although it was deleted. */
export type Plan = {
  /** The version of the request's attachments, read before them. While it is current, they are what was read. */
  readonly version: number;
  /** Attachments that are not forwarded, or were forwarded with other metadata than they have now. */
  readonly forward: readonly (Owned & { readonly receipt: Receipt | undefined })[];
  readonly withdraw: readonly Receipt[];
};

/**
 * Compares the attachments of a request and of its order with its receipts. The receipts are read last: an attachment that
 * is deleted after its receipt was written is missing here, but its receipt is not.
 */
export const planOf = async (requestId: string, ofOrder: readonly Owned[]): Promise<Plan> => {
  const item = await get(keys.request(requestId));
  const { attachments_version: version } = parseItem(Request, item);
  const owned = [...ofOrder, ...(await attachmentsOf({ type: "request", id: requestId }))];
  const receipts = new Map((await receiptsOf(requestId)).map((receipt) => [receipt.attachment, receipt]));
  const ids = new Set(owned.map(({ attachment }) => attachment.id));
  return {
    version,
    forward: owned
      .map((each) => ({ ...each, receipt: receipts.get(each.attachment.id) }))
      .filter(({ receipt, attachment }) => receipt?.state !== "forwarded" || !isUpToDate(receipt, attachment)),
    withdraw: [...receipts.values()].filter(({ attachment, state }) => state !== "withdrawn" && !ids.has(attachment)),
  };
};
