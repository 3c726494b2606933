import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";
import { Readable, Writable } from "node:stream";
import { type Cart, type CartCall, emptyCart, forget, handleCall, Manifest } from "../../infra/local/carrier-carts.ts";
import { parseJson } from "../../infra/local/json-file.ts";
import type { Reply } from "../../infra/local/listen.ts";
import type { HttpResponse } from "../../shared/http-request.ts";
import { judgeCaller } from "./promises.ts";
import { beforeCall } from "./service.ts";
import {
  after,
  as,
  between,
  chance,
  currentTask,
  elapsed,
  faultOf,
  numbered,
  outside,
  pick,
  place,
  say,
  type Task,
} from "./world.ts";

/**
 * The carrier behind `http.request`, with the carts of `npm start`'s carrier. Calls act late or never, responses are lost or come from
 * somebody else, and an adapter function may be in front of it. It does everything that docs/carrier.md allows a carrier and the
 * gateways, proxies and pages in front of it, and nothing that the page excludes.
 *
 * What only a carrier that compares its cart with the manifest can repair happens only to one that does: see `onlyIfItCompares`. What
 * only the question can settle happens only if the answer to the question is always the carrier's own: see `onlyIfItCanSay`.
 */

/** The properties of a carrier throughout a schedule. */
export type Character = {
  /** Its response to every GET, if it cannot report whether a cart is checked out. */
  readonly cannotSay: Reply | undefined;
  /** Whether it compares its cart with the manifest, and whether it then lists what its cart has. */
  readonly compares: "and lists" | "only" | undefined;
  /** What it responds to the checkout of a cart. It may place the order some time after that. */
  readonly confirms: Reply;
  readonly placesLate: boolean;
  /** Whether every answer to the question is its own. Otherwise, a proxy may refuse the question. */
  readonly canAlwaysSay: boolean;
  /** The time at which the product gets another address: of another carrier, or another one of the same. */
  readonly movesAt: number | undefined;
  readonly isSame: boolean;
  /** The time at which it gets the first carrier's again. That one may have cleared its cart, and then comes back under a new name. */
  readonly movesBackAt: number | undefined;
  readonly hasCleared: boolean;
  /** The time from which a release that sends more is deployed. */
  readonly releasedAt: number | undefined;
  /** Whether it removes the letters that it refuses from its cart. */
  readonly drops: boolean;
  /** The time during which a page responds to every call, and that response. */
  readonly maintenance: { readonly from: number; readonly to: number; readonly reply: Reply } | undefined;
  /** Its response to a DELETE of an attachment that it does not have. */
  readonly gone: Reply;
  /** Whether it refuses a call with 409 while it processes another with the same key. */
  readonly guardsKeys: boolean;
  /** Its response to the checkout of a cart that has a file with this hash, which the customer has to replace. */
  readonly refusal: { readonly sha256: string; readonly reply: Reply } | undefined;
  readonly isAdapted: boolean;
  /** The length of a phase in which all calls of a method have the same fault. Without phases, each call has its own fault. */
  readonly phaseMs: number | undefined;
  /** Whether it sometimes sends Retry-After. */
  readonly saysWhen: boolean;
};

type Callbacks = {
  readonly onCalled: (call: CartCall, named: string) => void;
  readonly onAnswered: (task: Task, call: CartCall, reply: Reply) => void;
  /** Called after a call has acted on a cart, with the cart before it and the time of its beginning. */
  readonly onActed: (call: CartCall, reply: Reply, cart: Cart, before: Cart, begunAt: number) => void;
  /** Called when the carrier refuses an attachment. */
  readonly onRefused: (place: string) => void;
  /** Replaces the ids in a path with names. */
  readonly nameOf: (path: string) => string;
};

const newCarrier = (character: Character, callbacks: Callbacks, cart = emptyCart()) => ({
  ...callbacks,
  character,
  /** The cart of the carrier at each address. */
  carts: [cart, character.isSame ? cart : emptyCart()] as const,
  /** The carts whose order is being placed. */
  placing: new Set<Cart>(),
  /** A copy of the cart, to which it may be restored. */
  backup: undefined as Cart | undefined,
  hasLied: false,
  hasDropped: false,
  /** Whether it has had a fault other than a delay. */
  hasFailed: false,
  /** The tasks whose last attempt got a 2xx to a GET that does not report whether the cart is checked out. */
  saidNothingTo: new WeakSet<Task>(),
  /** The letters that the last response to a task has refused. */
  refusedTo: new WeakMap<Task, readonly string[]>(),
  connections: new Map<string, { second: HttpResponse | undefined }>(),
  /** The calls in progress, by path and key. */
  processing: new Set<string>(),
});

