import { isDeepStrictEqual } from "node:util";
import type { Cart, CartCall } from "../../infra/local/carrier-carts.ts";
import type { Reply } from "../../infra/local/listen.ts";
import { fileKey, fileOwner } from "../../shared/attachments/file-keys.ts";
import { lateChanges } from "../../shared/checkout/late-changes.ts";
import { maxCallMs } from "../../shared/checkout/limits.ts";
import type { Item } from "../../shared/table/expressions.ts";
import { type Key, keys, parentIn } from "../../shared/table/keys.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import {
  allCarts,
  cartNow,
  dropRefused,
  hasCarrierFailed,
  hasCarrierLied,
  hasCarrierMoved,
  hasCarrierSaidNothingTo,
  isCarrierSilent,
  isReleased,
  isUnknown,
  isUnseen,
} from "./carrier.ts";
import { isClean, storedObjects } from "./files.ts";
import {
  forwardable,
  idOf,
  isSent,
  ledger,
  type Missing,
  missingFrom,
  orderItem,
  orderPk,
  receiptsBelow,
  remember,
  rememberSeal,
  rememberVersion,
  rename,
  runItem,
} from "./ledger.ts";
import { allItems, type Change, itemAt } from "./table.ts";
import { executionOf } from "./workflow.ts";
import { breakPromise, elapsed, hasHappened, type Task } from "./world.ts";

/**
 * Judges whether the promises in shared/checkout/README.md, "What it promises", hold at each moment and at the end. They hold for every
 * carrier. Against what only a comparison with the manifest can show, they hold for carriers that compare: carrier.ts says what that is.
 */

/** Reports a broken promise, with its detail, unless it is kept. */
const hold = (promise: string, isKept: boolean, detail: string): void => {
  if (!isKept) breakPromise(promise, rename(detail));
};

// At each commit.

export const judgeCommit = (changes: readonly Change[], task: Task): void => {
  ledger.commits += 1;
  dropRefused(task);
  for (const { key, before, after } of changes) {
    if (key.sk.startsWith("ATTACHMENT#")) judgeAttachment(key.pk, before, after);
    if (key.sk.startsWith("REQUEST#") && after && !ledger.names.has(idOf(after)))
      ledger.names.set(idOf(after), `request ${forwardable().length}, added`);
    if (isOrder(key)) judgeOrder(before, after);
    if (key.sk === "CHECKOUT" && after) judgeRun(before ?? {}, after, task);
    if (key.sk === "CHECKOUT" && confirmedTo.delete(task))
      hold("a 2xx is recorded at once", after?.checked_out === true, task.name);
    if (key.sk.startsWith("RECEIPT#") && after) noteAnnouncement(task, key, before ?? {}, after);
    if (key.sk.startsWith("RECEIPT#") && after && task.name.startsWith("operator")) noteResend(key, after);
    if (key.sk.startsWith("RECEIPT#") && after?.state === "refused" && before?.state !== "refused")
      judgeVerdict(key, after);
  }
  judgeVersion(changes);
  if (changes.some(({ key }) => isOrder(key))) rememberVersion();
  if (changes.some(hasMoved)) ledger.changes += 1;
  const { seal, state } = orderItem();
  const isSealable = !seal || runItem().outcome_unknown === true || state === "CHECKED_OUT";
  hold("an order is sealed only in doubt, or after success", isSealable, String(runItem().status));
  if (sinceFinish.length > 0) sinceFinish.push(truth());
};

/** Notes that the carrier itself has refused an attachment of a request. */
export const noteRefusal = (place: string): void => {
  ledger.refused.add(place);
};

const placeOf = ({ pk }: Key, { attachment }: Item) => `${pk.replace("REQUEST#", "")}/${attachment}`;

/** Notes that an operator has asked to send an attachment again, which is all that an operator changes of a receipt. */
const noteResend = (key: Key, receipt: Item) => {
  ledger.resentAt.set(placeOf(key, receipt), elapsed());
};

