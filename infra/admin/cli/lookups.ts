import pLimit from "p-limit";
import * as z from "zod/mini";
import type { Event } from "../../../shared/history/event.ts";
import { parseUlid } from "../../../shared/schema/fields.ts";
import { type Collection, collections, hashApiKey, type Key, keys } from "../../../shared/table/keys.ts";
import { getMany, leaveOut, parseReadable, queryAll, readItem } from "../../../shared/table/read.ts";
import { readAccount, readCountedAccount, readStoredAccount, readUser } from "../../../shared/tenants/accounts.ts";
import { readOrder, readRequest } from "../../../shared/tenants/orders.ts";
import { Account, ApiKey, isKnown, Order, User } from "../../../shared/tenants/tenant-schema.ts";
import { CommandError } from "./command-errors.ts";
import { type Format, printRows, type Row } from "./output.ts";
import { withProgress } from "./progress.ts";
import { argumentOrInput } from "./standard-input.ts";

/** Converts an id to upper case. Returns any other text unchanged, which is no item's id. */
export const parseId = (text: string): string => parseUlid(text) ?? text;

/** The type of an item, its account and its parent. It has a name if it was found by name. */
export type Place = Pick<Event, "account" | "parent"> & {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
};

const placeOf = (type: string, of: Pick<Place, "id" | "account"> | undefined, parent?: Place["parent"]): Place[] =>
  of ? [{ type, id: of.id, account: of.account, parent: parent ?? null }] : [];

/** Returns the items with this id, of the types that can be read by id alone. */
export const placesById = async (id: string): Promise<Place[]> => {
  const { readSwitch } = await import("../../../shared/switches/read.ts");
  const reading = [readAccount(id), readRequest(id), readUser(id), findKey(id), readOrder(id), readSwitch(id)] as const;
  const [account, request, user, key, order, found] = await Promise.all(reading);
  const above = account?.ancestors.at(-1);
  return [
    ...placeOf("account", account && { id, account: id }, above ? { type: "account", id: above } : null),
    ...placeOf("request", request, request && { type: "order", id: request.order }),
    ...[placeOf("user", user), placeOf("api_key", key), placeOf("order", order), placeOf("switch", found)].flat(),
  ];
};

/** `an API key`, `an order attachment` */
const nounOf = (type: string): string => {
  const noun = type.replace("api_key", "API key").replaceAll("_", " ");
  return `${/^[aoA]/.test(noun) ? "an" : "a"} ${noun}`;
};

/** Returns this value if a read is denied. The evidence policy allows reading orders and requests only. */
export const ifDenied =
  <T>(value: T) =>
  (error: Error): T => {
    if (error.name === "AccessDeniedException") return value;
    throw error;
  };

type MaybeOwned = { readonly id: string; readonly account?: string };

/** Whether something belongs to an account that is being erased, which is unknown to every command but `account erase`. */
export const isBeingErased = async ({ account }: MaybeOwned): Promise<boolean> => {
  if (account === undefined) return false;
  const owner = await readStoredAccount(account).catch(ifDenied(undefined)).catch(leaveOut);
  return owner !== undefined && !isKnown(owner);
};

const throwErasing = (account: string): never => {
  throw new CommandError(`The account ${account} is being erased: \`account erase ${account}\` says how far.`);
};

/** Returns this, or throws a CommandError if it belongs to an account that is being erased. */
export const ofKnownAccount = async <T extends MaybeOwned>(found: T): Promise<T> =>
  (await isBeingErased(found)) ? throwErasing(found.account ?? "") : found;

/** Throws a CommandError that states the type of the item with this id, if there is one. The error never contains an API key. */
export const throwNotFound = async (noun: string, id: string, hint: string): Promise<never> => {
  if (id.startsWith("apik_")) throw new CommandError(`There is no ${noun} with this id: it is an API key.`);
  if (noun === "account" && (await readStoredAccount(id).catch(ifDenied(undefined)))) throwErasing(id);
  const [other] = await placesById(id).catch(ifDenied<Place[]>([]));
  throw new CommandError(`There is no ${noun} ${id}: ${other ? `this is the id of ${nounOf(other.type)}` : hint}.`);
};

