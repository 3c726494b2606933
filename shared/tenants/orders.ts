import { noId } from "../schema/fields.ts";
import { collections, keys, type ParentRef } from "../table/keys.ts";
import { parseItem, query, queryAll, readItem } from "../table/read.ts";
import { readAccount } from "./accounts.ts";
import { type Account, forwardedType, Order, OrderRequest, type OrderState, Request } from "./schema.ts";

/** An order or a request as the parent of attachments. */
export type Parent = ParentRef & {
  readonly account: Account;
  readonly state: OrderState;
  readonly attachment_count: number;
  /** Whether its attachments are forwarded to the carrier at checkout. */
  readonly forwarded: boolean;
};

export const readOrder = (id: string): Promise<Order | undefined> => readItem(Order, keys.order(id));

export const readRequest = (id: string): Promise<Request | undefined> => readItem(Request, keys.request(id));

/** Returns a parent with its account and state, or undefined if it does not exist. Takes two round trips. */
export const readParent = async (ref: ParentRef): Promise<Parent | undefined> => {
  if (ref.type === "order") {
    const order = await readOrder(ref.id);
    const account = await readAccount(order?.account ?? noId);
    return order && account && { ...order, ...ref, account, forwarded: true };
  }
  const request = await readRequest(ref.id);
  const [account, order] = await Promise.all([
    readAccount(request?.account ?? noId),
    readOrder(request?.order ?? noId),
  ]);
  if (!request || !account || !order) return undefined;
  return { ...request, ...ref, account, state: order.state, forwarded: request.type === forwardedType };
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
