import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { invalid } from "../errors.ts";
import type { Item } from "../table/expressions.ts";
import { hashOfKey, type Key, keys } from "../table/keys.ts";
import { transact } from "../table/write.ts";
import { type Entry, readTenantsFile, type SectionName, type TenantsFile } from "./file.ts";
import { type References, references } from "./references.ts";
import { type Account, type ApiKey, canAccess, type Order, type Request, type User } from "./schema.ts";

type Identified = Readonly<Record<string, { readonly id: string }>>;

/** What the file lists, by its names: the ids, and each API key that was generated, here and never again. */
export type Applied = {
  readonly accounts: Identified;
  readonly users: Identified;
  readonly keys: Readonly<Record<string, { readonly id: string; readonly key?: string }>>;
  readonly orders: Identified;
  readonly requests: Identified;
};

type Stored = Item & Key;

/** The items to write together for one entry; none if it exists already. */
type Planned = {
  readonly items: readonly Stored[];
  readonly result: { readonly id: string; readonly key?: string };
};

/**
 * Creates accounts, users, keys, orders and requests, all or none. A reference is a name in the document or the id of
 * something that exists. An entry with an `id` that exists with the same content is left as it is. Every fault of the
 * document comes in one 422, with its place, and writes nothing.
 */
export const apply = async (document: unknown): Promise<Applied> => (await applyAndCount(document)).applied;

/** The same, with the numbers of entries that were created and of those that existed. */
export const applyAndCount = async (document: unknown) => {
  const { file, faults } = readTenantsFile(document);
  const found = await references(file);
  const planned = {
    accounts: plan(file, "accounts", (name, entry) => planAccount(name, entry, found)),
    users: plan(file, "users", (name, entry) => planUser(name, entry, found)),
    orders: plan(file, "orders", (name, entry) => planOrder(name, entry, found)),
    requests: plan(file, "requests", (name, entry) => planRequest(name, entry, found)),
    // Keys come last: until everything else is written, no caller has access to any of it.
    keys: plan(file, "keys", (name, entry) => planKey(name, entry, found)),
  };
  const all = [...faults, ...found.faults];
  if (all.length > 0) throw invalid(all);
  const groups = Object.values(planned).flatMap((section) => [...section.values()].map(({ items }) => items));
  const carts = new Map(found.carts.map((id) => [keys.order(id).pk, keys.order(id)]));
  await writeAll(
    groups.filter((items) => items.length > 0),
    carts,
  );
  const applied = {
    accounts: resultsOf(planned.accounts),
    users: resultsOf(planned.users),
    keys: resultsOf(planned.keys),
    orders: resultsOf(planned.orders),
    requests: resultsOf(planned.requests),
  };
  const created = groups.filter((items) => items.length > 0).length;
  return { applied, created, existing: groups.length - created };
};

const plan = <S extends SectionName>(
  file: TenantsFile,
  section: S,
  planOne: (name: string, entry: Entry<S>) => Planned,
): ReadonlyMap<string, Planned> => {
  const { entries }: { readonly entries: ReadonlyMap<string, Entry<S>> } = file[section];
  return new Map([...entries].map(([name, entry]) => [name, planOne(name, entry)]));
};

const resultsOf = (section: ReadonlyMap<string, Planned>) =>
  Object.fromEntries([...section].map(([name, { result }]) => [name, result]));

/** For an entry whose id exists: nothing to write, and a fault for each property that differs. */
const leave = (
  place: readonly [SectionName, string],
  given: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>> & { readonly id: string },
  { fault }: References,
): Planned => {
  for (const [property, value] of Object.entries(given))
    if (!isDeepStrictEqual(value, stored[property]))
      fault(
        [...place, property],
        `differs from what exists: ${JSON.stringify(stored[property])}`,
        "constraint.immutable",
      );
  return { items: [], result: { id: stored.id } };
};

const planAccount = (name: string, _entry: Entry<"accounts">, found: References): Planned => {
  const id = found.idOf("accounts", name);
  const account = found.account(name);
  const stored = found.existing.accounts.get(id);
  if (!account) return { items: [], result: { id } };
  if (!stored) return { items: [{ ...keys.account(id), ...account }], result: { id } };
  const shape = ({ name: called, ancestors, features }: Account) => ({
    parent: ancestors.at(-1) ?? null,
    name: called,
    features,
  });
  return leave(["accounts", name], shape(account), { id, ...shape(stored) }, found);
};

const planUser = (name: string, { permissions, disabled, ...entry }: Entry<"users">, found: References): Planned => {
  const id = found.idOf("users", name);
  const user: User = { id, account: found.account(entry.account)?.id ?? "", permissions, disabled };
  const stored = found.existing.users.get(id);
  if (!stored) return { items: [{ ...keys.user(id), ...user }], result: { id } };
  const shape = (one: User) => ({ ...one, permissions: [...new Set(one.permissions)].sort() });
  return leave(["users", name], shape(user), shape(stored), found);
};