/** A word about the token, or of a proxy, refuses no letter. */
const judgeVerdict = (key: Key, receipt: Item) => {
  const place = placeOf(key, receipt);
  hold("only the carrier refuses a letter", ledger.refused.has(place), place);
};

/** Called when the table has gone back. Nothing of the time since is owed, and of a cart that was checked out then, the table knows nothing. */
export const noteRestore = (): void => {
  sinceFinish = [];
  ledger.wentBackAt = elapsed();
  ledger.checkoutKeys.clear();
  ledger.wasCheckedOut ||= ledger.isCheckedOut && orderItem().state === "CART";
  noteLock(runItem());
};

const isOrder = ({ pk, sk }: Key) => pk === orderPk() && sk === pk;

const judgeAttachment = (pk: string, before: Item | undefined, after: Item | undefined) => {
  if (before && !after) ledger.deletedAt.set(idOf(before), ledger.commits);
  if (!after) return;
  remember(after);
  const parent = parentIn(pk);
  const file = parent && storedObjects().get(fileKey(parent, idOf(after)));
  hold("metadata have their file", file?.content.length === after.bytes, `${idOf(after)} has none`);
};

export const judgeRemoval = (key: string): void => {
  const owner = fileOwner(key);
  const item = owner && itemAt(keys.attachment(owner.parent, owner.id));
  hold("metadata have their file", item === undefined, `${owner?.id} loses it`);
};

/** Every change moves the order's only version, so one conditional write seals the whole order. */
const judgeVersion = (changes: readonly Change[]) => {
  if (orderItem().state !== "CART" || changes.some(hasMoved)) return;
  const ofOrder = [orderPk(), ...forwardable().map((id) => keys.request(id).pk)];
  const isPart = ({ pk, sk }: Key) =>
    (sk.startsWith("ATTACHMENT#") && ofOrder.includes(pk)) || (sk.startsWith("REQUEST#") && pk === orderPk());
  for (const { key } of changes) hold("every change moves the order's version", !isPart(key), key.sk);
};

const hasMoved = ({ key, before, after }: Change) =>
  isOrder(key) && before?.attachments_version !== after?.attachments_version;

const judgeOrder = (before: Item | undefined, after: Item | undefined) => {
  if (before?.state === "CART" && after?.state === "CHECKED_OUT")
    hold("a checked-out order is checked out at the carrier", cartNow().checked_out, "its cart is open");
  if (isDeepStrictEqual(before?.seal, after?.seal)) return;
  const { run, status } = runItem();
  if (after?.seal)
    hold("only a run that has the lock seals", Object(after.seal).run === run && status === "RUNNING", String(run));
  const version = after?.seal ? Number(Object(after.seal).version) : undefined;
  const isCurrent = version === undefined || version === after?.attachments_version;
  hold("an order is sealed as it is, unless it keeps changing", isCurrent || ledger.changes >= 3, String(run));
  rememberSeal(version);
};

/** Whether an execution runs, and nobody can take it for one that has ended, because the look-up lags. */
const isKnownToRun = (run: string) => {
  const execution = executionOf(run);
  return execution?.status === "RUNNING" && elapsed() - execution.redrivenAt > slowestLagMs;
};
/** The lag of DescribeExecution, and the time between the look-up and the write. */
const slowestLagMs = 30_000 + 60_000;

