import { limits } from "../limits.ts";
import { pick } from "../schema/fields.ts";
import { keys } from "../table/keys.ts";
import { readItem } from "../table/read.ts";
import { forwardableRequests, type Parent } from "../tenants/orders.ts";
import {
  type Attachment,
  CarrierReceipt,
  FileData,
  type ForwardingData,
  ForwardingState,
  isUpToDate,
} from "./attachment-schema.ts";

/**
 * The associations that `include` adds. `forwarding` comes from the receipts that the checkout writes. This folder cannot import
 * the checkout. It reads only the properties in CarrierReceipt, because the others are for operators.
 */

type ByRequest = ForwardingData["requests"][number];

const none = { state: "none", at: null, reason: null } as const;
const late = { ...none, reason: "It was added or changed after the checkout." } as const;

/** The state of an attachment without a receipt. After the checkout, nothing more is forwarded. */
const withoutReceipt = ({ forwardable, state }: Parent) => {
  if (!forwardable) return none;
  return state === "CART" ? ({ ...none, state: "pending" } as const) : late;
};

const rank = (state: ForwardingState) => ForwardingState.options.indexOf(state);

/** Lists the least advanced requests first, up to the limit, and counts all of them. */
const summary = (requests: readonly ByRequest[]): ForwardingData => {
  const sorted = requests.toSorted((one, other) => rank(one.state) - rank(other.state));
  const listed = sorted.slice(0, limits.forwardingRequests);
  return { state: sorted[0]?.state ?? "none", requests: listed, requests_total: requests.length };
};

/** Maps attachments to their state under the request itself, or under each forwardable request of an order (a second round trip). */
const readForwardings = async (
  parent: Parent,
  attachments: readonly Attachment[],
): Promise<ReadonlyMap<string, ForwardingData>> => {
  const initial = withoutReceipt(parent);
  if (!parent.forwardable) return new Map(attachments.map(({ id }) => [id, summary([{ id: parent.id, ...initial }])]));
  const requests = parent.type === "order" ? await forwardableRequests(parent.id) : [parent.id];
  const under = async (id: string, attachment: Attachment): Promise<ByRequest> => {
    const receipt = await readItem(CarrierReceipt, keys.receipt(id, attachment.id));
    // An attachment that was changed after the checkout, or that the carrier never confirmed, counts as not forwarded.
    const isFinal = receipt && receipt.state !== "pending" && isUpToDate(receipt, attachment);
    const isCurrent = receipt && (parent.state === "CART" || isFinal);
    const { state, at, reason } = isCurrent ? receipt : initial;
    return { id, state, at, reason };
  };
  const ofAttachment = async (attachment: Attachment) =>
    [attachment.id, summary(await Promise.all(requests.map((id) => under(id, attachment))))] as const;
  return new Map(await Promise.all(attachments.map(ofAttachment)));
};

/** `file` is part of the attachment's item, and `order` of its request's. Only `forwarding` takes further reads. */
export const includedAssociations = async (
  parent: Parent,
  attachments: readonly Attachment[],
  include: readonly ("order" | "file" | "forwarding")[] = [],
) => {
  const forwardings = include.includes("forwarding") ? await readForwardings(parent, attachments) : undefined;
  return (attachment: Attachment) => ({
    ...(include.includes("order") && { order: { type: "order", data: { id: parent.order } } }),
    ...(include.includes("file") && { file: { type: "file", data: pick(FileData, attachment) } }),
    ...(forwardings && { forwarding: { type: "forwarding", data: forwardings.get(attachment.id) } }),
  });
};
