import { isDeepStrictEqual } from "node:util";
import type { Cart, CartCall, Reply } from "../../infra/local/carrier-carts.ts";
import { SentMetadata } from "../../shared/attachments/attachment-schema.ts";
import { fileKey, fileOwner } from "../../shared/attachments/file-keys.ts";
import { leftBehind } from "../../shared/checkout/plan.ts";
import { pick as pickProperties } from "../../shared/schema/fields.ts";
import type { Item } from "../../shared/table/expressions.ts";
import { type Key, keys, parentIn } from "../../shared/table/keys.ts";
import { forwardableType } from "../../shared/tenants/tenant-schema.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { cartNow, hasCarrierLied } from "./carrier.ts";
import { isClean, storedObjects } from "./files.ts";
import { allItems, type Change, itemAt, itemsBelow } from "./table.ts";
import { executionOf } from "./workflow.ts";
import { breakPromise, elapsed, type Task } from "./world.ts";

/** What must hold, at each moment and at the end: shared/checkout/README.md, "What it promises". */

/** A parent as it was when it was sealed. */
type Sealed = {
  readonly at: number;
  readonly attachments: ReadonlyMap<string, Item>;
  readonly requests: readonly string[];
};

let order = "";
let sealed = new Map<string, Sealed>();
/** Each attachment's metadata, by version, and what it is called in a trace. */
let versions = new Map<string, Item[]>();
/** Where a deleted attachment was, and by which commit it went. */
let deleted = new Map<string, { readonly pk: string; readonly at: number }>();
let commits = 0;
let names = new Map<string, string>();
let hasCheckedOut = false;
let runsWithLock = new Set<string>();
/** The executions, by the names of their runs. */
let runNames = new Map<string, string>();
/** The keys under which the carrier has got what it has. */
let sentAs = new Map<string, string>();

export const beginPromises = (orderId: string, requests: readonly string[]): void => {
  order = orderId;
  sealed = new Map();
  versions = new Map();
  deleted = new Map();
  commits = 0;
  names = new Map([[order, "order"], ...requests.map((id, index) => [id, `request ${index + 1}`] as const)]);
  hasCheckedOut = false;
  sentAs = new Map();
  runsWithLock = new Set();
  runNames = new Map();
  seen = new WeakMap();
  for (const item of allItems()) if (isAttachment(item)) remember(item);
};

const isAttachment = (item: Item) => String(item.sk).startsWith("ATTACHMENT#");
const idOf = (item: Item) => String(item.id);
const sentOf = (item: Item) => pickProperties(SentMetadata, Object(item));

const remember = (item: Item) => {
  const id = idOf(item);
  versions.set(id, [...(versions.get(id) ?? []), item]);
  if (!names.has(id)) names.set(id, String(item.name));
};

export const noteExecution = (run: string, name: string): void => void runNames.set(run, name);

/** A name that is the same in every run of a schedule, for an id. */
export const nameOf = (id: string): string => names.get(id) ?? id;

export const rename = (text: string): string => text.replaceAll(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g, nameOf);

const parentKey = (pk: string) => itemAt({ pk, sk: pk });
const attachmentsOf = (pk: string) => new Map(itemsBelow(pk, "ATTACHMENT#").map((item) => [idOf(item), item]));
const forwardable = () =>
  itemsBelow(keys.order(order).pk, "REQUEST#")
    .filter(({ type }) => type === forwardableType)
    .map(idOf);

export const judgeCommit = (changes: readonly Change[]): void => {
  commits += 1;
  for (const { key, before, after } of changes) {
    if (key.sk.startsWith("ATTACHMENT#")) judgeAttachment(key.pk, before, after);
    if (key.sk.startsWith("REQUEST#") && after && !names.has(idOf(after)))
      names.set(idOf(after), `request ${forwardable().length}, added`);
    if (parentIn(key.pk) && key.pk === key.sk) noteSeal(key.pk, before, after);
    if (
      key.pk === keys.order(order).pk &&
      key.sk === key.pk &&
      after?.state === "CHECKED_OUT" &&
      before?.state === "CART" &&
      !cartNow().checked_out
    )
      breakPromise("an order that is checked out is so at the carrier", "its cart is open");
    if (key.sk === "CHECKOUT" && after) judgeRun(before, after);
  }
};

const judgeAttachment = (pk: string, before: Item | undefined, after: Item | undefined) => {
  if (!after) return void (before && deleted.set(idOf(before), { pk, at: commits }));
  remember(after);
  const parent = parentIn(pk);
  if (!parent || storedObjects().get(fileKey(parent, idOf(after)))?.content.length !== after.bytes)
    breakPromise("metadata have their file", `${nameOf(idOf(after))} has none`);
};

