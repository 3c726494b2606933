import { noId } from "../schema/fields.ts";
import { collections, keys, type ParentRef } from "../table/keys.ts";
import { get, getMany, parseItem, query, queryAll, readItem } from "../table/read.ts";
import { Account, forwardedType, Order, OrderRequest, type OrderState, Request } from "./schema.ts";

/** An order or a request as the parent of attachments. */
export type Parent = ParentRef & {
  readonly account: Account;
  readonly state: OrderState;
  readonly attachment_count: number;
  /** Whether its attachments are forwarded to the carrier at checkout. */
  readonly forwarded: boolean;
};

/** Returns an order, or undefined if it does not exist. */
export const readOrder = (id: string): Promise<Order | undefined> => readItem(Order, keys.order(id));

/** Returns a request, or undefined if it does not exist. */
export const readRequest = (id: string): Promise<Request | undefined> => readItem(Request, keys.request(id));

/** Returns a parent with its account and state, or undefined if it does not exist. Takes two round trips. */
export const readParent = async (ref: ParentRef): Promise<Parent | undefined> => {
  const item = await get(keys.parent(ref));
  if (ref.type === "order") {
    const order = item && parseItem(Order, item);
    const [account] = await getMany([keys.account(order?.account ?? noId)]);
    return order && account && { ...order, ...ref, account: parseItem(Account, account), forwarded: true };
  }
  const request = item && parseItem(Request, item);
  const [account, order] = await getMany([keys.account(request?.account ?? noId), keys.order(request?.order ?? noId)]);
  if (!request || !account || !order) return undefined;
  const forwarded = request.type === forwardedType;
  return { ...request, ...ref, account: parseItem(Account, account), state: parseItem(Order, order).state, forwarded };
};

/** Yields the requests of an order by id, or those after the id `after`. */
export async function* requestsOfOrder(order: string, after?: string): AsyncGenerator<OrderRequest> {
  for await (const item of queryAll(collections.orderRequests(order), after)) yield parseItem(OrderRequest, item);
}

/** More requests than fit into the response of an order's attachment with `include=forwarding`. */
const maxRequests = 100_000;

/** Returns the ids of an order's requests whose attachments are forwarded. One Query reads several thousand requests. */
export const forwardedRequestIds = async (order: string): Promise<string[]> => {
  const entries = await query(collections.orderRequests(order), { limit: maxRequests });
  return entries.flatMap((item) => {
    const { id, type } = parseItem(OrderRequest, item);
    return type === forwardedType ? [id] : [];
  });
};