let carrier: ReturnType<typeof newCarrier>;

export const beginCarrier = (character: Character, callbacks: Callbacks): void => {
  carrier = newCarrier(character, callbacks);
  const { movesBackAt, hasCleared, isSame } = character;
  const [first] = carrier.carts;
  if (movesBackAt !== undefined && hasCleared && !isSame)
    after(movesBackAt, () => first.checked_out || forget(first), outside);
};

/** The name of the carrier whose address a task has. */
export const carrierNameOf = (task: Task): string => {
  const { isSame = true, hasCleared, movesBackAt = Number.POSITIVE_INFINITY } = carrier?.character ?? {};
  if (isSame) return "carrier";
  if (addressOf(task) === 1) return "carrier-2";
  return hasCleared && task.startedAt >= movesBackAt ? "carrier-3" : "carrier";
};

/**
 * The number of the carrier whose address a task has. For five minutes after a deployment, functions may have either. Back and forth, the
 * receipts lose sight of what the other carrier has, so only carriers that compare survive it.
 */
export const addressOf = ({ name, startedAt }: Task): 0 | 1 => {
  const { movesAt = Number.POSITIVE_INFINITY, movesBackAt = Number.POSITIVE_INFINITY } = carrier?.character ?? {};
  if (startedAt < movesAt || startedAt >= movesBackAt) return 0;
  const isOver = startedAt > movesAt + (carrier.character.compares ? 300_000 : 0);
  return isOver || chance(`${name} is new`) < 0.5 ? 1 : 0;
};

/** Whether a task is of a release that sends more. For five minutes after its deployment, functions may be of either. */
export const isOfLaterRelease = ({ name, startedAt }: Task): boolean => {
  const { releasedAt = Number.POSITIVE_INFINITY } = carrier?.character ?? {};
  return startedAt >= releasedAt && (startedAt > releasedAt + 300_000 || chance(`${name} is later`) < 0.5);
};

export const isReleased = (): boolean => elapsed() >= (carrier.character.releasedAt ?? Number.POSITIVE_INFINITY);

export const hasCarrierMoved = (): boolean =>
  !carrier.character.isSame && elapsed() > (carrier.character.movesAt ?? Number.POSITIVE_INFINITY);

const isAtSecond = () => hasCarrierMoved() && elapsed() < (carrier.character.movesBackAt ?? Number.POSITIVE_INFINITY);

/** The cart that is checked out or, if there is none, the one at the last address. */
export const cartNow = (): Cart => {
  const [first, second] = carrier.carts;
  return second.checked_out || (isAtSecond() && !first.checked_out) ? second : first;
};

/** The carts of all carriers. */
export const allCarts = (): readonly Cart[] => carrier.carts;

/** Whether it does not tell what its cart has, so that nobody can withdraw what the table does not know. */
export const isCarrierSilent = (): boolean => carrier.character.compares === "only";

export const hasCarrierFailed = (): boolean => carrier.hasFailed;

export const isCarrierAdapted = (): boolean => carrier?.character.isAdapted ?? false;

/** Whether it has denied that a checked-out cart is checked out. */
export const hasCarrierLied = (): boolean => carrier.hasLied;

/** Whether nobody can tell whether an earlier call has checked out the cart from which it has dropped letters. */
export const isUnknown = (): boolean => {
  const { cannotSay, canAlwaysSay } = carrier.character;
  return carrier.hasDropped && (cannotSay !== undefined || !canAlwaysSay);
};

/** Whether somebody else's words may have confirmed what it was not asked to compare, because its cart takes nothing more. */
export const isUnseen = (): boolean => carrier.hasLied && carrier.character.compares !== undefined;

export const hasCarrierSaidNothingTo = (task: Task): boolean => carrier.saidNothingTo.has(task);