/** A file may be removed only if its metadata are gone. */
export const judgeRemoval = (key: string): void => {
  const owner = fileOwner(key);
  if (owner && itemAt(keys.attachment(owner.parent, owner.id)))
    breakPromise("metadata have their file", `${nameOf(owner.id)} loses it`);
};

const noteSeal = (pk: string, before: Item | undefined, after: Item | undefined) => {
  if (isDeepStrictEqual(before?.seal, after?.seal)) return;
  const run = itemAt(keys.checkout(order));
  if (after?.seal && (Object(after.seal).run !== run?.run || run?.status !== "RUNNING"))
    breakPromise("only a run that has the lock seals", rename(pk));
  if (after?.seal === undefined) sealed.delete(pk);
  else
    sealed.set(pk, {
      at: commits,
      attachments: attachmentsOf(pk),
      requests: pk === keys.order(order).pk ? forwardable() : [],
    });
};

const isOver = (run: Item) => ["FAILED", "CRASHED"].includes(String(run.status));

const judgeRun = (before: Item | undefined, after: Item) => {
  if (before?.run !== after.run) runsWithLock.add(String(after.run));
  if (
    after.status === "CRASHED" &&
    before?.status !== "CRASHED" &&
    executionOf(String(after.run))?.status === "RUNNING"
  )
    breakPromise("only a run whose execution has ended has crashed", `${runNames.get(String(after.run))}`);
  const seal = Object(parentKey(keys.order(order).pk)?.seal);
  const isSettled = before?.outcome_unknown && !after.outcome_unknown && itemAt(keys.order(order))?.state === "CART";
  if (isSettled && seal.run !== undefined && after.status !== "STOPPING" && (isOver(after) || seal.run !== after.run))
    breakPromise("the order's seal is lifted once its cart is known to be open", `${seal.run}`);
  if (after.status === "FAILED" && before?.status !== "FAILED" && !after.outcome_unknown)
    for (const parent of [keys.order(order).pk, ...forwardable().map((id) => keys.request(id).pk)])
      if (Object(parentKey(parent)?.seal).run === after.run)
        breakPromise("a failed run lifts its seals", rename(parent));
  if (
    isOver(after) &&
    before?.status !== after.status &&
    !after.outcome_unknown &&
    cartNow().checked_out &&
    !hasCarrierLied()
  )
    breakPromise("a failed run has not checked the cart out, or leaves a doubt", `${after.reason}`);
  if (after.status === "SUCCEEDED" && before?.status !== "SUCCEEDED") judgeReason(after);
};

/** What the carrier has not got as it is now, and what it has that was deleted. */
const missingNow = () => {
  const { held } = cartNow();
  const requests = forwardable();
  const ofOrder = attachmentsOf(keys.order(order).pk);
  const added = new Set<string>();
  const present = new Set<string>(ofOrder.keys());
  for (const request of requests) {
    const own = attachmentsOf(keys.request(request).pk);
    for (const id of own.keys()) present.add(id);
    for (const [id, item] of [...ofOrder, ...own]) {
      const has = held[`${request}/${id}`];
      if (!has || !isDeepStrictEqual(sentOf(has), sentOf(item))) added.add(id);
    }
  }
  const gone = new Set(
    Object.values(held).flatMap(({ attachment_id }) => (present.has(attachment_id) ? [] : [attachment_id])),
  );
  return { not_forwarded: added.size, not_withdrawn: gone.size };
};

type Missing = ReturnType<typeof missingNow>;

let atFinish: Missing | undefined;

/** A step begins. The last one reads what came too late, and then writes: what it says was true in between. */
export const noteStep = (step: string): void => {
  if (step === "checkout/finish") atFinish = missingNow();
};

/** What an invocation has last read of an attachment, and whether it then had the lock. Only a call to the carrier needs it by its key. */
type Seen = { readonly item: Item | undefined; readonly hadLock: boolean };
let seen = new WeakMap<Task, { readonly attachments: Map<string, Seen>; hadLockAt: number }>();

/** The lock and an attachment are read together, but for what DynamoDB leaves unprocessed. */
const togetherMs = 5_000;

export const noteRead = (task: Task, { sk }: Key, item: Item | undefined): void => {
  const id = /^ATTACHMENT#(.*)/.exec(sk)?.[1];
  if (id === undefined && sk !== "CHECKOUT") return;
  const own = seen.get(task) ?? { attachments: new Map(), hadLockAt: Number.NEGATIVE_INFINITY };
  seen.set(task, own);
  if (id !== undefined) own.attachments.set(id, { item, hadLock: elapsed() - own.hadLockAt < togetherMs });
  else if (
    item?.status === "RUNNING" &&
    !item.outcome_unknown &&
    task.name.startsWith(`${runNames.get(String(item.run))}:`)
  )
    own.hadLockAt = elapsed();
};