const planKey = (name: string, entry: Entry<"keys">, found: References): Planned => {
  const account = found.account(entry.account);
  const user = entry.user === null ? undefined : found.owned("users", entry.user);
  const generated = entry.sha256 === undefined ? `apik_${randomBytes(32).toString("base64url")}` : undefined;
  const stored = found.existing.keys.get(entry.sha256 ?? entry.id ?? "");
  const content = {
    account: account?.id ?? "",
    user: user?.id ?? null,
    expires_at: entry.expires_at === null ? null : new Date(entry.expires_at).toISOString(),
    revoked: entry.revoked,
  };
  if (stored) return leave(["keys", name], { ...content, ...(entry.id && { id: entry.id }) }, stored, found);
  if (entry.id && found.existing.keys.has(entry.id))
    found.fault(["keys", name, "id"], "is the id of a key with another sha256", "constraint.immutable");
  const key: ApiKey = { id: found.idOf("keys", name), ...content };
  const sha256 = entry.sha256 ?? hashOfKey(generated ?? "");
  // By its id, an applied key is found again when the file is applied again.
  const byId = entry.id === undefined ? [] : [{ ...keys.apiKeyId(key.id), sha256 }];
  return {
    items: [{ ...keys.apiKey(sha256), ...key }, ...byId],
    result: { id: key.id, ...(generated !== undefined && { key: generated }) },
  };
};

const unattached = { attachment_count: 0, attachments_version: 0 };

const planOrder = (name: string, { state, ...entry }: Entry<"orders">, found: References): Planned => {
  const id = found.idOf("orders", name);
  const account = found.account(entry.account)?.id ?? "";
  const stored = found.existing.orders.get(id);
  const order: Order = { id, account, state, ...unattached };
  if (!stored) return { items: [{ ...keys.order(id), ...order }], result: { id } };
  // An order that has been checked out since it was applied is what the file listed.
  const same = state === "CART" ? { account } : { account, state };
  return leave(["orders", name], same, { ...stored }, found);
};

const planRequest = (name: string, { type, ...entry }: Entry<"requests">, found: References): Planned => {
  const id = found.idOf("requests", name);
  const within = found.owned("orders", entry.order);
  const owner = entry.account === undefined ? within?.account : found.account(entry.account);
  if (owner && within?.account && !canAccess(within.account.id, owner))
    found.fault(["requests", name, "account"], "must be the account of the order or one below it");
  const [account, order] = [owner?.id ?? "", within?.id ?? ""];
  const stored = found.existing.requests.get(id);
  if (stored) return leave(["requests", name], { account, order, type }, { ...stored }, found);
  const request: Request = { id, account, order, type, ...unattached };
  const entryOfOrder = { ...keys.orderRequest(order, id), id, type, account };
  return { items: [{ ...keys.request(id), ...request }, entryOfOrder], result: { id } };
};

/** DynamoDB's limit is 100 writes in one transaction: there is room for the orders of as many requests. */
const transactionSize = 50;

/** As few transactions as hold all items; those of one entry stay together. */
const transactions = (groups: readonly (readonly Stored[])[]): Stored[][] => {
  const all: Stored[][] = [];
  for (const items of groups) {
    const last = all.at(-1);
    if (last && last.length + items.length <= transactionSize) last.push(...items);
    else all.push([...items]);
  }
  return all;
};

const inCart = { equals: { state: "CART" } } as const;

/**
 * More than fits into one transaction is written in several; if one of them fails, those before it are taken back. What
 * is added to an order in its cart moves the order's version, so that a checkout that is under way notices it.
 */
const writeAll = async (groups: readonly (readonly Stored[])[], carts: ReadonlyMap<string, Key>) => {
  const written: Stored[][] = [];
  try {
    for (const items of transactions(groups)) {
      const puts = items.map((put, index) => [String(index), { put, when: { exists: false } }] as const);
      const orders = [...new Set(items.map(({ pk }) => carts.get(pk)))].filter((order) => order !== undefined);
      const moves = orders.map(
        (update) => [update.pk, { update, add: { attachments_version: 1 }, when: inCart }] as const,
      );
      const failed = await transact(Object.fromEntries([...puts, ...moves]));
      if (failed.size > 0)
        throw new Error(
          "Something of this file was created, or an order checked out, at the same time: apply it again.",
        );
      written.push(items);
    }
  } catch (error) {
    for (const items of written)
      await transact(Object.fromEntries(items.map(({ pk, sk }, index) => [String(index), { delete: { pk, sk } }])));
    throw error;
  }
};
