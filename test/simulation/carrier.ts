import { createHash } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { type Cart, type CartCall, emptyCart, handleCall, type Reply } from "../../infra/local/carrier-carts.ts";
import type { HttpResponse } from "../../shared/checkout/http-request.ts";
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
} from "./world.ts";

/**
 * The carrier behind `http.request`: the carts of `npm start`'s carrier, with calls that act late or never, responses that are lost or
 * come from a proxy, and an adapter function in front of it, if there is one.
 */

/** What stays the same about a carrier in a schedule. */
export type Character = {
  /** How it answers whether a cart is checked out, if it cannot say. */
  readonly cannotSay: number | undefined;
  /** How it refuses to check out a cart that has a file with this hash, if there is one: the customer has to replace it. */
  readonly refusal: { readonly sha256: string; readonly reply: Reply } | undefined;
  readonly isAdapted: boolean;
  /** How long all calls of a method have the same fault, if faults are those of phases and not of single calls. */
  readonly phaseMs: number | undefined;
  /** Whether it says with Retry-After, sometimes, when it will be available. */
  readonly saysWhen: boolean;
};

type Callbacks = {
  /** When a call has arrived. */
  readonly onCalled: (call: CartCall, named: string) => void;
  /** Before and after a call has acted. */
  readonly onActed: (call: CartCall, reply: Reply, before: Cart) => void;
  /** Ids do not say what they are of. */
  readonly nameOf: (path: string) => string;
};

let cart: Cart = emptyCart();
let character: Character = {
  cannotSay: undefined,
  refusal: undefined,
  isAdapted: false,
  phaseMs: undefined,
  saysWhen: true,
};
let callbacks: Callbacks = { onCalled: () => {}, onActed: () => {}, nameOf: (path) => path };
let hasLied = false;

export const beginCarrier = (of: Character, toCall: Callbacks): void => {
  cart = emptyCart();
  character = of;
  callbacks = toCall;
  hasLied = false;
};

export const cartNow = (): Cart => cart;

/** Whether it has denied once that the cart is checked out. */
export const hasCarrierLied = (): boolean => hasLied;

