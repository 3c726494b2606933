import * as z from "zod/mini";
import { Attachment } from "../attachments/schema.ts";
import { collections, keys, type ParentRef, type ParentType } from "../table/keys.ts";
import { get, query } from "../table/read.ts";
import { Request } from "../tenants/schema.ts";
import { forwardedType, Receipt, type RequestPage } from "./schema.ts";

/** More than any collection holds: a checkout reads them whole. */
const all = 1_000_000;

const OrderRequest = z.pick(Request, { id: true, type: true });

/** The ids of an order's requests whose attachments are forwarded, in order; all, or those of one page. */
export const forwardedRequests = async (
  orderId: string,
  { after, through }: Partial<Pick<RequestPage, "after" | "through">> = {},
): Promise<string[]> => {
  const items = await query(collections.orderRequests(orderId), { after: after ?? undefined, limit: all });
  return items
    .map((item) => z.parse(OrderRequest, item))
    .filter(({ id, type }) => type === forwardedType && (through === undefined || id <= through))
    .map(({ id }) => id);
};

/** An attachment, and the parent that it belongs to. */
export type Owned = { readonly of: ParentType; readonly attachment: Attachment };

/** Every attachment of an order or a request. */
export const attachmentsOf = async (parent: ParentRef): Promise<Owned[]> => {
  const items = await query(collections.attachments(parent), { limit: all });
  return items.map((item) => ({ of: parent.type, attachment: z.parse(Attachment, item) }));
};

export const receiptsOf = async (requestId: string): Promise<Receipt[]> => {
  const items = await query(collections.receipts(requestId), { limit: all });
  return items.map((item) => z.parse(Receipt, item));
};

/** What the carrier lacks of a request, and what it may have that is no longer there. */
export type Plan = {
  /** The version of the request's attachments, read before them: while it stands, they are what was read. */
  readonly version: number;
  readonly forward: readonly (Owned & { readonly receipt: Receipt | undefined })[];
  readonly withdraw: readonly Receipt[];
};

/** Compares a request's attachments and its order's with its receipts. */
export const planOf = async (requestId: string, ofOrder: readonly Owned[]): Promise<Plan> => {
  const item = await get(keys.request(requestId));
  const { attachments_version: version } = z.parse(Request, item);
  const owned = [...ofOrder, ...(await attachmentsOf({ type: "request", id: requestId }))];
  const receipts = new Map((await receiptsOf(requestId)).map((receipt) => [receipt.attachment, receipt]));
  const ids = new Set(owned.map(({ attachment }) => attachment.id));
  return {
    version,
    forward: owned
      .map((each) => ({ ...each, receipt: receipts.get(each.attachment.id) }))
      .filter(({ receipt }) => receipt?.state !== "forwarded"),
    withdraw: [...receipts.values()].filter(({ attachment, state }) => state !== "withdrawn" && !ids.has(attachment)),
  };
};
