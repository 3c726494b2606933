import { noId } from "../schema/fields.ts";
import { collections, keys, type ParentRef } from "../table/keys.ts";
import { get, getMany, parseItem, queryAll, scan } from "../table/read.ts";
import { Account, Order, OrderRequest, type OrderState, Request } from "./schema.ts";

/** An order or a request as the parent of attachments. */
export type Parent = ParentRef & {
  readonly account: Account;
  readonly state: OrderState;
  readonly attachment_count: number;
};

/** An order; undefined where there is none. */
export const readOrder = async (id: string): Promise<Order | undefined> => {
  const item = await get(keys.order(id));
  return item && parseItem(Order, item);
};

/** A request; undefined where there is none. */
export const readRequest = async (id: string): Promise<Request | undefined> => {
  const item = await get(keys.request(id));
  return item && parseItem(Request, item);
};

/** A parent with its account and state, in two round trips; undefined where there is none. */
export const readParent = async (ref: ParentRef): Promise<Parent | undefined> => {
  const item = await get(keys.parent(ref));
  if (ref.type === "order") {
    const order = item && parseItem(Order, item);
    const [account] = await getMany([keys.account(order?.account ?? noId)]);
    return order && account && { ...order, ...ref, account: parseItem(Account, account) };
  }
  const request = item && parseItem(Request, item);
  const [account, order] = await getMany([keys.account(request?.account ?? noId), keys.order(request?.order ?? noId)]);
  if (!request || !account || !order) return undefined;
  return { ...request, ...ref, account: parseItem(Account, account), state: parseItem(Order, order).state };
};

/** The requests of an order by id, or those beyond the id `after`. */
export async function* requestsOfOrder(order: string, after?: string): AsyncGenerator<OrderRequest> {
  for await (const item of queryAll(collections.orderRequests(order), after)) yield parseItem(OrderRequest, item);
}

/** All orders, by id; reads the whole table. */
export const listOrders = async (): Promise<Order[]> => {
  const items = await Array.fromAsync(scan("own"));
  const orders = items.flatMap((item) => (String(item.pk).startsWith("ORDER#") ? [parseItem(Order, item)] : []));
  return orders.sort((a, b) => (a.id < b.id ? -1 : 1));
};
