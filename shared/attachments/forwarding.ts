import { keys } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import { forwardedRequestIds, type Parent } from "../tenants/orders.ts";
import { CarrierReceipt, type ForwardingData, ForwardingState } from "./schema.ts";

/**
 * What the carrier has of attachments, for callers. The checkout writes the receipts, but this folder cannot import it. It
 * reads only the properties in CarrierReceipt: the carrier's responses are for operators only.
 */

type ByRequest = ForwardingData["requests"][number];

type ReceiptRef = { readonly request: string; readonly attachment: string };

/** Reads receipts in one round trip. Returns them in the order of `refs`. */
const readReceipts = async (refs: readonly ReceiptRef[]) => {
  const items = await getMany(refs.map(({ request, attachment }) => keys.receipt(request, attachment)));
  return items.map((item) => item && parseItem(CarrierReceipt, item));
};

/** The state of an attachment without a receipt. After the checkout, nothing more is forwarded. */
const withoutReceipt = ({ forwarded, state }: Parent) =>
  ({ state: forwarded && state === "CART" ? "pending" : "none", at: null }) as const;

const rank = (state: ForwardingState) => ForwardingState.options.indexOf(state);

/** The overall state is the least advanced one. */
const summary = (requests: readonly ByRequest[]): ForwardingData => {
  const [least] = requests.map(({ state }) => state).sort((one, other) => rank(one) - rank(other));
  return { state: least ?? "none", requests: [...requests] };
};

/**
 * Returns the forwarding of a parent's attachments, by attachment: under the request itself, or under each forwarded request
 * of the order. Takes one round trip for a request, two for an order.
 */
export const readForwardings = async (
  parent: Parent,
  attachments: readonly string[],
): Promise<ReadonlyMap<string, ForwardingData>> => {
  const none = withoutReceipt(parent);
  if (!parent.forwarded)
    return new Map(attachments.map((attachment) => [attachment, summary([{ id: parent.id, ...none }])]));
  const requests = parent.type === "order" ? await forwardedRequestIds(parent.id) : [parent.id];
  const refs = attachments.flatMap((attachment) => requests.map((request) => ({ request, attachment })));
  const receipts = await readReceipts(refs);
  const entries = refs.map(({ request, attachment }, index) => {
    const { state, at } = receipts[index] ?? none;
    return { attachment, entry: { id: request, state, at } };
  });
  const byAttachment = Map.groupBy(entries, ({ attachment }) => attachment);
  return new Map(
    attachments.map((attachment) => [
      attachment,
      summary((byAttachment.get(attachment) ?? []).map(({ entry }) => entry)),
    ]),
  );
};
