import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { invalid } from "../errors.ts";
import type { Item } from "../table/expressions.ts";
import { hashApiKey, type Key, keys } from "../table/keys.ts";
import { transact } from "../table/write.ts";
import { type Entry, readTenantsFile, type SectionName, type TenantsFile } from "./file.ts";
import { type References, resolveReferences } from "./references.ts";
import { type Account, type ApiKey, canAccess, type Order, type Request, type User } from "./schema.ts";

type Identified = Readonly<Record<string, { readonly id: string }>>;

/** The ids of a file's entries, by their names. Also the API keys that were generated: this is the only time they are shown. */
export type Applied = {
  readonly accounts: Identified;
  readonly users: Identified;
  readonly keys: Readonly<Record<string, { readonly id: string; readonly key?: string }>>;
  readonly orders: Identified;
  readonly requests: Identified;
};

type Stored = Item & Key;

/** The items to write together for one entry. There are none if it exists already. */
type Planned = {
  readonly items: readonly Stored[];
  readonly result: { readonly id: string; readonly key?: string };
};

/**
 * Creates accounts, users, API keys, orders and requests, all or none. A reference is a name in the document, or the id of
 * something that exists. An entry is left as it is if its `id` exists with the same content. If the document has problems,
 * nothing is written, and one 422 reports them all.
 */
export const apply = async (document: unknown): Promise<Applied> => (await applyAndCount(document)).applied;

