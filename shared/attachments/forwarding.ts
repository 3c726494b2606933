import { keys } from "../table/keys.ts";
import { getMany, parseItem } from "../table/read.ts";
import { forwardedRequestIds, type Parent } from "../tenants/orders.ts";
import { CarrierReceipt, type ForwardingData, ForwardingState } from "./schema.ts";

/**
 * What the carrier has of attachments, for callers. The checkout writes the receipts and imports this domain, so this
 * module reads of them what CarrierReceipt says, and the carrier's own words stay with the operators.
 */

type ByRequest = ForwardingData["requests"][number];

/** DynamoDB's limit of keys in one BatchGetItem. */
const maxBatch = 100;

type Place = { readonly request: string; readonly attachment: string };

/** The receipts of these places, in their order, in one round trip. */
const readReceipts = async (places: readonly Place[]) => {
  const batches = Array.from({ length: Math.ceil(places.length / maxBatch) }, (_, index) =>
    getMany(
      places
        .slice(index * maxBatch, (index + 1) * maxBatch)
        .map(({ request, attachment }) => keys.receipt(request, attachment)),
    ),
  );
  const items = (await Promise.all(batches)).flat();
  return items.map((item) => item && parseItem(CarrierReceipt, item));
};

/** After the checkout, nothing more is forwarded: what has no receipt then gets none. */
const withoutReceipt = ({ forwarded, state }: Parent) =>
  ({ state: forwarded && state === "CART" ? "pending" : "none", at: null }) as const;

const rank = (state: ForwardingState) => ForwardingState.options.indexOf(state);

/** The state as a whole is the least advanced one. */
const summary = (requests: readonly ByRequest[]): ForwardingData => {
  const [least] = requests.map(({ state }) => state).sort((one, other) => rank(one) - rank(other));
  return { state: least ?? "none", requests: [...requests] };
};

/**
 * The forwarding of each of a parent's attachments: under the request itself, or under each forwarded request of the
 * order. One round trip for a request, two for an order.
 */
export const readForwardings = async (
  parent: Parent,
  attachments: readonly string[],
): Promise<ReadonlyMap<string, ForwardingData>> => {
  const none = withoutReceipt(parent);
  if (!parent.forwarded)
    return new Map(attachments.map((attachment) => [attachment, summary([{ id: parent.id, ...none }])]));
  const requests = parent.type === "order" ? await forwardedRequestIds(parent.id) : [parent.id];
  const places = attachments.flatMap((attachment) => requests.map((request) => ({ request, attachment })));
  const receipts = await readReceipts(places);
  const entries = places.map(({ request, attachment }, index) => {
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
