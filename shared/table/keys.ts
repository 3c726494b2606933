import { createHash } from "node:crypto";

/**
 * The whole table on one page: keys of `pk` and `sk`. Every read of an endpoint is by key and strongly consistent, so a list
 * contains what a 201 has confirmed. The one index is for operators.
 *
 * | to                                         | request                                           |
 * | ------------------------------------------ | ------------------------------------------------- |
 * | identify a caller                          | Get apiKey, then Get user                         |
 * | check access to an order or a request      | Get it (it contains its account's ancestors)      |
 * | find its features and its order's state    | Get account, Get order                            |
 * | show, update, delete an attachment         | Get attachment, under its parent                  |
 * | list a parent's attachments                | Query attachments; the parent has the exact total |
 * | create an attachment from a direct upload  | Get upload, under its parent                      |
 * | keep a reference_id unique                 | Put reference, if it does not exist               |
 * | find an attachment by its reference_id     | Get reference, then Get attachment                |
 * | repeat the response of an earlier POST     | Get idempotency                                   |
 * | erase or export an account                 | Scan for the partitions of its tree, then Query each |
 * | list an order's requests                   | Query orderRequests                               |
 * | lock an order's checkout, read its outcome | Get checkout                                      |
 * | find orders whose checkout has not succeeded | Query openCheckouts, then Get order and checkout of each |
 * | find what came after an order's checkout   | Query lateChanges, of all orders or of one        |
 * | find what the carrier has of a request     | Query receipts                                    |
 * | find what it has of an attachment          | Get receipt, for each request                     |
 * | check access to a switch                   | Get switchOwner                                   |
 * | show, update, delete a switch              | Get switch                                        |
 * | keep a switch's name unique in its account | Put switchName, if it does not exist              |
 * | list the switches of an account's tree     | Query switches, then Get each; the account's counts have the exact total |
 * | list an account's users, keys, orders, children | Query accountUsers, …, then Get each         |
 * | resume the sweep where it stopped          | Get sweep                                         |
 * | show what happened to a resource           | Query events, and downloads of an order's or a request's files |
 * | find a change by its X-Request-Id, an upload by its id, an attachment by its reference_id | Query the index, then Get each |
 * | find where a deleted attachment was        | Get deleted                             |
 * | let the receipts of deleted attachments expire | Query deletedAttachments, then Get receipt, for each request |
 */
export type Key = { readonly pk: string; readonly sk: string };

/** The types of resources that can have attachments. */
export type ParentType = "order" | "request";
export type ParentRef = { readonly type: ParentType; readonly id: string };

/** Returns the order or the request that a partition belongs to. */
export const parentIn = (pk: string): ParentRef | undefined => {
  const [, type, id] = /^(ORDER|REQUEST)#(.+)$/.exec(pk) ?? [];
  return id === undefined ? undefined : { type: type === "ORDER" ? "order" : "request", id };
};

/** Consecutive items of one partition. Their sort keys are the prefix followed by an id. */
export type Collection = { readonly pk: string; readonly prefix: string };

/** The key of an item with a partition of its own, or of the main item of a partition. */
const ownPartition = (name: string): Key => ({ pk: name, sk: name });

const parent = ({ type, id }: ParentRef): Key => ownPartition(`${type === "order" ? "ORDER" : "REQUEST"}#${id}`);

const accountsBelow = (parent: string | null) => (parent === null ? "ROOT_ACCOUNTS" : `ACCOUNT#${parent}`);

const ordersOf = (account: string) => `ACCOUNT_ORDERS#${account}`;

/** A resource with events in its partition. An attachment's events are in the partition of its order or request. */
export type EventSubject = { readonly type: string; readonly id: string };

/** The prefix of the sort keys of events, and of no other items. */
export const eventPrefix = "EVENT#";

const downloadsOf = (of: EventSubject) => `DOWNLOADS#${partitionOf(of)}`;

const partitionOf = ({ type, id }: EventSubject) => `${type === "api_key" ? "KEY_ID" : type.toUpperCase()}#${id}`;

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The hash that an API key is stored under. The key itself is not stored. */
export const hashApiKey = hash;

