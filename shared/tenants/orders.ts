import { collections, keys, type ParentRef } from "../table/keys.ts";
import { parseItem, queryAll, readItem } from "../table/read.ts";
import type { Owner } from "./access.ts";
import { readAccount } from "./accounts.ts";
import { type Account, isForwarded, Order, OrderRequest, type OrderState, Request } from "./tenant-schema.ts";

/** An order or a request as the parent of attachments. */
export type Parent = ParentRef & {
  /** The order that a checkout seals. This is the parent itself, or the request's order. */
  readonly order: string;
  readonly account: Account;
  readonly state: OrderState;
  /** When a run has checked its order out, if one has. */
  readonly checked_out_at: string | undefined;
  readonly attachment_count: number;
  /** Whether its attachments are forwarded to the carrier at checkout. */
  readonly forwardable: boolean;
};

export const readOrder = (id: string): Promise<Order | undefined> => readItem(Order, keys.order(id));

export const readRequest = (id: string): Promise<Request | undefined> => readItem(Request, keys.request(id));

/** The owner of an order or a request. `read` returns the rest, in one more round trip. */
export type FoundParent = { readonly owner: Owner; readonly read: () => Promise<Parent | undefined> };

const ownerOf = ({ account, ancestors }: Order | Request): Owner => ({ id: account, ancestors });

const findOrder = async (id: string): Promise<FoundParent | undefined> => {
  const order = await readOrder(id);
  if (!order) return undefined;
  const read = async () => {
    const account = await readAccount(order.account);
    const { checked_out_at } = order;
    return account && ({ ...order, checked_out_at, type: "order", order: id, account, forwardable: true } as const);
  };
  return { owner: ownerOf(order), read };
};

const findRequest = async (id: string): Promise<FoundParent | undefined> => {
  const request = await readRequest(id);
  if (!request) return undefined;
  const read = async () => {
    const [account, order] = await Promise.all([readAccount(request.account), readOrder(request.order)]);
    if (!account || !order) return undefined;
    const forwardable = isForwarded(request.type);
    const { state, checked_out_at } = order;
    return { ...request, type: "request", account, state, checked_out_at, forwardable } as const;
  };
  return { owner: ownerOf(request), read };
};

/** Returns undefined if the order or the request does not exist. Takes one round trip. */
export const findParent = ({ type, id }: ParentRef): Promise<FoundParent | undefined> =>
  type === "order" ? findOrder(id) : findRequest(id);

/** Returns a parent with its account and state, or undefined if it does not exist. Takes two round trips. */
export const readParent = async (ref: ParentRef): Promise<Parent | undefined> => (await findParent(ref))?.read();

/** Yields the requests of an order, in ascending order of their ids. */
export async function* requestsOfOrder(order: string): AsyncGenerator<OrderRequest> {
  for await (const item of queryAll(collections.orderRequests(order))) yield parseItem(OrderRequest, item);
}

/** Returns the ids of an order's requests whose attachments are forwarded, ascending. */
export const forwardableRequests = async (order: string): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { id, type } of requestsOfOrder(order)) if (isForwarded(type)) ids.push(id);
  return ids;
};