/** Before a step calls the carrier, it has read what the call depends on: the lock, and the attachment as it is. */
export const judgeCaller = (task: Task, { method, path, idempotencyKey }: CartCall): void => {
  const attachment = /attachments\/(\w+)/.exec(path)?.[1];
  if (!attachment) return;
  const { item, hadLock } = seen.get(task)?.attachments.get(attachment) ?? { item: undefined, hadLock: false };
  const named = `${task.name}: ${method} ${nameOf(attachment)}`;
  if (!hadLock) breakPromise("only a run that forwards calls the carrier", named);
  if (method === "DELETE" ? item !== undefined : `${item?.version}` !== versionIn(idempotencyKey))
    breakPromise("a step sends only what is current", named);
};

/** How many receipts leave open whether the carrier has acted. */
const openReceipts = () =>
  forwardable()
    .flatMap((request) => itemsBelow(keys.request(request).pk, "RECEIPT#"))
    .filter(({ state }) => state === "pending" || state === "refused").length;

const isBetween = (reported: number, one: number, other: number, more: number) =>
  reported >= Math.min(one, other) && reported <= Math.max(one, other) + more;

const judgeReason = ({ reason }: Item) => {
  const numberIn = (pattern: RegExp) => Number(pattern.exec(String(reason))?.[1] ?? 0);
  const reported: Missing = {
    not_forwarded: numberIn(/(\d+) added or changed/),
    not_withdrawn: numberIn(/(\d+) deleted/),
  };
  judgeCounts("the reason of a run counts what came too late", reported, atFinish ?? missingNow(), missingNow());
};

const judgeCounts = (promise: string, reported: Missing, one: Missing, other: Missing) => {
  const more = openReceipts();
  for (const name of ["not_forwarded", "not_withdrawn"] as const)
    if (!isBetween(reported[name], one[name], other[name], more))
      breakPromise(
        promise,
        `${name} is ${reported[name]} instead of ${one[name]}${one[name] === other[name] ? "" : ` to ${other[name]}`}`,
      );
};

/** The carrier has acted on a call. */
export const judgeCall = ({ method, path, idempotencyKey }: CartCall, { status }: Reply, before: Cart): void => {
  if (status >= 300) return;
  const cart = cartNow();
  const [, request = "", attachment = ""] = /requests\/(\w+)\/attachments\/(\w+)/.exec(path) ?? [];
  const place = `${request}/${attachment}`;
  const [had, has] = [before.held[place], cart.held[place]];
  if (method === "PUT" && had !== has) judgePut(place, idempotencyKey ?? "", had !== undefined);
  if (method === "DELETE" && had && !deleted.has(attachment))
    breakPromise("only what is gone is withdrawn", rename(place));
  if (method !== "POST" || before.checked_out) return;
  hasCheckedOut = true;
  judgeCart(cart);
};

const versionIn = (idempotencyKey: string | null | undefined) =>
  /^forward-\w+-\w+-(\d+)/.exec(idempotencyKey ?? "")?.[1];

/** Another version is another call, also if its metadata were changed back. */
const judgePut = (place: string, key: string, wasHeld: boolean) => {
  const earlier = sentAs.get(place);
  if (wasHeld && earlier !== key && versionIn(earlier) === versionIn(key))
    breakPromise("nothing is sent twice", `${rename(place)}, ${rename(key)}`);
  sentAs.set(place, key);
  const item = versions.get(place.split("/")[1] ?? "")?.[0];
  const parent = item && parentIn(String(item.pk));
  if (parent && !isClean(fileKey(parent, idOf(item))) && !deleted.has(idOf(item)))
    breakPromise("only what is clean is sent", rename(place));
};

type Held = Cart["held"][string];

const judgeCart = ({ held }: Cart) => {
  const run = itemAt(keys.checkout(order));
  if (run?.outcome_unknown !== true)
    breakPromise("a call that may act is known", `the cart is checked out, ${run?.status}`);
  const ofOrder = sealed.get(keys.order(order).pk);
  if (!ofOrder) return breakPromise("only what is sealed is checked out", "the order has no seal");
  const expected = new Set<string>();
  for (const request of ofOrder.requests) {
    const own = sealed.get(keys.request(request).pk);
    if (!own) {
      breakPromise("only what is sealed is checked out", `${nameOf(request)} has no seal`);
      continue;
    }
    for (const [id, item] of [...ofOrder.attachments, ...own.attachments]) {
      expected.add(`${request}/${id}`);
      judgeHeld(request, item, held[`${request}/${id}`]);
    }
  }
  for (const [place, { attachment_id }] of Object.entries(held))
    if (!expected.has(place) && wasGoneBefore(attachment_id))
      breakPromise("nothing that was deleted is left behind", rename(place));
};

