import { createHash } from "node:crypto";
import { decodeTime } from "ulid";

/**
 * The whole table on one page. One table, `pk` and `sk`, no index: everything is read by key and strongly
 * consistent, so that a list shows what a 201 has confirmed.
 *
 * | to                                         | read                                              |
 * | ------------------------------------------ | ------------------------------------------------- |
 * | identify a caller                          | Get apiKey, then Get user                         |
 * | check a parent's visibility and features   | Get account (it carries its ancestors)            |
 * | find an order's or a request's state       | Get order                                         |
 * | show, update, delete an attachment         | Get attachment, under its parent                  |
 * | list a parent's attachments                | Query attachments; the exact total is the parent's |
 * | create an attachment from a direct upload  | Get upload, under its parent                      |
 * | keep a reference_id unique                 | Put reference, if it does not exist               |
 * | find an attachment by its reference_id     | Get reference, then Get attachment                |
 * | answer a repeated POST as the first        | Get idempotency                                   |
 * | list an order's requests                   | Query orderRequests                               |
 * | lock an order's checkout, show its outcome | Get checkout                                      |
 * | tell what the carrier has of a request     | Query receipts                                    |
 * | tell what it has of an attachment          | Get receipt, by each request                      |
 * | show, update, delete a switch              | Get switch (it carries its account's ancestors)   |
 * | keep a switch's name unique in its account | Put switchName, if it does not exist              |
 * | list the switches of an account's tree     | Query switches, then Get each; the exact total is the account's |
 * | resume the sweep where it stopped          | Get sweep                                         |
 */
export type Key = { readonly pk: string; readonly sk: string };

/** The things that can have attachments. */
export type ParentType = "order" | "request";
export type ParentRef = { readonly type: ParentType; readonly id: string };

/** A run of items in one partition: their sort keys are the prefix and an id. */
export type Collection = { readonly pk: string; readonly prefix: string };

/** A key whose partition holds this item alone, or as its first. */
const itself = (name: string): Key => ({ pk: name, sk: name });

const parent = ({ type, id }: ParentRef): Key => itself(`${type === "order" ? "ORDER" : "REQUEST"}#${id}`);

/** The hash under which an API key is stored; the key itself is stored nowhere. */
export const hashOfKey = (secret: string): string => createHash("sha256").update(secret).digest("hex");

export const keys = {
  /** By its hash. */
  apiKey: (sha256: string): Key => ({ pk: `KEY#${sha256}`, sk: "KEY" }),
  /** The hash of a key that was applied with an id of its own, so that it is found again. */
  apiKeyId: (id: string): Key => itself(`KEY_ID#${id}`),
  user: (id: string): Key => ({ pk: `USER#${id}`, sk: "USER" }),
  account: (id: string): Key => ({ pk: `ACCOUNT#${id}`, sk: "ACCOUNT" }),
  /**
   * One of 32 counts of the switches in an account's tree, by the last character of a switch's id: switches that are
   * created at the same time seldom write the same item. The counts are stored beside the account's own item.
   */
  switchCount: (account: string, switchId: string): Key => ({
    pk: `ACCOUNT#${account}`,
    sk: `ACCOUNT#SWITCH_COUNT#${switchId.slice(-1)}`,
  }),
  order: (id: string): Key => parent({ type: "order", id }),
  request: (id: string): Key => parent({ type: "request", id }),
  parent,
  /** The order's own entry of a request, so that one Query lists them. */
  orderRequest: (order: string, request: string): Key => ({ pk: `ORDER#${order}`, sk: `REQUEST#${request}` }),
  attachment: (of: ParentRef, id: string): Key => ({ pk: parent(of).pk, sk: `ATTACHMENT#${id}` }),
  /** A file that is sent to storage directly, and the attachment that is created from it, which has the same id. */
  upload: (of: ParentRef, id: string): Key => ({ pk: parent(of).pk, sk: `UPLOAD#${id}` }),
  reference: (of: ParentRef, uuid: string): Key => ({ pk: parent(of).pk, sk: `REFERENCE#${uuid}` }),
  /** Of the account of the API key that sent it; `expires_at` is the table's TTL. */
  idempotency: (account: string, key: string): Key => itself(`IDEMPOTENCY#${account}#${key}`),
  /** The order's latest run of the checkout: the lock against a second one, and how it ended. */
  checkout: (order: string): Key => ({ pk: `ORDER#${order}`, sk: "CHECKOUT" }),
  /** What became of one attachment, the request's own or its order's, at the carrier under this request. */
  receipt: (request: string, attachment: string): Key => ({ pk: `REQUEST#${request}`, sk: `RECEIPT#${attachment}` }),
  switch: (id: string): Key => ({ pk: `SWITCH#${id}`, sk: "SWITCH" }),
  /** By a hash of the name. */
  switchName: (account: string, hash: string): Key => ({ pk: `ACCOUNT#${account}`, sk: `SWITCH_NAME#${hash}` }),
  /** In the list of its account and of each account above that: one entry a level, so that a list is one Query. */
  switchEntry: (account: string, id: string): Key => ({ pk: `ACCOUNT#${account}`, sk: `SWITCH#${id}` }),
  /** Written only where a deleted attachment's file could not be removed: the delete can then be repeated. */
  unfinishedDelete: (of: ParentRef, id: string): Key => ({ pk: parent(of).pk, sk: `UNFINISHED_DELETE#${id}` }),
  /** How far the sweep of files without metadata has come. */
  sweep: (): Key => itself("SWEEP"),
};

export const collections = {
  /** An account's own item and its counts of switches. */
  accountAndCounts: (id: string): Collection => ({ pk: `ACCOUNT#${id}`, prefix: "ACCOUNT" }),
  attachments: (of: ParentRef): Collection => ({ pk: parent(of).pk, prefix: "ATTACHMENT#" }),
  receipts: (request: string): Collection => ({ pk: `REQUEST#${request}`, prefix: "RECEIPT#" }),
  switches: (account: string): Collection => ({ pk: `ACCOUNT#${account}`, prefix: "SWITCH#" }),
  orderRequests: (order: string): Collection => ({ pk: `ORDER#${order}`, prefix: "REQUEST#" }),
};

/** A file's key in the bucket: the day of its upload first, for the sweep, then what leads to its metadata. */
export const filePrefix = "attachments/";

/** A day is `YYYY-MM-DD`, in UTC. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/** The beginning of the keys of a day's files. */
export const dayPrefix = (day: string): string => `${filePrefix}${day.replaceAll("-", "/")}/`;

/** `attachments/2026/11/21/<parent type>/<parent id>/<id>`. */
export const fileKey = (of: ParentRef, attachmentId: string): string =>
  `${dayPrefix(dayOf(new Date(decodeTime(attachmentId))))}${of.type}/${of.id}/${attachmentId}`;

/** The day that a file's key begins with; undefined for a key that is none of ours. */
export const fileDay = (key: string): string | undefined =>
  /^attachments\/(\d{4}\/\d\d\/\d\d)\//.exec(key)?.[1]?.replaceAll("/", "-");

/** The attachment that a file belongs to; undefined for a key that is none of ours. */
export const fileOwner = (key: string): { readonly parent: ParentRef; readonly id: string } | undefined => {
  const [, type, parentId, id] =
    /^attachments\/\d{4}\/\d\d\/\d\d\/(order|request)\/(\w{26})\/(\w{26})$/.exec(key) ?? [];
  if (parentId === undefined || id === undefined) return undefined;
  return { parent: { type: type === "order" ? "order" : "request", id: parentId }, id };
};