/** The attribute by which operators find an item by a text. It is a hash, because a text can be too long for a key. */
export const lookupOf = (text: string) => ({ lookup: hash(text) });

/** The index and its key attribute. It contains the keys of the few items with this attribute. Writing one costs a write unit. */
export const lookupIndex: keyof ReturnType<typeof lookupOf> = "lookup";

const openCheckouts = "OPEN_CHECKOUTS";
const lateChanges = "LATE_CHANGES";
const deletedAttachments = "DELETED_ATTACHMENTS";

export const keys = {
  apiKey: (sha256: string): Key => ({ pk: `KEY#${sha256}`, sk: "KEY" }),
  /** The hash of an API key, by the key's id. */
  apiKeyId: (id: string): Key => ownPartition(`KEY_ID#${id}`),
  user: (id: string): Key => ({ pk: `USER#${id}`, sk: "USER" }),
  account: (id: string): Key => ({ pk: `ACCOUNT#${id}`, sk: "ACCOUNT" }),
  /**
   * One of 32 counts of the switches of an account and its sub-accounts, chosen by the last character of a switch's id, so that
   * concurrent creates seldom write the same item. The counts follow the account's own item, so that one Query reads both.
   */
  switchCount: (account: string, switchId: string): Key => ({
    pk: `ACCOUNT#${account}`,
    sk: `ACCOUNT#SWITCH_COUNT#${switchId.slice(-1)}`,
  }),
  /** An account that is being erased, for the lists of an account above it. It comes before the counts. */
  erasing: (above: string, account: string): Key => ({ pk: `ACCOUNT#${above}`, sk: `ACCOUNT#ERASING#${account}` }),
  /** An account's entry below its parent. The parent of a root account is null. */
  childAccount: (parent: string | null, id: string): Key => ({ pk: accountsBelow(parent), sk: `CHILD#${id}` }),
  /** The entries of an account's users and API keys, so that one Query lists them. */
  accountUser: (account: string, id: string): Key => ({ pk: `ACCOUNT#${account}`, sk: `USER#${id}` }),
  accountKey: (account: string, id: string): Key => ({ pk: `ACCOUNT#${account}`, sk: `KEY#${id}` }),
  /** The entry of an account's order. Who may write it, and apply orders, may not replace the account. */
  accountOrder: (account: string, id: string): Key => ({ pk: ordersOf(account), sk: `ORDER#${id}` }),
  order: (id: string): Key => parent({ type: "order", id }),
  request: (id: string): Key => parent({ type: "request", id }),
  parent,
  /** A request's entry in its order's partition, so that one Query lists an order's requests. */
  orderRequest: (order: string, request: string): Key => ({ pk: `ORDER#${order}`, sk: `REQUEST#${request}` }),
  attachment: (of: ParentRef, id: string): Key => ({ pk: parent(of).pk, sk: `ATTACHMENT#${id}` }),
  /** A direct upload. The attachment that is created from it has the same id. */
  upload: (of: ParentRef, id: string): Key => ({ pk: parent(of).pk, sk: `UPLOAD#${id}` }),
  reference: (of: ParentRef, uuid: string): Key => ({ pk: parent(of).pk, sk: `REFERENCE#${uuid}` }),
  /** A used Idempotency-Key, by the account of the API key that sent it. `expires_at` is the table's TTL attribute. */
  idempotency: (account: string, key: string): Key => ({ pk: `IDEMPOTENCY#${account}`, sk: `USED#${key}` }),
  /** The latest checkout run of an order, with its lock and its outcome. */
  checkout: (order: string): Key => ({ pk: `ORDER#${order}`, sk: "CHECKOUT" }),
  /**
   * An order whose checkout has started and not succeeded. All are in one partition, which takes 250 checkouts a second (see
   * docs/limits.md).
   */
  openCheckout: (order: string): Key => ({ pk: openCheckouts, sk: `ORDER#${order}` }),
  /** An attachment's change that came after the checkout of its order, and that no operator has acknowledged. */
  lateChange: (order: string, attachment: string): Key => ({ pk: lateChanges, sk: `ORDER#${order}#${attachment}` }),
  /** The state of one attachment at the carrier under this request. The attachment is the request's own or its order's. */
  receipt: (request: string, attachment: string): Key => ({ pk: `REQUEST#${request}`, sk: `RECEIPT#${attachment}` }),
  switch: (id: string): Key => ({ pk: `SWITCH#${id}`, sk: "SWITCH" }),
  /**
   * A switch's account and those above. This is a small item that is read before it is known who calls. A switch can have 40 KB.
   */
  switchOwner: (id: string): Key => ({ pk: `SWITCH#${id}`, sk: "OWNER" }),
  switchName: (account: string, hash: string): Key => ({ pk: `ACCOUNT#${account}`, sk: `SWITCH_NAME#${hash}` }),
  /** A switch's entry in the list of its account, and of each account above. One Query reads a whole list. */
  switchEntry: (account: string, id: string): Key => ({ pk: `ACCOUNT#${account}`, sk: `SWITCH#${id}` }),
  /** Written only if a deleted attachment's file could not be removed, so that the delete can be repeated. */
  unfinishedDelete: (of: ParentRef, id: string): Key => ({ pk: parent(of).pk, sk: `UNFINISHED_DELETE#${id}` }),
  /** The former parent of a deleted attachment, which no longer has an item or a file. */
  deleted: (id: string): Key => ownPartition(`DELETED#${id}`),
  /** A deleted attachment whose receipts do not expire yet (see shared/checkout/expire-receipts.ts). All are in one partition. */
  deletedAttachment: (id: string): Key => ({ pk: deletedAttachments, sk: `DELETED#${id}` }),
  /** One event of a resource's history. `expires_at` is the table's TTL attribute. */
  event: (of: EventSubject, id: string): Key => ({ pk: partitionOf(of), sk: `${eventPrefix}${id}` }),
  /** An event that a file of an order or a request was downloaded. Who may record downloads may write nothing else. */
  download: (of: EventSubject, id: string): Key => ({ pk: downloadsOf(of), sk: `${eventPrefix}${id}` }),
  sweep: (): Key => ownPartition("SWEEP"),
  /** The item that `patchbay doctor` writes and deletes to test the table. */
  doctor: (): Key => ownPartition("DOCTOR"),
};