const judgeHeld = (request: string, item: Item, held: Held | undefined) => {
  const name = `${nameOf(idOf(item))} under ${nameOf(request)}`;
  if (!held) return breakPromise("nothing is missed", name);
  // A change after the seal may have gone as well.
  const current = (versions.get(idOf(item)) ?? []).filter(({ version }) => Number(version) >= Number(item.version));
  if (!current.some((version) => isDeepStrictEqual(sentOf(version), sentOf(held))))
    breakPromise("the carrier has the metadata as of the seal", name);
  if (held.sha256 !== item.sha256 || held.bytes !== item.bytes) breakPromise("the carrier has the file", name);
};

/** Whether it was deleted before its parent was sealed. What was deleted later is left behind, and said. */
const wasGoneBefore = (id: string) => {
  const gone = deleted.get(id);
  const seal = gone && sealed.get(gone.pk);
  return seal !== undefined && gone !== undefined && gone.at < seal.at;
};

/** What the product says of what came too late, and of what the carrier has, at the end. */
export const judgeEnd = async (): Promise<void> => {
  const { state } = itemAt(keys.order(order)) ?? {};
  if (state !== "CHECKED_OUT")
    breakPromise("once faults stop, every order can be checked out", `${itemAt(keys.checkout(order))?.reason}`);
  else if (!hasCheckedOut) breakPromise("an order that is checked out is so at the carrier", "nobody has called it");
  else judgeCounts("what was left behind is said", await leftBehind(order), missingNow(), missingNow());
  judgeReceipts();
  judgeRuns();
  for (const { level, rule, at, detail } of await checkInvariants(new Date()))
    if (level === "violation") breakPromise("check finds nothing", `${rule}: ${rename(at)}: ${rename(detail)}`);
};

/** After the sweeps and TTL, nothing is left of what was deleted, or was never stored as a whole. */
export const judgeSwept = async (): Promise<void> => {
  for (const { rule, at, detail } of await checkInvariants(new Date()))
    breakPromise("the sweep leaves nothing behind", `${rule}: ${rename(at)}: ${rename(detail)}`);
  for (const { pk, sk } of allItems())
    if (String(sk).startsWith("UNFINISHED_DELETE#"))
      breakPromise("the sweep leaves nothing behind", rename(`${pk} ${sk}`));
};

/** Every run that had the lock has ended, and says how. */
const judgeRuns = () => {
  const events = itemsBelow(keys.order(order).pk, "EVENT#").filter(({ type }) => /^order\.check/.test(String(type)));
  const ended = new Set(events.map(({ actor }) => String(Object(actor).id)));
  for (const run of runsWithLock)
    if (!ended.has(run)) breakPromise("every run says how it has ended", `${runNames.get(run)}`);
};

const judgeReceipts = () => {
  const { held } = cartNow();
  for (const request of forwardable())
    for (const { attachment, state, sent } of itemsBelow(keys.request(request).pk, "RECEIPT#")) {
      const has = held[`${request}/${attachment}`];
      const isTrue =
        state === "forwarded" ? has && isDeepStrictEqual(sentOf(has), sent) : state !== "withdrawn" || !has;
      if (!isTrue)
        breakPromise("a receipt is true", `${nameOf(String(attachment))} under ${nameOf(request)} is ${state}`);
    }
};

/** Nothing that was refused is stored: no attachment has this name. */
export const judgeRefused = (name: string): void => {
  if ([...versions.values()].some(([first]) => first?.name === name))
    breakPromise("what was refused is not stored", name);
};

/** What was repeated with its Idempotency-Key is stored once: one attachment has this name. */
export const judgeRepeated = (name: string): void => {
  const count = [...versions.values()].filter(([first]) => first?.name === name).length;
  if (count > 1) breakPromise("an Idempotency-Key creates one attachment", name);
};

/** Every change of an attachment that was confirmed is stored. */
export const judgeConfirmed = (confirmed: Iterable<readonly [string, number]>): void => {
  for (const [id, version] of confirmed)
    if (!(versions.get(id) ?? []).some((item) => Number(item.version) >= version))
      breakPromise("what was confirmed is stored", nameOf(id));
};
