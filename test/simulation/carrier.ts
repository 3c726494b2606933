import { createHash } from "node:crypto";
import { EventEmitter } from "node:events";
import { Readable, Writable } from "node:stream";
import { type Cart, type CartCall, emptyCart, handleCall } from "../../infra/local/carrier-carts.ts";
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
 * a proxy, and an adapter function may be in front of it. It does everything that docs/carrier.md allows a carrier and the gateways
 * and proxies in front of it, and nothing that the page excludes.
 */

/** The properties of a carrier throughout a schedule. */
export type Character = {
  /** Its response to every GET, if it cannot report whether a cart is checked out. */
  readonly cannotSay: Reply | undefined;
  /** Its status for a DELETE of an attachment that it does not have. */
  readonly gone: number;
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
  /** Called after a call has acted, with the cart before it and the time of its beginning. */
  readonly onActed: (call: CartCall, reply: Reply, before: Cart, begunAt: number) => void;
  /** Replaces the ids in a path with names. */
  readonly nameOf: (path: string) => string;
};

const newCarrier = (character: Character, callbacks: Callbacks) => ({
  ...callbacks,
  character,
  cart: emptyCart(),
  hasLied: false,
  /** The tasks whose last attempt got a 2xx to a GET that does not report whether the cart is checked out. */
  saidNothingTo: new WeakSet<Task>(),
  /** The calls in progress, by path and key. */
  processing: new Set<string>(),
});

let carrier: ReturnType<typeof newCarrier>;

export const beginCarrier = (character: Character, callbacks: Callbacks): void => {
  carrier = newCarrier(character, callbacks);
};

export const cartNow = (): Cart => carrier.cart;

/** Whether it has denied that a checked-out cart is checked out. */
export const hasCarrierLied = (): boolean => carrier.hasLied;

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
  "delayed",
] as const;

const timeoutMs = 30_000;

const failed = (code: string) => Object.assign(new Error(code), { code });

/** A body that is a text comes from a proxy. */
const responseOf = ({ status, body, headers = {} }: Reply): HttpResponse => ({
  status,
  headers,
  text: status === 204 ? "" : typeof body === "string" ? body : JSON.stringify(body),
});

/** Lets a call act now. */
const act = (call: CartCall, begunAt: number): Reply => {
  const { cart, character, onActed } = carrier;
  const { refusal } = character;
  const isRefused = Object.values(cart.held).some(({ sha256 }) => sha256 === refusal?.sha256);
  if (refusal && isRefused && call.method === "POST" && !cart.checked_out) return refusal.reply;
  const isGone = call.method === "DELETE" && !cart.checked_out && !(placeIn(call.path) in cart.held);
  if (isGone && character.gone !== 200) return { status: character.gone, body: { error: "not found" } };
  const before = { ...cart, held: { ...cart.held } };
  const reply = handleCall(cart, call);
  onActed(call, reply, before, begunAt);
  return reply;
};

const placeIn = (path: string) => path.replace(/^.*\/requests\/(\w+)\/attachments\/(\w+)$/, "$1/$2");

/** Responses that do not report whether the cart is checked out. */
export const unusable = [
  { status: 200, body: { ok: true } },
  { status: 200, body: { checked_out: "true" } },
  { status: 200, body: "<html>" },
  { status: 204, body: null },
] as const satisfies readonly Reply[];

const answerToTheQuestion = (phase: string): Reply => {
  const fault = faultOf("carrier GET", phase, ["unusable answer", "lie"]);
  const silence =
    fault === "unusable answer" ? pick<Reply>(`${phase} unusable`, unusable) : carrier.character.cannotSay;
  if (silence) return silence;
  return { status: 200, body: { checked_out: isCheckedOut(fault === "lie") } };
};

/** Whether the cart is checked out, according to the carrier or its support. They deny it once, if `isDenied`. */
export const isCheckedOut = (isDenied: boolean): boolean => {
  const { checked_out } = carrier.cart;
  const isLie = isDenied && checked_out && !carrier.hasLied;
  carrier.hasLied ||= isLie;
  return checked_out && !isLie;
};

type Method = "GET" | "PUT" | "DELETE" | "POST";
type Call = CartCall & { readonly method: Method };

/** A gateway's status for a carrier that has not responded, or not yet. It is nearly always the same. */
const gatewayStatus = (named: string) =>
  pick(chance(`${named} by another gateway`) < 0.1 ? named : "the gateway says", [500, 502, 503, 504, 408]);