/** Returns a function that reads an item, and throws a CommandError with a hint if it does not exist. */
export const finder =
  <T extends MaybeOwned>(
    noun: string,
    read: (id: string) => Promise<T | undefined>,
    hint = `\`${noun} list\` lists the existing ones`,
  ) =>
  async (id: string): Promise<T> =>
    ofKnownAccount((await read(id)) ?? (await throwNotFound(noun, id, hint)));

export const findAccount = finder("account", readCountedAccount);
export const findUser = finder("user", readUser);
export const findOrder = finder("order", readOrder);

export const requestHint = "`request list` lists the requests of an order";
export const findRequest = finder("request", readRequest, requestHint);

/** Returns the request and the order with this id. Only one exists, unless a file of `apply` gave both the same id. */
export const findParents = async (id: string) => {
  const [request, order] = await Promise.all([readRequest(id), readOrder(id)]);
  if (!request && !order)
    return throwNotFound("request and no order", id, "`order list` lists the orders of an account");
  const parents = [
    ...(request ? [{ type: "request", id, account: request.account } as const] : []),
    ...(order ? [{ type: "order", id, account: order.account } as const] : []),
  ];
  return Promise.all(parents.map(ofKnownAccount));
};

/** The following lists are by account. They read only the entries in its partition, so the size of the table does not matter. */

const Entry = z.object({ id: z.string(), sha256: z.optional(z.string()) });
type Entry = z.infer<typeof Entry>;

const listed = async <S extends z.core.$ZodType>(schema: S, list: Collection, keyOf: (entry: Entry) => Key) => {
  const entries = parseReadable(Entry, await Array.fromAsync(queryAll(list)));
  return parseReadable(schema, await getMany(entries.map(keyOf)));
};

export const childAccounts = async (parent: string | null): Promise<Account[]> =>
  (await listed(Account, collections.childAccounts(parent), ({ id }) => keys.account(id))).filter(isKnown);

/** How many reads of lists are in progress at once. */
const atOnce = 10;

/** Applies `work` to each element, `concurrency` at a time, and yields the results in the order of the source. */
export async function* inOrder<T, R>(
  source: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  work: (one: T) => Promise<R>,
): AsyncGenerator<R> {
  const started: Promise<R>[] = [];
  for await (const one of source) {
    const result = work(one);
    // The error is thrown at its turn. Until then, it must not count as unhandled.
    result.catch(() => {});
    if (started.push(result) < concurrency) continue;
    yield* started.splice(0, 1);
  }
  yield* started;
}

type Listing = Promise<readonly Account[]>;

async function* walk(children: Listing, read: (parent: string) => Listing): AsyncGenerator<Account> {
  const ahead = (await children).map((account) => ({ account, below: read(account.id) }));
  for (const { account, below } of ahead) {
    yield account;
    yield* walk(below, read);
  }
}

/** Yields all accounts below an account, parents first. For null, yields all accounts. Reads the next lists ahead. */
export const accountsBelow = (parent: string | null): AsyncGenerator<Account> => {
  const limit = pLimit(atOnce);
  const read = (of: string | null): Listing => {
    const children = limit(() => childAccounts(of));
    // The error is thrown at its turn. Until then, it must not count as unhandled.
    children.catch(() => {});
    return children;
  };
  return walk(read(parent), read);
};

export const usersOf = (account: string): Promise<User[]> =>
  listed(User, collections.accountUsers(account), ({ id }) => keys.user(id));

export const orderIdsOf = async (account: string): Promise<string[]> =>
  parseReadable(Entry, await Array.fromAsync(queryAll(collections.accountOrders(account)))).map(({ id }) => id);

