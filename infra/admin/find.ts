import { listAccounts, readCountedAccount } from "../../shared/tenants/accounts.ts";
import { readOrder, readRequest } from "../../shared/tenants/orders.ts";
import type { Account, Order, Request } from "../../shared/tenants/schema.ts";
import { CommandError } from "./command-error.ts";

/** The account of that id; the command ends where there is none. */
export const findAccount = async (id: string): Promise<Account> => {
  const account = await readCountedAccount(id);
  if (!account) throw new CommandError(`There is no account ${id}: \`account list\` shows those that exist.`);
  return account;
};

/** The order of that id; the command ends where there is none. */
export const findOrder = async (id: string): Promise<Order> => {
  const order = await readOrder(id);
  if (!order) throw new CommandError(`There is no order ${id}: \`order list\` shows those that exist.`);
  return order;
};

/** The request of that id; the command ends where there is none. */
export const findRequest = async (id: string): Promise<Request> => {
  const request = await readRequest(id);
  if (!request) throw new CommandError(`There is no request ${id}: \`request list\` shows those of an order.`);
  return request;
};

/** The names of all accounts, by their ids; reads the whole table. */
export const accountNames = async (): Promise<ReadonlyMap<string, string>> =>
  new Map((await listAccounts()).map(({ id, name }) => [id, name]));