/** What an attempt leads to, besides a response in time. A proxy's response may come before the carrier acts, or in its place. */
const kinds = [
  "no connection",
  "broken before",
  "broken after",
  "broken, acts late",
  "no response",
  "no response, acts late",
  "no response, never acts",
  "500",
  "503",
  "429",
  "408",
  "500 after",
  "504, acts late",
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

/** Lets a call act now. The attachments of a cart's document are of no interest here. */
const act = (call: CartCall): Reply => {
  const { refusal } = character;
  const isRefused = Object.values(cart.held).some(({ sha256 }) => sha256 === refusal?.sha256);
  if (refusal && isRefused && call.method === "POST" && !cart.checked_out) return refusal.reply;
  const before = { ...cart, held: { ...cart.held } };
  const reply = handleCall(cart, call);
  callbacks.onActed(call, reply, before);
  return reply;
};

const answerToTheQuestion = (named: string): Reply => {
  const unusable = pick<Reply>(`${named} unusable`, [
    { status: 200, body: "true" },
    { status: 200, body: { checked_out: "true" } },
    { status: 204, body: null },
  ]);
  const fault = faultOf("carrier GET", named, ["unusable answer", "lie"]);
  if (fault === "unusable answer") return unusable;
  if (character.cannotSay !== undefined) return { status: character.cannotSay, body: { error: "not found" } };
  const isLie = fault === "lie" && cart.checked_out && !hasLied;
  hasLied ||= isLie;
  return { status: 200, body: { checked_out: cart.checked_out && !isLie } };
};

const proxyRefusals = {
  PUT: [400, 403, 404, 410, 413, 418],
  // 404 and 410 count as done.
  DELETE: [400, 403, 418],
  POST: [400, 401, 403, 404, 405, 410],
  GET: [400, 401, 403, 404, 405, 410, 501],
} as const;
type Method = keyof typeof proxyRefusals;
type Call = CartCall & { readonly method: Method };

const refusal = (named: string, { method }: Call): Reply => {
  const isWithReason = chance(`${named} reason`) < 0.5;
  const status = pick(`${named} status`, [422, 400, 403]);
  return isWithReason || method === "PUT" || method === "DELETE"
    ? { status, body: { reason: "The letter is not signed." } }
    : { status: 422, body: { error: "not yet" } };
};

/** One attempt of a call whose body has arrived. `signal` is when its caller gives up. */
const attempt = (named: string, call: Call, signal: AbortSignal, where: string) =>
  new Promise<HttpResponse>((resolve, reject) => {
    const task = currentTask();
    const { phaseMs } = character;
    const phase = phaseMs && `${call.method} in phase ${Math.ceil(elapsed() / phaseMs)}`;
    const fault = faultOf(`carrier ${call.method}`, phase || named, kinds);
    judgeCaller(task, call);
    callbacks.onCalled(call, named);
    const travel = (way: string) => between(`${named} ${way}`, 2, 60);
    const line = (what: string) => say(() => `${named}${fault ? `, ${fault}` : ""}: ${what}${where}`);
    signal.addEventListener("abort", () => reject(signal.reason));
    const fail = (error: Error, ms = travel("back")) => {
      line(error.message);
      after(ms, () => reject(error), task);
    };
    const answer = (reply: Reply) => {
      line(String(reply.status));
      after(travel("back"), () => resolve(responseOf(reply)), task);
    };
    const acts = (ms: number, then: (reply: Reply) => void) =>
      after(ms, () => then(call.method === "GET" ? answerToTheQuestion(named) : act(call)), outside);
    /** It acts some time after its caller has given it up, or would have if it still ran. */
    const later = (from: number) => {
      let isUnderWay = false;
      const begin = () => {
        if (isUnderWay) return;
        isUnderWay = true;
        acts(timeoutMs * Math.sqrt(chance(`${named} late`)), ({ status }) => line(`acts, ${status}`));
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
      case "500 after":
        return acts(travel("there"), () => answer({ status: 500, body: {} }));
      case "504, acts late": {
        const ms = travel("there");
        later(ms);
        return void after(ms, () => answer({ status: pick(`${named} status`, [502, 504, 408]), body: {} }), outside);
      }
      case "redirect": {
        const redirect = () => answer({ status: 302, body: "<html>" });
        return chance(`${named} acts`) < 0.5 ? acts(travel("there"), redirect) : redirect();
      }
      case "a proxy's refusal":
        return answer({ status: pick<number>(`${named} status`, proxyRefusals[call.method]), body: "<html>" });
      case "500":
      case "503":
      case "429":
      case "408":
        return answer({ status: Number(fault), body: {}, headers: retryAfter(named) });
      case "refusal":
        // Its own word, so it is true: it has not done this, and a cart that is checked out refuses with 409.
        if (!cart.checked_out && call.method !== "GET") return answer(refusal(named, call));
    }
    acts(fault === "delayed" ? between(`${named} delay`, 100, timeoutMs * 0.9) : travel("there"), answer);
  });

const retryAfter = (named: string): Record<string, string> => {
  const seconds = Math.floor(between(`${named} retry after`, 1, 300));
  return character.saysWhen && chance(`${named} says when`) < 0.5 ? { "Retry-After": String(seconds) } : {};
};

/** What the carrier reads of a form: its metadata, and the size and the hash of its file. */
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
  if (!character.isAdapted) {
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
  const named = numbered(`${call.method} ${callbacks.nameOf(call.path)}`);
  await beforeCall(named);
  signal.throwIfAborted();
  return character.isAdapted ? invokeAdapter(named, call, signal, where) : attempt(named, call, signal, where);
};

/** Lambda's response to the invocation of the adapter, which fails if its own call does. */
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

/** `http.request`: the call arrives once its whole body was written. */
export const requestCarrier = (url: URL, { method, headers, signal }: RequestOptions): Writable => {
  const chunks: Buffer[] = [];
  const task = currentTask();
  const outgoing = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  signal.addEventListener("abort", () => outgoing.destroy(signal.reason));
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
