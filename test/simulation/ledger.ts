import { isDeepStrictEqual } from "node:util";
import type { Cart } from "../../infra/local/carrier-carts.ts";
import { SentMetadata } from "../../shared/attachments/attachment-schema.ts";
import { pick } from "../../shared/schema/fields.ts";
import type { Item } from "../../shared/table/expressions.ts";
import { keys } from "../../shared/table/keys.ts";
import { isForwarded } from "../../shared/tenants/tenant-schema.ts";
import { allItems, itemAt, itemsBelow } from "./table.ts";

/** Records facts of a schedule that no participant knows, such as every version of each attachment and the order as it was sealed. */

/** The order as it was after a commit, and the attachments to send under each request. */
type Seal = { readonly at: number; readonly requests: ReadonlyMap<string, ReadonlyMap<string, Item>> };

const newLedger = (order: string, seal?: Seal) => ({
  order,
  /** By attachment, the oldest first. */
  versions: new Map<string, Item[]>(),
  /** The commits that deleted attachments. */
  deletedAt: new Map<string, number>(),
  seal,
  commits: 0,
  /** The names of ids in a trace, which are the same in every run of a schedule. */
  names: new Map([[order, "order"]]),
  /** The runs that had the lock. */
  runs: new Set<string>(),
  /** The executions, by their runs. */
  executions: new Map<string, string>(),
  /** The time until which each execution's run had the lock and forwarded. */
  forwardsUntil: new Map<string, number>(),
  /** The idempotency keys with which a cart received its attachments. */
  sentAs: new Map<string, string>(),
  /** The version of an attachment for which a key was announced. */
  versionOf: new Map<string, number>(),
  /** The times at which calls were decided, by their keys. */
  decidedAt: new Map<string, number>(),
  /** The content of the calls with a key. */
  contentOf: new Map<string, string>(),
  /** The same, by place and run. */
  sentIn: new Map<string, Set<string>>(),
  /** The last time at which a carrier has said that its cart differs from the manifest. */
  differedAt: Number.NEGATIVE_INFINITY,
  /** The idempotency keys of the checkout of the cart, by manifest, since it was last decided that the cart is open. */
  checkoutKeys: new Map<string, string>(),
  /** The attachments that the carrier itself has refused. */
  refused: new Set<string>(),
  /** How often the order has changed since its run has the lock. */
  changes: 0,
  /** The order at each of its versions, and the number of the commit that made it. */
  at: new Map<number, Seal>(),
  isCheckedOut: false,
  /** When the table has gone back, or 0. */
  wentBackAt: 0,
  /** Whether the cart was checked out then, of which the table knows nothing. */
  wasCheckedOut: false,
  /** Nothing disturbs the schedule, and the carrier refuses nothing. */
  isUndisturbed: false,
  /** The time at which an operator has last asked to send each attachment again, by request and attachment. */
  resentAt: new Map<string, number>(),
  /** The time at which each place has last received its attachment. */
  receivedAt: new Map<string, number>(),
  /** When it was last recorded that the carrier's cart is open. No call that began earlier may check it out. */
  openAt: Number.NEGATIVE_INFINITY,
});

export let ledger = newLedger("");

export const beginLedger = (order: string, requests: readonly string[]): void => {
  ledger = newLedger(order);
  for (const [index, id] of requests.entries()) ledger.names.set(id, `request ${index + 1}`);
  for (const item of allItems()) if (String(item.sk).startsWith("ATTACHMENT#")) remember(item);
  rememberVersion();
};

export const idOf = (item: Item): string => String(item.id);

export const remember = (item: Item): void => {
  const { versions, names } = ledger;
  const id = idOf(item);
  versions.set(id, [...(versions.get(id) ?? []), item]);
  if (!names.has(id)) names.set(id, String(item.name));
};

export const nameOf = (id: string): string => ledger.names.get(id) ?? id;

/** A text with names in place of ids. */
export const rename = (text: string): string => text.replaceAll(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g, nameOf);

/** What the ledger has from the table. */
const factsOfTable = () => ({
  versions: new Map(ledger.versions),
  deletedAt: new Map(ledger.deletedAt),
  seal: ledger.seal,
  runs: new Set(ledger.runs),
  changes: ledger.changes,
  resentAt: new Map(ledger.resentAt),
  at: new Map(ledger.at),
});

/** Remembers what the ledger has from the table. Returns a function that goes back to it. What was stored since then counts as deleted. */
export const ledgerNow = (): (() => void) => {
  const then = factsOfTable();
  return () => {
    for (const id of ledger.versions.keys()) if (!then.versions.has(id)) then.deletedAt.set(id, 0);
    Object.assign(ledger, then);
  };
};

export const orderPk = (): string => keys.order(ledger.order).pk;
export const orderItem = (): Item => itemAt(keys.order(ledger.order)) ?? {};
export const runItem = (): Item => itemAt(keys.checkout(ledger.order)) ?? {};
export const forwardable = (): string[] =>
  itemsBelow(orderPk(), "REQUEST#").flatMap((item) => (isForwarded(item.type) ? [idOf(item)] : []));
export const receiptsBelow = (request: string): Item[] => itemsBelow(keys.request(request).pk, "RECEIPT#");

const attachmentsOf = (pk: string) => new Map(itemsBelow(pk, "ATTACHMENT#").map((item) => [idOf(item), item]));

/** Remembers the order as it is at its present version. */
export const rememberVersion = (): void => {
  const ofOrder = attachmentsOf(orderPk());
  const sent = (id: string) => [id, new Map([...ofOrder, ...attachmentsOf(keys.request(id).pk)])] as const;
  const version = Number(orderItem().attachments_version);
  ledger.at.set(version, { at: ledger.commits, requests: new Map(forwardable().map(sent)) });
};

/** Remembers which version of the order is sealed, or that none is. */
export const rememberSeal = (version: number | undefined): void => {
  ledger.seal = version === undefined ? undefined : ledger.at.get(version);
};

type Held = Cart["held"][string];

/** Whether the carrier has these metadata. */
export const isSent = (held: Held | undefined, sent: unknown): boolean =>
  held !== undefined && isDeepStrictEqual(pick(SentMetadata, held), pick(SentMetadata, Object(sent)));

/** How many attachments a cart lacks in their current version, and how many deleted ones it has. */
export const missingFrom = ({ held }: Cart) => {
  const ofOrder = attachmentsOf(orderPk());
  const added = new Set<string>();
  const present = new Set(ofOrder.keys());
  for (const request of forwardable()) {
    const own = attachmentsOf(keys.request(request).pk);
    for (const id of own.keys()) present.add(id);
    for (const [id, item] of [...ofOrder, ...own]) if (!isSent(held[`${request}/${id}`], item)) added.add(id);
  }
  const gone = new Set(Object.values(held).map((one) => one.attachment_id)).difference(present);
  return { not_forwarded: added.size, not_withdrawn: gone.size };
};

export type Missing = ReturnType<typeof missingFrom>;