const judgeRun = (before: Item, after: Item, task: Task) => {
  const run = String(after.run);
  const named = ledger.executions.get(run) ?? run;
  const ends = (...statuses: string[]) => before.status !== after.status && statuses.includes(String(after.status));
  ledger.runs.add(run);
  if (before.run !== run) {
    ledger.changes = 0;
    const endedAt = executionOf(run)?.endedAt ?? Number.POSITIVE_INFINITY;
    hold("a late copy of a step locks nothing", elapsed() < endedAt + slowestLagMs, named);
  }
  noteLock(before, after);
  if (before.outcome_unknown && !after.outcome_unknown) ledger.checkoutKeys.clear();
  if (ends("STOPPING") && after.failure === "refused" && before.outcome_unknown)
    ledger.decidedAt.set(String(before.key), elapsed());
  hold("a 2xx is never forgotten", !before.checked_out || after.checked_out === true, named);
  const isDenied = (hasCarrierLied() && !before.checked_out) || isUnknown();
  const isOpenOrDenied = !cartNow().checked_out || ledger.wasCheckedOut || isDenied;
  if (ledger.isUndisturbed)
    hold("a run that nothing disturbs succeeds", !ends("STOPPING", "FAILED", "CRASHED"), String(after.reason));
  if (ends("CRASHED")) hold("only a run whose execution has ended has crashed", !isKnownToRun(run), named);
  if (ends("FAILED", "CRASHED") && !after.outcome_unknown)
    hold("a failed run leaves the cart open, or a doubt", isOpenOrDenied, named);
  if (ends("SUCCEEDED")) judgeReason(String(after.reason));
  const says = (words: string) => String(after.reason).includes(words);
  hold("changes do not end a checkout", !(ends("STOPPING") && says("keep changing")), named);
  if (ends("STOPPING") && after.outcome_unknown && hasCarrierSaidNothingTo(task))
    hold("a run without a usable response names what it lacks", says("checked_out"), named);
  if (ends("FAILED", "CRASHED") && after.outcome_unknown && !after.checked_out)
    hold("a run that ends in doubt names who can end it", says("order settle"), named);
  const isOpen = orderItem().state === "CART" && !after.outcome_unknown && (before.outcome_unknown || ends("FAILED"));
  if (!isOpen) return;
  ledger.openAt = elapsed();
  hold("a cart counts as open only if it is", isOpenOrDenied, named);
};

/** The late changes, and the receipts that leave open whether the carrier has acted, which may also be counted. */
const truth = () => ({
  ...missingFrom(cartNow()),
  open: forwardable()
    .flatMap(receiptsBelow)
    .filter(({ state, held }) => state === "pending" || state === "refused" || held === "perhaps").length,
});
type Truth = ReturnType<typeof truth>;

let sinceFinish: Truth[] = [];

/** Called when a step begins. The last step, or a copy, counts late changes and then writes the counts, which were true in between. */
export const noteStep = (step: string): void => {
  if (step === "checkout/submit") sinceFinish.push(truth());
};

const judgeReason = (reason: string) => {
  const numberIn = (pattern: RegExp) => Number(pattern.exec(reason)?.[1] ?? 0);
  const reported = {
    not_forwarded: numberIn(/(\d+) added or changed/),
    not_withdrawn: numberIn(/(\d+) deleted/),
  };
  judgeCounts("the reason of a run counts what came too late", reported, [...sinceFinish, truth()]);
};

const judgeCounts = (promise: string, reported: Missing, truths: readonly Truth[]) => {
  // After a wrong answer, the order may be at two carriers.
  if (ledger.wasCheckedOut || isUnseen() || (hasCarrierLied() && hasCarrierMoved())) return;
  for (const name of ["not_forwarded", "not_withdrawn"] as const) {
    const counts = truths.map((truth) => truth[name]);
    // A step does not read everything at once, so it may count an old late change together with a newer one.
    const everLate = counts.reduce((sum, count, index) => sum + Math.max(0, count - (counts[index - 1] ?? 0)), 0);
    const most = everLate + Math.max(...truths.map(({ open }) => open));
    const isTrue = reported[name] >= Math.min(...counts) && reported[name] <= most;
    hold(promise, isTrue, `${name} is ${reported[name]} instead of ${[...new Set(counts)].join(" or ")}`);
  }
};

// At each call of the carrier.