/** The faults of an attempt. A gateway's or proxy's response may come before the carrier acts, or without the carrier acting. */
const kinds = [
  "no connection",
  "broken before",
  "broken after",
  "broken, acts late",
  "no response",
  "no response, acts late",
  "no response, never acts",
  "unavailable",
  "unavailable after",
  "unavailable, acts late",
  "429",
  "redirect",
  "a proxy's refusal",
  "refusal",
  "a page",
  "a page after",
  "a 202",
  "a foreign 2xx",
  "a foreign 404",
  "a foreign 409",
  "answers twice",
  "delayed",
] as const;

/** Faults that leave the cart wrong without anybody's knowledge, until the carrier compares it with the manifest. */
const onlyIfItCompares = ["acts hours later", "a foreign 2xx", "a foreign 404"] as const;

const isPossible = (fault: (typeof kinds)[number] | "acts hours later", method: Method) => {
  const { compares, canAlwaysSay, cannotSay, maintenance } = carrier.character;
  const isOnePut = method === "PUT" || method === "DELETE";
  if (onlyIfItCompares.some((one) => one === fault)) return isOnePut && compares !== undefined;
  const says = canAlwaysSay && !cannotSay && !maintenance;
  if (fault === "a foreign 409") return method !== "GET" && (method !== "POST" || says);
  if (method === "GET" && canAlwaysSay) return fault !== "a proxy's refusal" && fault !== "refusal";
  return true;
};

const timeoutMs = 30_000;

const failed = (code: string) => Object.assign(new Error(code), { code });

/** A body that is a text comes from a proxy. */
const responseOf = ({ status, body, headers = {} }: Reply): HttpResponse => ({
  status,
  headers,
  text: status === 204 ? "" : typeof body === "string" ? body : JSON.stringify(body),
});

/** Lets a call act now. */
const act = (call: Call, begunAt: number): Reply => {
  const { character, placing } = carrier;
  const { cart } = call;
  const isOpen = !cart.checked_out;
  if (placing.has(cart) && call.method !== "POST") return { status: 409, body: { error: "the order is being placed" } };
  // A carrier that compares does so before it looks at the letters.
  if (call.method === "POST" && isOpen && isSame(call)) {
    const refused = refusedIn(cart);
    if (refused) return refused;
    if (character.placesLate) return placeLater(call, begunAt);
  }
  const isGone = call.method === "DELETE" && isOpen && !(placeIn(call.path) in cart.held);
  if (isGone && character.gone.status !== 200) return character.gone;
  return actNow(call, begunAt);
};

const isSame = (call: Call) => !call.manifest || handleCall(structuredClone(call.cart), call).status !== 412;

const actNow = (call: Call, begunAt: number): Reply => {
  const { cart } = call;
  const before = { ...cart, held: { ...cart.held } };
  const reply = handleCall(cart, call);
  carrier.onActed(call, reply, cart, before, begunAt);
  if (reply.status === 412) return carrier.character.compares === "only" ? { status: 412, body: null } : reply;
  return call.method === "POST" && reply.status === 200 ? carrier.character.confirms : reply;
};

/** Responds that it has not placed the order yet, and places it within the time of a call. */
const placeLater = (call: Call, begunAt: number): Reply => {
  const { placing, character } = carrier;
  if (!placing.has(call.cart)) {
    placing.add(call.cart);
    const place = () => {
      placing.delete(call.cart);
      const { status } = actNow(call, begunAt);
      say(() => `the order is placed: ${status}`);
    };
    // A call whose response is lost may act for as long as its timeout was, and no longer.
    after(between("placed", 1_000, Math.max(1_001, begunAt + timeoutMs - elapsed())), place, outside);
  }
  return character.confirms;
};

/** Refuses the checkout of a cart that has the refused letter, and perhaps says which it is. */
const refusedIn = ({ held }: Cart): Reply | undefined => {
  const { refusal } = carrier.character;
  const refused = Object.values(held).filter(({ sha256 }) => sha256 === refusal?.sha256);
  if (!refusal || refused.length === 0) return undefined;
  const { status, body } = refusal.reply;
  if (!("attachments" in Object(body))) return refusal.reply;
  const own = chance("a verdict has a reason") < 0.5 && { reason: "It is not signed." };
  const attachments = refused.map(({ request_id, attachment_id: id }) => ({ request_id, id, ...own }));
  for (const { request_id, id } of attachments) {
    carrier.onRefused(`${request_id}/${id}`);
  }
  if (carrier.character.drops && carrier.character.compares)
    for (const { request_id, id } of attachments) delete held[`${request_id}/${id}`];
  return { status, body: { ...Object(body), attachments } };
};