export const readOrders = async (ids: readonly string[]): Promise<Order[]> =>
  parseReadable(Order, await getMany(ids.map(keys.order)));

/** The orders of all accounts whose checkout has started but not succeeded. */
export const ordersInCheckout = (): Promise<Order[]> =>
  listed(Order, collections.openCheckouts(), ({ id }) => keys.order(id));

/** An API key as it is stored, with its SHA-256 in hexadecimal. */
const StoredKey = z.pipe(
  z.extend(ApiKey, { pk: z.string() }),
  z.transform(({ pk, ...key }) => ({ ...key, sha256: pk.slice("KEY#".length) })),
);
export type StoredKey = z.infer<typeof StoredKey>;

export const keysOf = (account: string): Promise<StoredKey[]> =>
  listed(StoredKey, collections.accountKeys(account), ({ sha256 = "" }) => keys.apiKey(sha256));

export const findKey = async (reference: string): Promise<StoredKey | undefined> => {
  const sha256 = reference.startsWith("apik_")
    ? hashApiKey(reference)
    : (await readItem(z.object({ sha256: z.string() }), keys.apiKeyId(reference.toUpperCase())))?.sha256;
  return sha256 === undefined ? undefined : readItem(StoredKey, keys.apiKey(sha256));
};

/** Like `findKey`, but throws a CommandError if there is no such key. The error does not contain the key. */
export const keyByReference = async (given: string): Promise<StoredKey> => {
  const reference = await argumentOrInput(given);
  const found = await findKey(reference);
  const hint = "`key list` lists the existing ones";
  if (!found && reference.startsWith("apik_")) throw new CommandError(`There is no such API key: ${hint}.`);
  return ofKnownAccount(found ?? (await throwNotFound("API key with the id", parseId(reference), hint)));
};

type Owned = { readonly account: string };

/** Returns what `read` lists for one account or, without one, for every account from the root accounts down. */
export const ofAccounts = <T>(account: string | undefined, read: (id: string) => Promise<T[]>): Promise<T[]> =>
  withProgress(async () => (await Array.fromAsync(eachOfAccounts(account, read))).flat());

/** Like `ofAccounts`, but yields a list per account. */
export async function* eachOfAccounts<T>(
  account: string | undefined,
  read: (id: string) => Promise<T[]>,
): AsyncGenerator<T[]> {
  const accounts = account === undefined ? accountsBelow(null) : [await findAccount(account)];
  yield* inOrder(accounts, atOnce, ({ id }) => read(id));
}

/** The names of the accounts of these items, by the accounts' ids. */
export const namesOfAccounts = async (owned: readonly Owned[]): Promise<ReadonlyMap<string, string>> => {
  const accounts = await Promise.all(owned.map(({ account }) => readAccount(account).catch(leaveOut)));
  return new Map(accounts.flatMap((account) => (account ? [[account.id, account.name] as const] : [])));
};

/** An item's account and, except in JSON, the account's name. */
export const ownerOf = async ({ account }: Owned, { json }: Format) =>
  json ? { account } : { account, "account's name": (await readAccount(account))?.name };

/** Adds the names of the accounts, except in JSON. */
export const withAccountNames = async (rows: readonly (Row & Owned)[], { json }: Format): Promise<readonly Row[]> => {
  if (json) return rows;
  const names = await namesOfAccounts(rows);
  const withName = ([property, value]: [string, unknown]) => [
    ...(property === "account" ? [["account's name", names.get(String(value))]] : []),
    [property, value],
  ];
  return rows.map((row) => Object.fromEntries(Object.entries(row).flatMap(withName)));
};

/** Prints items that accounts own. A table includes the names of the accounts. */
export const printOwned = async (
  rows: readonly (Row & Owned)[],
  format: Format,
  { whole = false } = {},
): Promise<void> => printRows(await withAccountNames(rows, format), format, { whole });