/** Records until when each execution's run had the lock and forwarded. */
const noteLock = (...changed: readonly Item[]) => {
  for (const { run, status, outcome_unknown } of changed) {
    const named = ledger.executions.get(String(run)) ?? "";
    const isForwarding = run === runItem().run && status === "RUNNING" && !outcome_unknown;
    if (isForwarding) ledger.forwardsUntil.set(named, Number.POSITIVE_INFINITY);
    else if (ledger.forwardsUntil.get(named) === Number.POSITIVE_INFINITY) ledger.forwardsUntil.set(named, elapsed());
  }
};

/** A task's last announcement for a request and attachment. What is not current stays so. */
type Announced = { readonly at: number; readonly key: string; readonly isCurrent: boolean };
const announced = new WeakMap<Task, Map<string, Announced>>();

const noteAnnouncement = (
  task: Task,
  { pk }: Key,
  before: Item,
  { attachment, of, version, key, state, attempts }: Item,
) => {
  const parent = of === "order" ? orderPk() : pk;
  if (!ledger.versionOf.has(String(key))) ledger.versionOf.set(String(key), Number(version));
  // A receipt that is restored has fewer attempts.
  const isDecided = state !== before.state && state !== "pending" && attempts === before.attempts;
  if (isDecided && before.key) ledger.decidedAt.set(String(before.key), elapsed());
  const isCurrent = itemAt({ pk: parent, sk: `ATTACHMENT#${attachment}` })?.version === version;
  const own = announced.get(task) ?? new Map();
  const announcement = { at: elapsed(), key: String(key), isCurrent };
  announced.set(task, own.set(`${pk}/${attachment}`, announcement));
};

/** The longest time between a task's reads and a call that depends on them: a read, a wait, and earlier attempts of the call. */
const slowestMs = () => 30_000 + maxCallMs(0);

export const judgeCaller = (task: Task, { method, path, idempotencyKey, form }: CartCall, listed: string): void => {
  const [, request = "", id = ""] = /requests\/(\w+)\/attachments\/(\w+)/.exec(path) ?? [];
  if (method === "POST") {
    const key = String(idempotencyKey);
    const isOwn = (ledger.checkoutKeys.get(listed) ?? key) === key;
    hold("the checkout of a cart keeps its key", isOwn, task.name);
    ledger.checkoutKeys.set(listed, key);
    judgeKey(key, listed, elapsed() - slowestMs(), task);
  }
  if (id === "") return;
  const own = announced.get(task)?.get(`${keys.request(request).pk}/${id}`);
  judgeKey(String(idempotencyKey), `${method} ${path} ${form?.metadata}`, own?.at ?? elapsed(), task);
  const announcement = method === "PUT" ? own : undefined;
  const foundAt = announcement?.at ?? elapsed() - task.frozenMs - slowestMs();
  const until = ledger.forwardsUntil.get(task.name.split(":")[0] ?? "") ?? Number.NEGATIVE_INFINITY;
  const isAnnounced = announcement?.isCurrent === true && announcement.key === idempotencyKey;
  const isCurrent = method === "PUT" ? isAnnounced : ledger.deletedAt.has(id);
  hold("only a run that forwards calls the carrier", until > foundAt, `${task.name}: ${method} ${id}`);
  hold("a step sends only what is current", isCurrent, `${task.name}: ${method} ${id}`);
};

/** In a table that has gone back, an undecided key comes again, whatever has been decided since. */
const judgeKey = (key: string, content: string, announcedAt: number, { name }: Task) => {
  const isOne = (ledger.contentOf.get(key) ?? content) === content;
  ledger.contentOf.set(key, content);
  hold("a key is that of one call", isOne, `${name}: ${key}`);
  const decidedAt = ledger.decidedAt.get(key) ?? Number.POSITIVE_INFINITY;
  hold("no key comes back after a decision", announcedAt <= decidedAt || ledger.wentBackAt > 0, `${name}: ${key}`);
};