/**
 * Drops what a carrier that does not compare its cart has refused, once the task with its response writes something, even if the write
 * is refused. If the response is lost, nothing shows what is missing.
 */
export const dropRefused = (task: Task): void => {
  const { character, refusedTo, carts } = carrier;
  const places = refusedTo.get(task);
  refusedTo.delete(task);
  if (!places || !character.drops || character.compares) return;
  carrier.hasDropped = true;
  for (const { held } of carts) for (const place of places) delete held[place];
};

const placesIn = ({ body }: Reply): string[] =>
  (Object(body).attachments ?? []).map((one: { request_id: string; id: string }) => `${one.request_id}/${one.id}`);

const placeIn = (path: string) => path.replace(/^.*\/requests\/(\w+)\/attachments\/(\w+)$/, "$1/$2");

const copyOf = (cart: Cart): Cart => structuredClone(cart);

/** Sometimes, a carrier that compares loses the cart that is open, or restores it to an earlier state. */
export const loseCarts = (longest: number): void => {
  if (!carrier.character.compares) return;
  const [cart] = carrier.carts;
  for (const time of ["once", "again"]) {
    const isBackup = chance(`${time} a backup`) < 0.5;
    const ms = between(`${time} lost at`, 100, longest);
    const copy = () => {
      carrier.backup = copyOf(cart);
    };
    after(ms * chance(`${time} copied at`), copy, outside);
    const lose = () => {
      if (cart.checked_out || carrier.placing.has(cart)) return;
      if (!faultOf("carrier", `cart, ${time}`, ["loses its cart"])) return;
      say(() => `the carrier ${isBackup ? "restores" : "loses"} its cart`);
      if (isBackup && carrier.backup && !carrier.backup.checked_out) Object.assign(cart, copyOf(carrier.backup));
      else forget(cart);
    };
    after(ms, lose, outside);
  }
};

/** Responses that do not report whether the cart is checked out. */
export const unusable = [
  { status: 200, body: { ok: true } },
  { status: 200, body: { checked_out: "true" } },
  { status: 200, body: "<html>" },
  { status: 204, body: null },
] as const satisfies readonly Reply[];

const answerToTheQuestion = (phase: string, cart: Cart): Reply => {
  const fault = faultOf("carrier GET", phase, ["unusable answer", "lie"]);
  const silence =
    fault === "unusable answer" ? pick<Reply>(`${phase} unusable`, unusable) : carrier.character.cannotSay;
  if (silence) return silence;
  return { status: 200, body: { checked_out: isCheckedOut(cart, fault === "lie") } };
};

/** Whether a cart is checked out, according to the carrier or its support. They deny it once, if `isDenied`. */
export const isCheckedOut = ({ checked_out }: Cart, isDenied: boolean): boolean => {
  const isLie = isDenied && checked_out && !carrier.hasLied;
  carrier.hasLied ||= isLie;
  return checked_out && !isLie;
};

type Method = "GET" | "PUT" | "DELETE" | "POST";
type Call = CartCall & {
  readonly method: Method;
  readonly cart: Cart;
  /** The body of a POST, which a carrier that does not compare its cart ignores. */
  readonly listed: string;
};

/** A gateway's status for a carrier that has not responded, or not yet. It is nearly always the same. */
const gatewayStatus = (named: string) =>
  pick(chance(`${named} by another gateway`) < 0.1 ? named : "the gateway says", [500, 502, 503, 504, 408]);

/** A proxy's refusal of a call that has not reached the carrier. To a DELETE, a 404 or 410 with a JSON body is the carrier's own. */
const proxyRefusal = (named: string, { method }: Call): Reply => {
  const status = pick(`${named} status`, [400, 401, 403, 404, 405, 410, 413, 418, ...(method === "GET" ? [501] : [])]);
  const isHtml = chance(`${named} HTML`) < 0.5 || (method === "DELETE" && (status === 404 || status === 410));
  // A word about the token is never one about a letter.
  const reason = (status === 401 || status === 407) && { reason: "The token has expired." };
  return { status, body: isHtml ? "<html>" : { message: "Forbidden", ...reason } };
};

const page = (status: number): Reply => ({ status, body: "<html>" });

