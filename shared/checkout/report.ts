import * as z from "zod/mini";
import { AttachmentData } from "../attachments/schema.ts";
import { collections, keys } from "../table/keys.ts";
import { get, query } from "../table/read.ts";
import { Order, Request } from "../tenants/schema.ts";
import { attachmentsOf, type Owned, receiptsOf } from "./plan.ts";
import { readRun } from "./run.ts";
import { type CheckoutRun, forwardedType, type Receipt, Seal } from "./schema.ts";

/** What became of an attachment at the carrier; one that was added after the checkout has no receipt. */
type ShownReceipt = Pick<Receipt, "state"> & Partial<Pick<Receipt, "at" | "sha256" | "status" | "answer">>;

type ShownAttachment = Pick<AttachmentData, "id"> &
  Partial<AttachmentData> & { readonly of: "order" | "request"; readonly receipt: ShownReceipt | null };

export type RequestReport = Pick<Request, "id" | "account" | "type"> & {
  readonly seal: Seal | null;
  /** Its own and, where they are forwarded, its order's; the withdrawn ones too. */
  readonly attachments: readonly ShownAttachment[];
};

export type OrderReport = Pick<Order, "id" | "account" | "state"> & {
  readonly checkout: CheckoutRun | null;
  readonly seal: Seal | null;
  readonly attachments: readonly AttachmentData[];
  readonly requests: readonly RequestReport[];
};

const WithSeal = z.object({ seal: z.optional(Seal) });
const sealOf = (item: unknown) => z.parse(WithSeal, item).seal ?? null;

/** Everything that an operator wants to know of an order: what it holds, and what of it the carrier has. */
export const orderReport = async (orderId: string): Promise<OrderReport | undefined> => {
  const item = await get(keys.order(orderId));
  if (!item) return undefined;
  const { id, account, state } = z.parse(Order, item);
  const ofOrder = await attachmentsOf({ type: "order", id });
  const entries = await query(collections.orderRequests(id), { limit: 1_000_000 });
  const requests: RequestReport[] = [];
  for (const entry of entries)
    requests.push(await requestReport(z.parse(z.pick(Request, { id: true }), entry).id, state, ofOrder));
  const attachments = ofOrder.map(({ attachment }) => z.parse(AttachmentData, attachment));
  return { id, account, state, checkout: (await readRun(id)) ?? null, seal: sealOf(item), attachments, requests };
};

/** The same of one request. */
export const requestReportById = async (requestId: string): Promise<RequestReport | undefined> => {
  const item = await get(keys.request(requestId));
  const order = item && (await get(keys.order(z.parse(Request, item).order)));
  if (!order) return undefined;
  const { id, state } = z.parse(Order, order);
  return requestReport(requestId, state, await attachmentsOf({ type: "order", id }));
};

const requestReport = async (
  requestId: string,
  state: Order["state"],
  ofOrder: readonly Owned[],
): Promise<RequestReport> => {
  const item = await get(keys.request(requestId));
  const { id, account, type } = z.parse(Request, item);
  const own = await attachmentsOf({ type: "request", id });
  const about = { id, account, type, seal: sealOf(item) };
  const shown = ({ of, attachment }: Owned, receipt: ShownReceipt | null) => ({
    of,
    ...z.parse(AttachmentData, attachment),
    receipt,
  });
  if (type !== forwardedType) return { ...about, attachments: own.map((owned) => shown(owned, null)) };
  const receipts = new Map((await receiptsOf(id)).map((receipt) => [receipt.attachment, receipt]));
  const owned = [...own, ...ofOrder];
  const missing = state === "CART" ? ({ state: "pending" } as const) : null;
  const present = owned.map((each) => shown(each, shownReceipt(receipts.get(each.attachment.id)) ?? missing));
  for (const { attachment } of owned) receipts.delete(attachment.id);
  const gone = [...receipts.values()].map((receipt) => ({
    id: receipt.attachment,
    of: receipt.of,
    ...receipt.sent,
    receipt: shownReceipt(receipt) ?? missing,
  }));
  return { ...about, attachments: [...present, ...gone] };
};

const shownReceipt = (receipt: Receipt | undefined): ShownReceipt | undefined => {
  if (!receipt) return undefined;
  const { state, at, sha256, status, answer } = receipt;
  return { state, at, sha256, status, answer };
};