/** The tasks to which the carrier has confirmed that it has checked the cart out, until they record that. */
const confirmedTo = new WeakSet<Task>();

export const judgeAnswer = (task: Task, { method }: CartCall, { status, body }: Reply): void => {
  if (method === "POST" && status < 300 && Object(body).checked_out === true) confirmedTo.add(task);
};

/** Judges a call on which the carrier has acted. */
export const judgeCall = (
  { method, path, idempotencyKey }: CartCall,
  { status }: Reply,
  cart: Cart,
  before: Cart,
  begunAt: number,
): void => {
  if (status === 412) ledger.differedAt = elapsed();
  if (status >= 300) return;
  const [, request = "", id = ""] = /requests\/(\w+)\/attachments\/(\w+)/.exec(path) ?? [];
  const place = `${request}/${id}`;
  const [had, has] = [before.held[place], cart.held[place]];
  if (method === "PUT" && had !== has) {
    ledger.receivedAt.set(`${allCarts().indexOf(cart)} ${place}`, elapsed());
    judgePut(cart, place, idempotencyKey ?? "", had !== undefined);
  }
  // A call from before the table went back may act hours later, on what came back with it. Then the carrier's cart differs.
  const isDeleted = ledger.deletedAt.has(id) || begunAt < ledger.wentBackAt;
  if (method === "DELETE" && had) hold("only deleted attachments are withdrawn", isDeleted, place);
  if (method !== "POST" || before.checked_out) return;
  // After a wrong answer of the first carrier or its support, or if the table has forgotten the first carrier's, a second carrier gets the
  // order, too.
  const isForgotten = ledger.wasCheckedOut && hasCarrierMoved();
  hold("an order is placed once", !ledger.isCheckedOut || hasCarrierLied() || isForgotten, String(runItem().run));
  ledger.isCheckedOut = true;
  hold("no late call checks out a cart that counts as open", begunAt > ledger.openAt, String(runItem().run));
  judgeCart(cart);
};

/**
 * The keys under which a run has sent an attachment. Each wait, for the carrier, for S3 or for a scan, each copy of a step, and each
 * step that has the other carrier's address may need another.
 */
const judgeCount = (place: string, key: string) => {
  const named = `${place} in ${runItem().run}`;
  const keysOfRun = (ledger.sentIn.get(named) ?? new Set()).add(key);
  ledger.sentIn.set(named, keysOfRun);
  const hasWaited =
    hasCarrierFailed() || hasHappened("files") || process.env.MALWARE_SCAN !== "" || ledger.differedAt > 0;
  const isFew = keysOfRun.size <= 5 || hasWaited || hasCarrierMoved() || hasHappened("invocation");
  hold("a run sends no letter more than five times", isFew, `${named}: ${keysOfRun.size}`);
};

const judgePut = (cart: Cart, of: string, key: string, wasHeld: boolean) => {
  const place = `${allCarts().indexOf(cart)} ${of}`;
  const id = of.split("/")[1] ?? "";
  judgeCount(place, key);
  const earlier = ledger.sentAs.get(place);
  ledger.sentAs.set(place, key);
  // Another version is another call, even if its metadata were changed back. What differs from the manifest is sent again, perhaps
  // before an earlier call acts late.
  const isOther =
    !wasHeld ||
    earlier === key ||
    ledger.versionOf.get(earlier ?? "") !== ledger.versionOf.get(key) ||
    isSentAgain() ||
    ledger.resentAt.has(of) ||
    ledger.refused.has(of);
  hold("nothing is sent twice", isOther, `${place}, ${key}`);
  const [item] = ledger.versions.get(id) ?? [];
  const parent = parentIn(String(item?.pk));
  hold("only what is clean is sent", !parent || ledger.deletedAt.has(id) || isClean(fileKey(parent, id)), place);
};