export const collections = {
  /** The accounts directly below an account. Those below null are the root accounts. */
  childAccounts: (parent: string | null): Collection => ({ pk: accountsBelow(parent), prefix: "CHILD#" }),
  accountUsers: (account: string): Collection => ({ pk: `ACCOUNT#${account}`, prefix: "USER#" }),
  accountKeys: (account: string): Collection => ({ pk: `ACCOUNT#${account}`, prefix: "KEY#" }),
  accountOrders: (account: string): Collection => ({ pk: ordersOf(account), prefix: "ORDER#" }),
  events: (of: EventSubject): Collection => ({ pk: partitionOf(of), prefix: eventPrefix }),
  downloads: (of: EventSubject): Collection => ({ pk: downloadsOf(of), prefix: eventPrefix }),
  accountAndCounts: (id: string): Collection => ({ pk: `ACCOUNT#${id}`, prefix: "ACCOUNT" }),
  attachments: (of: ParentRef): Collection => ({ pk: parent(of).pk, prefix: "ATTACHMENT#" }),
  receipts: (request: string): Collection => ({ pk: `REQUEST#${request}`, prefix: "RECEIPT#" }),
  switches: (account: string): Collection => ({ pk: `ACCOUNT#${account}`, prefix: "SWITCH#" }),
  orderRequests: (order: string): Collection => ({ pk: `ORDER#${order}`, prefix: "REQUEST#" }),
  openCheckouts: (): Collection => ({ pk: openCheckouts, prefix: "ORDER#" }),
  lateChanges: (): Collection => ({ pk: lateChanges, prefix: "ORDER#" }),
  lateChangesOf: (order: string): Collection => ({ pk: lateChanges, prefix: `ORDER#${order}#` }),
  idempotency: (account: string): Collection => ({ pk: `IDEMPOTENCY#${account}`, prefix: "USED#" }),
  /** Everything in the partition of an item. */
  partition: ({ pk }: Key): Collection => ({ pk, prefix: "" }),
  deletedAttachments: (): Collection => ({ pk: deletedAttachments, prefix: "DELETED#" }),
};
