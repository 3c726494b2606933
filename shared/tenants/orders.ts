import { noId } from "../schema/fields.ts";
import { collections, keys, type ParentRef } from "../table/keys.ts";
import { parseItem, queryAll, readItem } from "../table/read.ts";
import { readAccount } from "./accounts.ts";
import { type Account, forwardableType, Order, OrderRequest, type OrderState, Request } from "./tenant-schema.ts";

/** An order or a request as the parent of attachments. */
export type Parent = ParentRef & {
  /** The order that a checkout seals: the parent itself, or the request's order. */
  readonly order: string;
  readonly account: Account;
  readonly state: OrderState;
  readonly attachment_count: number;
  /** Whether its attachments are forwarded to the carrier at checkout. */
  readonly forwardable: boolean;
};

export const readOrder = (id: string): Promise<Order | undefined> => readItem(Order, keys.order(id));

export const readRequest = (id: string): Promise<Request | undefined> => readItem(Request, keys.request(id));

/** Returns a parent with its account and state, or undefined if it does not exist. Takes two round trips. */
export const readParent = async (ref: ParentRef): Promise<Parent | undefined> => {
  if (ref.type === "order") {
    const order = await readOrder(ref.id);
    const account = await readAccount(order?.account ?? noId);
    return order && account && { ...order, ...ref, order: ref.id, account, forwardable: true };
  }
  const request = await readRequest(ref.id);
  const [account, order] = await Promise.all([
    readAccount(request?.account ?? noId),
    readOrder(request?.order ?? noId),
  ]);
  if (!request || !account || !order) return undefined;
  return { ...request, ...ref, account, state: order.state, forwardable: request.type === forwardableType };
};

/** Yields the requests of an order, in ascending order of their ids. */
export async function* requestsOfOrder(order: string): AsyncGenerator<OrderRequest> {
  for await (const item of queryAll(collections.orderRequests(order))) yield parseItem(OrderRequest, item);
}

/** Returns the ids of an order's requests whose attachments are forwarded, ascending. */
export const forwardableRequests = async (order: string): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { id, type } of requestsOfOrder(order)) if (type === forwardableType) ids.push(id);
  return ids;
};