const judgeCart = (cart: Cart) => {
  const { held } = cart;
  const { outcome_unknown, status } = runItem();
  // If the first carrier has denied what it did, an operator may settle by its word while the second is called.
  const isKnown = outcome_unknown === true || (hasCarrierLied() && hasCarrierMoved());
  hold("a call that may act is known", isKnown, `the cart is checked out, ${status}`);
  const { seal } = ledger;
  hold("only what is sealed is checked out", seal !== undefined, "the order has no seal");
  const expected = new Set<string>();
  for (const [request, attachments] of seal?.requests ?? []) {
    for (const [id, item] of attachments) {
      expected.add(`${request}/${id}`);
      judgeHeld(`${id} under ${request}`, item, held[`${request}/${id}`]);
      judgeResend(`${request}/${id}`, allCarts().indexOf(cart));
    }
  }
  for (const [place, { attachment_id }] of Object.entries(held))
    if (!expected.has(place)) hold("nothing that was deleted is left behind", !wasGone(attachment_id), place);
};

const judgeHeld = (named: string, item: Item, held: Cart["held"][string] | undefined) => {
  // What was deleted since the order had the version that is sealed may be withdrawn, or stay as it was.
  if (ledger.deletedAt.has(idOf(item))) return;
  // While a run waits because a letter was refused, another copy's call may check out the cart from which the carrier has dropped it.
  const isRefused = runItem().outcome_unknown === true && runItem().key === "";
  hold("nothing is missed", held !== undefined || isRefused, named);
  if (!held) return;
  // A change after the seal may also have been sent.
  const current = ledger.versions.get(idOf(item))?.filter(({ version }) => Number(version) >= Number(item.version));
  hold("the carrier has the metadata as of the seal", current?.some((one) => isSent(held, one)) ?? false, named);
  hold("the carrier has what was confirmed last", isAsConfirmed(held), named);
  hold("the carrier has the file", held.sha256 === item.sha256 && held.bytes === item.bytes, named);
};

/** Whether the carrier has a letter as the release has sent it whose call was confirmed last. */
const isAsConfirmed = ({ request_id, attachment_id, idempotency_key }: Cart["held"][string]) => {
  const receipt = receiptsBelow(request_id).find(({ attachment }) => attachment === attachment_id);
  const isLater = (key: unknown) => ledger.contentOf.get(String(key))?.includes('"release"');
  return receipt?.state !== "forwarded" || receipt.held !== "yes" || isLater(receipt.key) === isLater(idempotency_key);
};

/** After the table has gone back, a key may come again, and the carrier repeats its earlier response. Its cart is compared all the same. */
const judgeResend = (place: string, cart: number) => {
  if (ledger.wentBackAt > 0) return;
  const [resentAt, receivedAt = 0] = [ledger.resentAt.get(place), ledger.receivedAt.get(`${cart} ${place}`)];
  const isReceived = resentAt === undefined || receivedAt > resentAt || ledger.deletedAt.has(place.split("/")[1] ?? "");
  hold("what an operator has resent reaches the carrier again", isReceived, place);
};

/** Whether an attachment was deleted before the order was sealed. One that was deleted later stays, and is reported. */
const wasGone = (id: string) => (ledger.deletedAt.get(id) ?? Number.POSITIVE_INFINITY) < (ledger.seal?.at ?? 0);

// At the end, when no events remain.