/** The conflict of a CDN, of a scan that is not over, of something else. With a reason, it is a page's only where nobody can ask. */
const foreignConflict = (named: string): Reply => ({
  status: 409,
  body: pick<unknown>(`${named} conflict`, [
    "error code: 1001",
    { error: "documents are still being scanned" },
    { reason: "Your documents are still being scanned." },
  ]),
});

/** A refusal by the carrier itself, or its complaint about the form of the call. A 409 leaves open whether the cart is checked out. */
const refusal = (named: string, call: Call): Reply => {
  const status = pick(`${named} status`, [422, 400, 403, 409]);
  if (chance(`${named} reason`) > 0.8 && status !== 409) return { status: 422, body: { detail: "not yet" } };
  if (status !== 409) carrier.onRefused(placeIn(call.path));
  return { status, body: { reason: "The letter is not signed." } };
};

/** One attempt of a call whose body has arrived. `signal` aborts when the caller gives up. */
const attempt = (named: string, call: Call, signal: AbortSignal, where: string) =>
  new Promise<HttpResponse>((resolve, reject) => {
    const task = currentTask();
    const begunAt = elapsed();
    const { character, processing, onCalled } = carrier;
    const { phaseMs, maintenance } = character;
    const phase = phaseMs ? `${call.method} in phase ${Math.ceil(elapsed() / phaseMs)}` : named;
    const possible = kinds.filter((kind) => isPossible(kind, call.method));
    const isLate = isPossible("acts hours later", call.method);
    const fault = faultOf(`carrier ${call.method}`, phase, isLate ? [...possible, "acts hours later"] : possible);
    if (fault && fault !== "delayed") carrier.hasFailed = true;
    carrier.saidNothingTo.delete(task);
    judgeCaller(task, call, call.listed);
    onCalled(call, named);
    const travel = (way: string) => between(`${named} ${way}`, 2, 60);
    const line = (what: string) => say(() => `${named}${fault ? `, ${fault}` : ""}: ${what}${where}`);
    signal.addEventListener("abort", () => reject(signal.reason));
    const fail = (error: Error, ms = travel("back")) => {
      line(error.message);
      after(ms, () => reject(error), task);
    };
    const answer = (reply: Reply, ms = travel("back")) => {
      line(String(reply.status));
      const arrive = () => {
        if (signal.aborted) return;
        const isUsable = typeof Object(reply.body).checked_out === "boolean";
        if (call.method === "GET" && reply.status < 300 && !isUsable) carrier.saidNothingTo.add(task);
        carrier.onAnswered(task, call, reply);
        if (call.method === "POST" && reply.status === 422) carrier.refusedTo.set(task, placesIn(reply));
        resolve(responseOf(reply));
      };
      after(ms, arrive, task);
    };
    const key = `${carrier.carts.indexOf(call.cart)} ${call.method} ${call.path} ${call.idempotencyKey}`;
    const isGuarded = character.guardsKeys && call.method !== "GET";
    const isInProgress = isGuarded && processing.has(key);
    const respond = (): Reply => {
      if (isInProgress) return { status: 409, body: { error: "a request with this Idempotency-Key is in progress" } };
      processing.delete(key);
      return call.method === "GET" ? answerToTheQuestion(phase, call.cart) : act(call, begunAt);
    };
    const acts = (ms: number, then: (reply: Reply) => void) => {
      if (!isInProgress) processing.add(key);
      after(isInProgress ? travel("there") : ms, () => then(respond()), outside);
    };
    /** Lets the call act, or end in vain, some time after its caller has given it up, or would have if the caller still ran. */
    const later = (from: number, longest = timeoutMs) => {
      let isUnderWay = isInProgress;
      if (!isInProgress && longest === timeoutMs) processing.add(key);
      const begin = () => {
        if (isUnderWay) return;
        isUnderWay = true;
        const ends = () =>
          chance(`${named} in vain`) < 0.3 ? processing.delete(key) : line(`acts, ${respond().status}`);
        const isHoursLate = longest > timeoutMs;
        const ms = isHoursLate
          ? between(`${named} late`, timeoutMs, longest)
          : longest * Math.sqrt(chance(`${named} late`));
        after(ms, ends, outside);
      };
      after(from, begin, outside);
      signal.addEventListener("abort", begin);
    };
    const isClosed = maintenance && elapsed() >= maintenance.from && elapsed() < maintenance.to;
    if (isClosed && faultOf("carrier", `maintenance of ${call.method}`, ["maintenance"]))
      return answer(maintenance.reply);
    switch (fault) {
      case "no connection":
        return fail(failed("ECONNREFUSED"));
      case "broken before":
        return fail(failed("ECONNRESET"));
      case "broken after":
        return acts(travel("there"), () => fail(failed("ECONNRESET")));
      case "broken, acts late": {
        const broken = timeoutMs * chance(`${named} broken`);
        later(broken);
        return fail(failed("ECONNRESET"), broken);
      }
      case "no response":
        return acts(timeoutMs * chance(`${named} acts`), ({ status }) => line(`acts, ${status}`));
      case "no response, acts late":
        return later(timeoutMs);
      case "no response, never acts":
        return line("never arrives");
      case "unavailable":
        return answer({ status: gatewayStatus(named), body: {}, headers: retryAfter(named) });
      case "unavailable after":
        return acts(travel("there"), () => answer({ status: gatewayStatus(named), body: {} }));
      case "unavailable, acts late": {
        const ms = travel("there");
        later(ms);
        return void after(ms, () => answer({ status: gatewayStatus(named), body: {} }), outside);
      }
      case "429":
        return answer({ status: 429, body: {}, headers: retryAfter(named) });
      case "redirect":
        return answer({ status: pick(`${named} status`, [301, 302, 303, 307, 308]), body: "<html>" });
      case "a proxy's refusal":
        return answer(proxyRefusal(named, call));
      case "refusal":
        // The carrier's own refusal is true, because it has not acted. A checked-out cart refuses with 409 instead.
        if (!call.cart.checked_out || call.method === "GET") return answer(refusal(named, call));
        break;
      case "a page":
        return answer(page(200));
      case "a page after":
        return acts(travel("there"), () => answer(page(pick(`${named} page`, [200, 201, 202, 203]))));
      case "a 202":
        return answer({ status: 202, body: pick<unknown>(`${named} 202`, [{ status: "queued" }, null, "<html>"]) });
      case "a foreign 2xx":
        return answer({ status: pick(`${named} 2xx`, [200, 201, 204]), body: { ok: true } });
      case "a foreign 404":
        return answer({ status: 404, body: { message: "Not Found" } });
      case "a foreign 409":
        return answer(foreignConflict(named));
      case "answers twice":
        return acts(travel("there"), (reply) => {
          keptBy(task, call.cart).second ??= responseOf(reply);
          answer(reply);
        });
      case "acts hours later":
        later(timeoutMs, 5 * 3_600_000);
        return fail(failed("ECONNRESET"), timeoutMs * chance(`${named} broken`));
      case "delayed": {
        const ms = between(`${named} delay`, 100, timeoutMs * 0.9);
        const there = ms * chance(`${named} delay there`);
        return acts(there, (reply) => answer(reply, ms - there));
      }
    }
    acts(travel("there"), answer);
  });