/** A proxy's refusal of a call that has not reached the carrier. To a DELETE, a 404 or 410 with a JSON body is the carrier's own. */
const proxyRefusal = (named: string, { method }: Call): Reply => {
  const status = pick(`${named} status`, [400, 401, 403, 404, 405, 410, 413, 418, ...(method === "GET" ? [501] : [])]);
  const isHtml = chance(`${named} HTML`) < 0.5 || (method === "DELETE" && (status === 404 || status === 410));
  return { status, body: isHtml ? "<html>" : { message: "Forbidden" } };
};

/** A refusal by the carrier itself: a 422, or a 4xx with a reason. A 409 leaves open whether the cart is checked out. */
const refusal = (named: string): Reply => {
  const status = pick(`${named} status`, [422, 400, 403, 409]);
  return chance(`${named} reason`) < 0.5
    ? { status, body: { reason: "The letter is not signed." } }
    : { status: 422, body: { error: "not yet" } };
};

/** One attempt of a call whose body has arrived. `signal` aborts when the caller gives up. */
const attempt = (named: string, call: Call, signal: AbortSignal, where: string) =>
  new Promise<HttpResponse>((resolve, reject) => {
    const task = currentTask();
    const begunAt = elapsed();
    const { character, processing, onCalled } = carrier;
    const { phaseMs } = character;
    const phase = phaseMs ? `${call.method} in phase ${Math.ceil(elapsed() / phaseMs)}` : named;
    const fault = faultOf(`carrier ${call.method}`, phase, kinds);
    carrier.saidNothingTo.delete(task);
    judgeCaller(task, call);
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
        resolve(responseOf(reply));
      };
      after(ms, arrive, task);
    };
    const key = `${call.method} ${call.path} ${call.idempotencyKey}`;
    const isGuarded = character.guardsKeys && call.method !== "GET";
    const isInProgress = isGuarded && processing.has(key);
    const respond = (): Reply => {
      if (isInProgress) return { status: 409, body: { error: "a request with this Idempotency-Key is in progress" } };
      processing.delete(key);
      return call.method === "GET" ? answerToTheQuestion(phase) : act(call, begunAt);
    };
    const acts = (ms: number, then: (reply: Reply) => void) => {
      if (!isInProgress) processing.add(key);
      after(isInProgress ? travel("there") : ms, () => then(respond()), outside);
    };
    /** Lets the call act, or end in vain, some time after its caller has given it up, or would have if the caller still ran. */
    const later = (from: number) => {
      let isUnderWay = isInProgress;
      if (!isInProgress) processing.add(key);
      const begin = () => {
        if (isUnderWay) return;
        isUnderWay = true;
        const ends = () =>
          chance(`${named} in vain`) < 0.3 ? processing.delete(key) : line(`acts, ${respond().status}`);
        after(timeoutMs * Math.sqrt(chance(`${named} late`)), ends, outside);
      };
      after(from, begin, outside);
      signal.addEventListener("abort", begin);
    };
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
        if (!carrier.cart.checked_out || call.method === "GET") return answer(refusal(named));
        break;
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
const callOf = (path: string, { method, headers, body }: Sent): Call => {
  if (!carrier.character.isAdapted) {
    const form = method === "PUT" ? formOf(body) : undefined;
    return { method: methodOf(method), path, idempotencyKey: headers["Idempotency-Key"] ?? null, form };
  }
  const event = JSON.parse(body.toString());
  const form = event.file && { ...event.file, metadata: JSON.stringify(event.body) };
  return {
    method: methodOf(event.method),
    path: event.path,
    idempotencyKey: event.headers["Idempotency-Key"] ?? null,
    form,
  };
};

const send = async (path: string, sent: Sent, signal: AbortSignal): Promise<HttpResponse> => {
  const where = place();
  const call = callOf(path, sent);
  const named = numbered(`${call.method} ${carrier.nameOf(call.path)}`);
  return carrier.character.isAdapted ? invokeAdapter(named, call, signal, where) : attempt(named, call, signal, where);
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

type RequestOptions = Pick<Sent, "method" | "headers"> & { readonly signal: AbortSignal };

/** Replaces `http.request`. A call arrives once its whole body is written. */
export const requestCarrier = (url: URL, { method, headers, signal }: RequestOptions): Writable => {
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
    outgoing.emit("response", Object.assign(Readable.from([Buffer.from(text)]), { statusCode, headersDistinct }));
  };
  outgoing.on("finish", () => {
    const sent = { method, headers, body: Buffer.concat(chunks) };
    as(task, () => send(url.pathname, sent, signal)).then(respond, (error: Error) => outgoing.destroy(error));
  });
  return outgoing;
};
