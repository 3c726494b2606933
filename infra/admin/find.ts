import { readCountedAccount } from "../../shared/tenants/accounts.ts";
import { readOrder, readRequest } from "../../shared/tenants/orders.ts";
import type { Account, Order, Request } from "../../shared/tenants/schema.ts";
import { CommandError } from "./command-error.ts";

/** Throws a CommandError if there is no such account. */
export const findAccount = async (id: string): Promise<Account> => {
  const account = await readCountedAccount(id);
  if (!account) throw new CommandError(`There is no account ${id}: \`account list\` lists the existing ones.`);
  return account;
};

/** Throws a CommandError if there is no such order. */
export const findOrder = async (id: string): Promise<Order> => {
  const order = await readOrder(id);
  if (!order) throw new CommandError(`There is no order ${id}: \`order list\` lists the existing ones.`);
  return order;
};

/** Throws a CommandError if there is no such request. */
export const findRequest = async (id: string): Promise<Request> => {
  const request = await readRequest(id);
  if (!request) throw new CommandError(`There is no request ${id}: \`request list\` lists the requests of an order.`);
  return request;
};