const retryAfter = (named: string): Record<string, string> => {
  const seconds = Math.floor(between(`${named} retry after`, 1, 300));
  return carrier.character.saysWhen && chance(`${named} says when`) < 0.5 ? { "Retry-After": String(seconds) } : {};
};

/** The parts of a form that the carrier reads: the metadata, and the size and the hash of the file. */
const formOf = (body: Buffer) => {
  const end = body.indexOf("\r\n");
  const boundary = body.subarray(0, end);
  const second = body.indexOf(boundary, end);
  const metadata = body.subarray(body.indexOf("\r\n\r\n") + 4, second - 2).toString();
  const file = body.subarray(body.indexOf("\r\n\r\n", second) + 4, body.lastIndexOf(boundary) - 2);
  return { metadata, bytes: file.length, sha256: createHash("sha256").update(file).digest("hex") };
};

const methodOf = (method: unknown): Method => {
  if (method === "GET" || method === "PUT" || method === "DELETE" || method === "POST") return method;
  throw new Error(`The simulated carrier does not know ${method}.`);
};

type Sent = { readonly method: string; readonly headers: Readonly<Record<string, string>>; readonly body: Buffer };

/** A call of the protocol, or the event of an adapter function. */
const callOf = ({ host, pathname: path }: URL, { method, headers, body }: Sent): Call => {
  const { isAdapted, compares } = carrier.character;
  const [first, second] = carrier.carts;
  const cart = `${host}${path}`.includes("-2") ? second : first;
  if (!isAdapted) {
    const form = method === "PUT" ? formOf(body) : undefined;
    const listed = method === "POST" ? body.toString() : "";
    const manifest = compares && listed ? (parseJson(Manifest, listed) ?? null) : undefined;
    const idempotencyKey = headers["Idempotency-Key"] ?? null;
    return { method: methodOf(method), path, cart, idempotencyKey, form, manifest, listed };
  }
  const event = JSON.parse(body.toString());
  const form = event.file && { ...event.file, metadata: JSON.stringify(event.body) };
  const listed = event.method === "POST" ? JSON.stringify(event.body) : "";
  return {
    method: methodOf(event.method),
    path: event.path,
    cart,
    idempotencyKey: event.headers["Idempotency-Key"] ?? null,
    form,
    manifest: compares && listed ? (parseJson(Manifest, listed) ?? null) : undefined,
    listed,
  };
};

