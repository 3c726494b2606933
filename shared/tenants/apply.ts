import { randomBytes } from "node:crypto";
import { invalid } from "../errors.ts";
import { check } from "../schema/check.ts";
import { newId } from "../schema/fields.ts";
import type { Item } from "../table/expressions.ts";
import { type Key, keys } from "../table/keys.ts";
import { transact } from "../table/write.ts";
import { hashOfKey } from "./api-keys.ts";
import { TenantsFile } from "./file.ts";
import { type References, references } from "./references.ts";
import { type Account, type ApiKey, canAccess, type Order, type Request, type User } from "./schema.ts";

type Made = Readonly<Record<string, { readonly id: string }>>;

/** What was created, by the names of the file. An API key is shown here and never again. */
export type Applied = {
  readonly accounts: Made;
  readonly users: Made;
  readonly keys: Readonly<Record<string, { readonly id: string; readonly key: string }>>;
  readonly orders: Made;
  readonly requests: Made;
};

type Stored = Item & Key;

/**
 * Creates accounts, users, keys, orders and requests, all or none. A reference is a name in the document or the id of
 * something that exists. Every fault of the document comes in one 422, with its place, and writes nothing.
 */
export const apply = async (document: unknown): Promise<Applied> => {
  const checked = check(TenantsFile, document, "body");
  if (checked.faults) throw invalid(checked.faults);
  const file = checked.value;
  const found = await references(file);
  const made = { accounts: accounts(file, found), users: users(file, found), orders: orders(file, found) };
  const requests = requestsOf(file, found);
  const issued = issueKeys(file, found);
  if (found.faults.length > 0) throw invalid(found.faults);
  // Keys come last: until everything is there, nobody can see any of it.
  await writeAll([made.accounts, made.users, made.orders, requests, issued].flatMap(({ items }) => items));
  const [accountIds, userIds, orderIds] = [made.accounts.answer, made.users.answer, made.orders.answer];
  return { accounts: accountIds, users: userIds, keys: issued.answer, orders: orderIds, requests: requests.answer };
};

/** Makes the items and the answer of one section. */
const section = <E, A>(
  entries: Readonly<Record<string, E>>,
  make: (name: string, entry: E) => { items: readonly Stored[]; answer: A },
) => {
  const made = Object.entries(entries).map(([name, entry]) => [name, make(name, entry)] as const);
  return {
    items: made.flatMap(([, { items }]) => items),
    answer: Object.fromEntries(made.map(([name, { answer }]) => [name, answer])),
  };
};

const accounts = (file: TenantsFile, { account }: References) =>
  section(file.accounts, (name) => {
    const item: Account | undefined = account(name, ["accounts", name]);
    return { items: item ? [{ ...keys.account(item.id), ...item }] : [], answer: { id: item?.id ?? "" } };
  });

const users = (file: TenantsFile, { account, idOf }: References) =>
  section(file.users, (name, { permissions, disabled, ...entry }) => {
    const id = idOf("users", name);
    const owner = account(entry.account, ["users", name, "account"])?.id ?? "";
    const user: User = { id, account: owner, permissions, disabled };
    return { items: [{ ...keys.user(id), ...user }], answer: { id } };
  });

const issueKeys = (file: TenantsFile, { account, user }: References) =>
  section(file.keys, (name, entry) => {
    const secret = `apik_${randomBytes(32).toString("base64url")}`;
    const key: ApiKey = {
      id: newId(),
      account: account(entry.account, ["keys", name, "account"])?.id ?? "",
      user: entry.user === null ? null : user(entry.user, ["keys", name, "user"]),
      expires_at: entry.expires_at === null ? null : new Date(entry.expires_at).toISOString(),
      revoked: entry.revoked,
    };
    return { items: [{ ...keys.apiKey(hashOfKey(secret)), ...key }], answer: { id: key.id, key: secret } };
  });

const unattached = { attachment_count: 0, attachments_version: 0 };

const orders = (file: TenantsFile, { account, idOf }: References) =>
  section(file.orders, (name, entry) => {
    const id = idOf("orders", name);
    const owner = account(entry.account, ["orders", name, "account"])?.id ?? "";
    const order: Order = { id, account: owner, state: entry.state, ...unattached };
    return { items: [{ ...keys.order(id), ...order }], answer: { id } };
  });

const requestsOf = (file: TenantsFile, { account, order, idOf, fault }: References) =>
  section(file.requests, (name, entry) => {
    const id = idOf("requests", name);
    const within = order(entry.order, ["requests", name, "order"]);
    const place = ["requests", name, "account"];
    const owner = entry.account === undefined ? within?.account : account(entry.account, place);
    if (owner && within?.account && !canAccess(within.account.id, owner))
      fault(place, "must be the account of the order or one below it");
    const request: Request = { id, account: owner?.id ?? "", order: within?.id ?? "", type: entry.type, ...unattached };
    const entryOfOrder = { ...keys.orderRequest(request.order, id), id, type: entry.type, account: request.account };
    return { items: [{ ...keys.request(id), ...request }, entryOfOrder], answer: { id } };
  });

/** DynamoDB's limit of writes in one transaction. */
const transactionSize = 100;

const chunks = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / transactionSize) }, (_, index) =>
    items.slice(index * transactionSize, (index + 1) * transactionSize),
  );

/** More than one transaction can hold is written in several; if one of them fails, those before it are taken back. */
const writeAll = async (items: readonly Stored[]) => {
  const written: Stored[] = [];
  try {
    for (const chunk of chunks(items)) {
      const puts = chunk.map((put, index) => [String(index), { put, when: { exists: false } }] as const);
      const refused = await transact(Object.fromEntries(puts));
      if (refused.size > 0) throw new Error("An id that was just made is taken: run the command again.");
      written.push(...chunk);
    }
  } catch (error) {
    for (const chunk of chunks(written))
      await transact(Object.fromEntries(chunk.map(({ pk, sk }, index) => [String(index), { delete: { pk, sk } }])));
    throw error;
  }
};
