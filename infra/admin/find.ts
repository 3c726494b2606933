import { parseUlid } from "../../shared/schema/fields.ts";
import { readCountedAccount, readUser } from "../../shared/tenants/accounts.ts";
import { readOrder, readRequest } from "../../shared/tenants/orders.ts";
import { CommandError } from "./errors.ts";

/** Converts an id to upper case. Any other text is returned unchanged: no item has it as its id. */
export const parseId = (text: string): string => parseUlid(text) ?? text;

/** Returns a function that reads an item, and throws a CommandError with a hint if it does not exist. */
export const finder =
  <T>(noun: string, read: (id: string) => Promise<T | undefined>, hint = `\`${noun} list\` lists the existing ones`) =>
  async (id: string): Promise<T> => {
    const found = await read(id);
    if (!found) throw new CommandError(`There is no ${noun} ${id}: ${hint}.`);
    return found;
  };

export const findAccount = finder("account", readCountedAccount);
export const findUser = finder("user", readUser);
export const findOrder = finder("order", readOrder);

export const requestHint = "`request list` lists the requests of an order";
export const findRequest = finder("request", readRequest, requestHint);
