import * as z from "zod/mini";
import type { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import { pointer } from "../schema/check.ts";
import { newId, parseUlid } from "../schema/fields.ts";
import type { Item } from "../table/expressions.ts";
import { keys } from "../table/keys.ts";
import { get } from "../table/read.ts";
import type { TenantsFile } from "./file.ts";
import { Account, Order, User } from "./schema.ts";

type Place = readonly string[];

/** Resolves the references of a tenants file: by its own names first, then by the ids of what exists. */
export type References = Awaited<ReturnType<typeof references>>;

/** Reads once everything that the file refers to by id; what it cannot find is collected in `faults`. */
export const references = async (file: TenantsFile) => {
  const faults: Fault[] = [];
  const fault = (place: Place, detail: string) => {
    faults.push({ in: "body", pointer: pointer(place), sub_code: "constraint.format", detail });
  };
  const existing = await readExisting(file);
  const ids = new Map<string, string>();
  const idOf = (section: keyof TenantsFile, name: string) => {
    const id = ids.get(`${section} ${name}`) ?? newId();
    ids.set(`${section} ${name}`, id);
    return id;
  };
  const missing = (kind: string, reference: string, place: Place | undefined) => {
    if (place) fault(place, `is neither ${kind} of this file nor the id of one that exists: ${reference}`);
    return undefined;
  };

  const made = new Map<string, Account | undefined>();
  const open = new Set<string>();
  /** An account of the file, or one that exists; a fault at `place` where there is neither. */
  const account = (reference: string, place?: Place): Account | undefined => {
    const entry = Object.hasOwn(file.accounts, reference) ? file.accounts[reference] : undefined;
    if (!entry) return existing.accounts.get(reference.toUpperCase()) ?? missing("an account", reference, place);
    if (made.has(reference)) return made.get(reference);
    if (open.has(reference)) {
      fault(["accounts", reference, "parent"], "makes the account its own ancestor");
      return undefined;
    }
    open.add(reference);
    const parent = entry.parent ? account(entry.parent, ["accounts", reference, "parent"]) : undefined;
    const ancestors = parent ? [...parent.ancestors, parent.id] : [];
    if (ancestors.length >= limits.accountLevels)
      fault(["accounts", reference, "parent"], `makes a tree of more than ${limits.accountLevels} levels`);
    const { name, features } = entry;
    made.set(reference, { id: idOf("accounts", reference), name, ancestors, features, switch_count: 0 });
    return made.get(reference);
  };

  /** The id of a user of the file, or of one that exists. */
  const user = (reference: string, place: Place): string => {
    if (Object.hasOwn(file.users, reference)) return idOf("users", reference);
    return existing.users.get(reference.toUpperCase())?.id ?? missing("a user", reference, place) ?? "";
  };

  /** The id and the account of an order of the file, or of one that exists. */
  const order = (reference: string, place: Place): { id: string; account: Account | undefined } | undefined => {
    const entry = Object.hasOwn(file.orders, reference) ? file.orders[reference] : undefined;
    if (entry) return { id: idOf("orders", reference), account: account(entry.account) };
    const found = existing.orders.get(reference.toUpperCase()) ?? missing("an order", reference, place);
    return found && { id: found.id, account: existing.accounts.get(found.account) };
  };

  return { faults, fault, idOf, account, user, order };
};

const readExisting = async (file: TenantsFile) => {
  const mentioned = (sections: readonly object[], property: string) => {
    const values = sections.flatMap((section) => Object.values(section).map((entry: Item) => entry[property]));
    const found = values.map((value) => (typeof value === "string" ? parseUlid(value) : undefined));
    return [...new Set(found.filter((id) => id !== undefined))];
  };
  const { accounts, users, keys: apiKeys, orders, requests } = file;
  const existingOrders = await readAll(Order, mentioned([requests], "order"), keys.order);
  const accountIds = [
    ...mentioned([users, apiKeys, orders, requests], "account"),
    ...mentioned([accounts], "parent"),
    ...[...existingOrders.values()].map((order) => order.account),
  ];
  return {
    accounts: await readAll(Account, accountIds, keys.account),
    users: await readAll(User, mentioned([apiKeys], "user"), keys.user),
    orders: existingOrders,
  };
};

const readAll = async <S extends z.core.$ZodType>(
  schema: S,
  ids: readonly string[],
  keyOf: (id: string) => Parameters<typeof get>[0],
) => {
  const found = new Map<string, z.output<S>>();
  for (const id of new Set(ids)) {
    const item = await get(keyOf(id));
    if (item) found.set(id, z.parse(schema, item));
  }
  return found;
};
