import { type Attachment, attachmentData, warningOf } from "../../../shared/attachments/attachment-schema.ts";
import { readRun } from "../../../shared/checkout/checkout-run.ts";
import { type Receipt, Sealed } from "../../../shared/checkout/checkout-schema.ts";
import { lateChanges } from "../../../shared/checkout/late-changes.ts";
import { attachmentsOf, type OwnedAttachment, receiptsOf } from "../../../shared/checkout/plan.ts";
import type { Item } from "../../../shared/table/expressions.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get, parseItem } from "../../../shared/table/read.ts";
import { requestsOfOrder } from "../../../shared/tenants/orders.ts";
import { isForwarded, Order, Request } from "../../../shared/tenants/tenant-schema.ts";
import { inOrder } from "../cli/lookups.ts";

/**
 * The state of an attachment at the carrier. `status` and `answer` are the carrier's last decision. `last_answer` is the reason for
 * repeating the call. An attachment that was added after the checkout has no receipt.
 */
export type ReportedReceipt = Pick<Receipt, "state"> &
  Partial<Omit<Receipt, "attachment" | "of" | "version" | "in_flight_until">>;

export type OrderReport = NonNullable<Awaited<ReturnType<typeof orderReport>>>;
export type RequestReport = OrderReport["requests"][number];

export const orderReport = async (orderId: string, readLast = readRun) => {
  const item = await get(keys.order(orderId));
  if (!item) return undefined;
  const { id, account, state } = parseItem(Order, item);
  const ofOrder = await attachmentsOf({ type: "order", id });
  const reports = inOrder(requestsOfOrder(id), 10, async (request) =>
    requestReport(await get(keys.request(request.id)), state, ofOrder),
  );
  const requests = await Array.fromAsync(reports);
  const attachments = ofOrder.map(({ attachment }) => withWarning(attachment));
  const checkout = (await readLast(id)) ?? null;
  const late_changes = state === "CHECKED_OUT" && checkout ? (await lateChanges(id, new Date())).counts : null;
  return {
    id,
    account,
    state,
    checkout,
    late_changes,
    seal: parseItem(Sealed, item).seal ?? null,
    attachments,
    requests,
  };
};

export const requestReportById = async (requestId: string) => {
  const item = await get(keys.request(requestId));
  const order = item && (await get(keys.order(parseItem(Request, item).order)));
  if (!order) return undefined;
  const { id, state } = parseItem(Order, order);
  return requestReport(item, state, await attachmentsOf({ type: "order", id }));
};

/** Lists the request's attachments and, if it is forwarded, its order's and deleted ones with a receipt. */
const requestReport = async (item: Item | undefined, state: Order["state"], ofOrder: readonly OwnedAttachment[]) => {
  const { id, account, order, type } = parseItem(Request, item);
  const about = { id, account, order, type };
  const own = await attachmentsOf({ type: "request", id });
  if (!isForwarded(type)) return { ...about, attachments: own.map((owned) => reported(owned, null)) };
  const receipts = new Map((await receiptsOf(id)).map((receipt) => [receipt.attachment, receipt]));
  const missing: ReportedReceipt | null = state === "CART" ? { state: "pending" } : null;
  const present = [...own, ...ofOrder].map((owned) => {
    const receipt = receipts.get(owned.attachment.id);
    receipts.delete(owned.attachment.id);
    return reported(owned, receipt ? reportedReceipt(receipt) : missing);
  });
  const deleted = [...receipts.values()].map((receipt) => ({
    id: receipt.attachment,
    of: receipt.of,
    ...receipt.sent,
    receipt: reportedReceipt(receipt),
  }));
  return { ...about, attachments: [...present, ...deleted] };
};

const reported = ({ of, attachment }: OwnedAttachment, receipt: ReportedReceipt | null) => ({
  of,
  ...withWarning(attachment),
  receipt,
});

/** The warning explains why the carrier may refuse the attachment days later. */
const withWarning = (attachment: Attachment) => ({ ...attachmentData(attachment), warning: warningOf(attachment) });

const reportedReceipt = (receipt: Receipt): ReportedReceipt => {
  const { attachment: _, of: _of, version: _version, in_flight_until: _until, ...rest } = receipt;
  return rest;
};