/** The connection to a carrier that the processes of a function keep, on which there may be a second response to an earlier call. */
const keptBy = ({ name }: Task, cart: Cart) => {
  const key = `${carrier.carts.indexOf(cart)} ${name.replace(/^.*: (\w+).*$/, "$1")}`;
  const kept = carrier.connections.get(key) ?? { second: undefined };
  carrier.connections.set(key, kept);
  return kept;
};

const send = async (url: URL, sent: Sent, signal: AbortSignal, isKept: boolean): Promise<HttpResponse> => {
  const where = place();
  const call = callOf(url, sent);
  const connection = keptBy(currentTask(), call.cart);
  const { second } = connection;
  connection.second = undefined;
  const named = numbered(`${call.method} ${carrier.nameOf(call.path)}`);
  if (carrier.character.isAdapted) return invokeAdapter(named, call, signal, where);
  const response = attempt(named, call, signal, where);
  if (!isKept || !second) return response;
  say(() => `${named} gets the second response to an earlier call`);
  response.catch(() => {});
  return second;
};

/** Returns Lambda's response to an invocation of the adapter. The adapter fails if its own call fails. */
const invokeAdapter = async (named: string, call: Call, signal: AbortSignal, where: string): Promise<HttpResponse> => {
  const fault = faultOf("adapter", named, ["throttled", "unavailable"]);
  if (fault) return { status: fault === "throttled" ? 429 : 500, headers: {}, text: "" };
  const result = await attempt(named, call, signal, where).then(
    ({ text: body, ...response }) => ({ ...response, body }),
    (error: Error) => ({ errorMessage: error.message }),
  );
  return { status: 200, headers: {}, text: JSON.stringify(result) };
};

type RequestOptions = Pick<Sent, "method" | "headers"> & { readonly signal: AbortSignal; readonly agent?: false };

/** Replaces `http.request`. A call arrives once its whole body is written. */
export const requestCarrier = (url: URL, { method, headers, signal, agent }: RequestOptions): Writable => {
  const chunks: Buffer[] = [];
  const task = currentTask();
  const outgoing = new Writable({
    // Once the body is written, the connection can still break.
    autoDestroy: false,
    write: (chunk, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  const socket = new EventEmitter();
  // A slow process takes its time until it is connected. What it has written after that is on its way, whatever becomes of it.
  const connect = async () => {
    outgoing.emit("socket", socket);
    await beforeCall(numbered(`connect ${carrier.nameOf(url.pathname)}`));
    if (!outgoing.destroyed) socket.emit(url.protocol === "https:" ? "secureConnect" : "connect");
  };
  process.nextTick(() => void as(task, connect));
  const abort = () => outgoing.destroy(Object.assign(failed("ABORT_ERR"), { name: "AbortError" }));
  signal.addEventListener("abort", abort);
  const respond = ({ status: statusCode, headers: received, text }: HttpResponse) => {
    const headersDistinct = Object.fromEntries(
      Object.entries(received).map(([name, value]) => [name.toLowerCase(), [value]]),
    );
    const incoming = Object.assign(new Readable({ read: () => {} }), { statusCode, headersDistinct });
    incoming.push(Buffer.from(text));
    incoming.push(null);
    outgoing.emit("response", incoming);
  };
  outgoing.on("finish", () => {
    const sent = { method, headers, body: Buffer.concat(chunks) };
    as(task, () => send(url, sent, signal, agent !== false)).then(respond, (error: Error) => outgoing.destroy(error));
  });
  return outgoing;
};