/** Does the same. Also returns how many entries were created, and how many existed. */
export const applyAndCount = async (document: unknown) => {
  const { file, problems } = readTenantsFile(document);
  const refs = await resolveReferences(file);
  const planned = {
    accounts: plan(file, "accounts", (name, entry) => planAccount(name, entry, refs)),
    users: plan(file, "users", (name, entry) => planUser(name, entry, refs)),
    orders: plan(file, "orders", (name, entry) => planOrder(name, entry, refs)),
    requests: plan(file, "requests", (name, entry) => planRequest(name, entry, refs)),
    // API keys come last: until everything else is written, no caller has access to any of it.
    keys: plan(file, "keys", (name, entry) => planKey(name, entry, refs)),
  };
  const all = [...problems, ...refs.problems];
  if (all.length > 0) throw invalid(all);
  const groups = Object.values(planned).flatMap((section) => [...section.values()].map(({ items }) => items));
  const carts = new Map(refs.carts.map((id) => [keys.order(id).pk, keys.order(id)]));
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

/** Plans an entry that exists: there is nothing to write. Reports each property that differs. */
const planExisting = (
  path: readonly [SectionName, string],
  requested: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>> & { readonly id: string },
  { report }: References,
): Planned => {
  for (const [property, value] of Object.entries(requested))
    if (!isDeepStrictEqual(value, stored[property]))
      report(
        [...path, property],
        `differs from what exists: ${JSON.stringify(stored[property])}`,
        "constraint.immutable",
      );
  return { items: [], result: { id: stored.id } };
};

const planAccount = (name: string, _entry: Entry<"accounts">, refs: References): Planned => {
  const id = refs.idOf("accounts", name);
  const account = refs.account(name);
  const stored = refs.existing.accounts.get(id);
  if (!account) return { items: [], result: { id } };
  if (!stored) return { items: [{ ...keys.account(id), ...account }], result: { id } };
  const comparable = ({ name: accountName, ancestors, features }: Account) => ({
    parent: ancestors.at(-1) ?? null,
    name: accountName,
    features,
  });
  return planExisting(["accounts", name], comparable(account), { id, ...comparable(stored) }, refs);
};

const planUser = (name: string, { permissions, disabled, ...entry }: Entry<"users">, refs: References): Planned => {
  const id = refs.idOf("users", name);
  const user: User = { id, account: refs.account(entry.account)?.id ?? "", permissions, disabled };
  const stored = refs.existing.users.get(id);
  if (!stored) return { items: [{ ...keys.user(id), ...user }], result: { id } };
  const comparable = (one: User) => ({ ...one, permissions: [...new Set(one.permissions)].sort() });
  return planExisting(["users", name], comparable(user), comparable(stored), refs);
};

const planKey = (name: string, entry: Entry<"keys">, refs: References): Planned => {
  const account = refs.account(entry.account);
  const user = entry.user === null ? undefined : refs.userOrOrder("users", entry.user);
  const generated = entry.sha256 === undefined ? `apik_${randomBytes(32).toString("base64url")}` : undefined;
  const stored = refs.existing.keys.get(entry.sha256 ?? entry.id ?? "");
  const content = {
    account: account?.id ?? "",
    user: user?.id ?? null,
    expires_at: entry.expires_at === null ? null : new Date(entry.expires_at).toISOString(),
    revoked: entry.revoked,
  };
  if (stored) return planExisting(["keys", name], { ...content, ...(entry.id && { id: entry.id }) }, stored, refs);
  if (entry.id && refs.existing.keys.has(entry.id))
    refs.report(["keys", name, "id"], "is the id of a key with another sha256", "constraint.immutable");
  const key: ApiKey = { id: refs.idOf("keys", name), ...content };
  const sha256 = entry.sha256 ?? hashApiKey(generated ?? "");
  // Finds the API key by its id when the file is applied again.
  const byId = entry.id === undefined ? [] : [{ ...keys.apiKeyId(key.id), sha256 }];
  return {
    items: [{ ...keys.apiKey(sha256), ...key }, ...byId],
    result: { id: key.id, ...(generated !== undefined && { key: generated }) },
  };
};

const noAttachments = { attachment_count: 0, attachments_version: 0 };

const planOrder = (name: string, { state, ...entry }: Entry<"orders">, refs: References): Planned => {
  const id = refs.idOf("orders", name);
  const account = refs.account(entry.account)?.id ?? "";
  const stored = refs.existing.orders.get(id);
  const order: Order = { id, account, state, ...noAttachments };
  if (!stored) return { items: [{ ...keys.order(id), ...order }], result: { id } };
  // An order in the cart may have been checked out since the file was applied: that is not a difference.
  const requested = state === "CART" ? { account } : { account, state };
  return planExisting(["orders", name], requested, { ...stored }, refs);
};

const planRequest = (name: string, { type, ...entry }: Entry<"requests">, refs: References): Planned => {
  const id = refs.idOf("requests", name);
  const within = refs.userOrOrder("orders", entry.order);
  const owner = entry.account === undefined ? within?.account : refs.account(entry.account);
  if (owner && within?.account && !canAccess(within.account.id, owner))
    refs.report(["requests", name, "account"], "must be the account of the order or one below it");
  const [account, order] = [owner?.id ?? "", within?.id ?? ""];
  const stored = refs.existing.requests.get(id);
  if (stored) return planExisting(["requests", name], { account, order, type }, { ...stored }, refs);
  const request: Request = { id, account, order, type, ...noAttachments };
  const entryOfOrder = { ...keys.orderRequest(order, id), id, type, account };
  return { items: [{ ...keys.request(id), ...request }, entryOfOrder], result: { id } };
};

/** DynamoDB's limit is 100 writes in one transaction. The other half is for updates of the items' orders. */
const transactionSize = 50;

/** Distributes items over as few transactions as possible. The items of one entry stay together. */
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
 * Writes all items. If they need several transactions and one fails, the earlier ones are undone. Adding something to an
 * order in `CART` increments the order's version, so that a running checkout notices it.
 */
const writeAll = async (groups: readonly (readonly Stored[])[], carts: ReadonlyMap<string, Key>) => {
  const written: Stored[][] = [];
  try {
    for (const items of transactions(groups)) {
      const puts = items.map((put, index) => [String(index), { put, when: { exists: false } }] as const);
      const orders = [...new Set(items.map(({ pk }) => carts.get(pk)))].filter((order) => order !== undefined);
      const versionUpdates = orders.map(
        (update) => [update.pk, { update, add: { attachments_version: 1 }, when: inCart }] as const,
      );
      const failed = await transact(Object.fromEntries([...puts, ...versionUpdates]));
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