export const judgeEnd = async (confirmed: Iterable<readonly [string, number]>): Promise<void> => {
  sinceFinish = [];
  const isDone = orderItem().state === "CHECKED_OUT";
  const isPossible = !(ledger.wentBackAt > 0 && isCarrierSilent());
  hold("once faults stop, every order can be checked out", isDone || !isPossible, String(runItem().reason));
  hold("a checked-out order is checked out at the carrier", !isDone || ledger.isCheckedOut, "nobody has called it");
  if (isDone) judgeCounts("late changes are reported", (await lateChanges(ledger.order, new Date())).counts, [truth()]);
  for (const request of forwardable()) for (const receipt of receiptsBelow(request)) judgeReceipt(request, receipt);
  judgeHistory();
  for (const [id, version] of confirmed) {
    const isStored = ledger.versions.get(id)?.some((item) => Number(item.version) >= version) ?? false;
    hold("what was confirmed is stored", isStored, id);
  }
  for (const { level, rule, at, detail } of await checkInvariants(new Date()))
    hold("check finds nothing", level !== "violation", `${rule}: ${at}: ${detail}`);
};

/**
 * Whether what was sent may be sent again under another key. In a table that has gone back, the number of a version comes again. A release
 * that sends more makes other calls.
 */
const isSentAgain = () => ledger.differedAt > 0 || hasCarrierMoved() || ledger.wentBackAt > 0 || isReleased();

const judgeReceipt = (request: string, { attachment, state, sent }: Item) => {
  if (ledger.wasCheckedOut || isUnseen()) return;
  // A receipt may be of the first carrier, after the order has moved to the second.
  const held = allCarts().map((cart) => cart.held[`${request}/${attachment}`]);
  const isTrue =
    state === "forwarded"
      ? held.some((one) => isSent(one, sent)) || (hasCarrierMoved() && ledger.deletedAt.has(String(attachment)))
      : state !== "withdrawn" || !cartNow().held[`${request}/${attachment}`];
  hold("a receipt is true", isTrue, `${attachment} under ${request} is ${state}`);
};

/** Every run that had the lock has an event of its end, and the events of a resource are in the order of their times. */
const judgeHistory = () => {
  const events = allItems().filter(({ sk }) => String(sk).startsWith("EVENT#"));
  const ended = new Set(
    events.flatMap(({ type, actor }) => (/^order\.check/.test(String(type)) ? [Object(actor).id] : [])),
  );
  for (const run of ledger.runs) hold("every run records its end", ended.has(run), run);
  const changes = events.filter(({ type }) => /\.(created|updated|deleted)$/.test(String(type)));
  for (const [id, all] of Map.groupBy(changes, ({ resource }) => String(Object(resource).id))) {
    const inTime = all.toSorted((one, other) => (String(one.at) < String(other.at) ? -1 : 1));
    const versions = inTime.map(({ resource }) => Number(Object(resource).version));
    const isInOrder = versions.every((version, index) => version >= (versions[index - 1] ?? 0));
    hold("events are in the order of their times", isInOrder, id);
  }
};

/** After the sweeps and TTL, nothing is left of deleted and incompletely stored attachments. */
export const judgeSwept = async (): Promise<void> => {
  const records = allItems().filter(({ sk }) => String(sk).startsWith("UNFINISHED_DELETE#"));
  hold("the sweep leaves nothing behind", records.length === 0, records.map(({ sk }) => sk).join());
  for (const { rule, at, detail } of await checkInvariants(new Date()))
    hold("the sweep leaves nothing behind", false, `${rule}: ${at}: ${detail}`);
};

/** Judges a customer's attempts to upload a letter of this name: their statuses, and whether they had one Idempotency-Key. */
export const judgeUpload = (name: string, statuses: readonly number[], isRepeatable: boolean): void => {
  const count = [...ledger.versions.values()].filter(([first]) => first?.name === name).length;
  const isRefused = statuses.every((status) => status === 404 || status === 422);
  hold("what was refused is not stored", !isRefused || count === 0, name);
  hold("an Idempotency-Key creates one attachment", !isRepeatable || count <= 1, name);
};

/** Judges a list that was requested after these items were stored. */
export const judgeList = (parent: string, before: readonly Item[], listed: ReadonlySet<string>): void => {
  for (const id of before.map(idOf))
    hold("a list has what was confirmed", listed.has(id) || ledger.deletedAt.has(id), `${id} of ${parent}`);
};
