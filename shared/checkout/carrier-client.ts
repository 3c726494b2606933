import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { env } from "../env.ts";
import { type HttpResponse, sendRequest } from "../http-request.ts";
import type { StreamedBody } from "./carrier-form.ts";
import { type AdapterCall, invokeAdapter, NotInvoked } from "./carrier-function.ts";
import { cureOf, meaningOf, meanings } from "./carrier-responses.ts";
import { carrierToken, renewedCarrierToken, TokenError, withoutToken } from "./carrier-token.ts";
import { callTimeoutMs, checkoutLimits, maxCallMs } from "./limits.ts";

type CarrierCall = {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  /** The same for every repetition of this call, in every run. A GET has no key, because its response must be current. */
  readonly idempotencyKey?: string;
  /** Creates the body for each attempt. */
  readonly body?: () => StreamedBody;
  /** Creates the content for an adapter function, which gets it instead of the body. Throws if there is no file. */
  readonly described?: () => Promise<AdapterContent>;
  readonly bytes?: number;
  /** The time, in milliseconds, by which every attempt must have ended. */
  readonly endsBy?: number;
};

type AdapterContent = Pick<AdapterCall, "body" | "file">;

/** The last response to a call, and the possible effects of all its attempts. */
export type CarrierResponse = {
  /** See carrier-responses.ts. */
  readonly settles: (typeof meanings)[keyof typeof meanings]["settles"];
  /** Null if there was no response. */
  readonly status: number | null;
  /** The beginning of the body or, without a response, the reason why there was none. */
  readonly text: string;
  /** The carrier's text for the customer. */
  readonly reason: string | null;
  readonly json: unknown;
  /** The limited Retry-After, or 0. */
  readonly wait_seconds: number;
  /** The carrier may have acted on an attempt. */
  readonly mayHaveActed: boolean;
  /** The carrier may still act on an attempt. */
  readonly mayStillAct: boolean;
};

type Described = Pick<CarrierResponse, "status" | "text">;

/** A refusal in the carrier's words: `422 The letter is not signed.` */
export const describeRefusal = ({ status, text }: Described): string => [status, text].filter(Boolean).join(" ");

/** A response that says nothing about a letter, with what to do about it. */
export const describeDenial = (response: Described): string =>
  `${describeRefusal(response)}. ${cureOf(response.status)}`;

/** Returns why a call is repeated, in the carrier's words. */
export const describeFailure = ({ status, text }: Described): string =>
  status === null ? text : `it responded with ${describeRefusal({ status, text })}`;

const firstWaitMs = 250;
/** Keeps the longest run, with all its waits, within its workflow's timeout of a week. */
export const maxRetryAfterSeconds = 2 * 3600;

/**
 * Calls the carrier, or the function that adapts it. After a response that settles nothing, makes another attempt if the wait fits
 * into the step. The wait is the time in `Retry-After`, or a growing, jittered one. Throws errors of the file itself.
 */
export const callCarrier = async (call: CarrierCall): Promise<CarrierResponse> => {
  const { bytes = 0, endsBy = Date.now() + maxCallMs(bytes) } = call;
  const send = authorized(call, bytes, endsBy);
  let [mayHaveActed, mayStillAct] = [false, false];
  for (let attempt = 1; ; attempt += 1) {
    const response = await send();
    mayHaveActed ||= response.mayHaveActed;
    mayStillAct ||= response.mayStillAct;
    const wait = waitMs(attempt, response.wait_seconds, Math.random);
    if (response.settles !== "nothing" || !isRepeatedInStep(attempt, wait, endsBy - Date.now()))
      return { ...response, mayHaveActed, mayStillAct };
    await sleep(wait);
  }
};

/** The wait after attempt `attempt`. It is a growing, jittered one, or the carrier's Retry-After if that is longer. */
export const waitMs = (attempt: number, retryAfter: number, random: () => number): number =>
  Math.max(retryAfter * 1000, firstWaitMs * 2 ** (attempt - 1) * (0.5 + random() / 2));

/** Whether the step itself makes another attempt after this wait. Otherwise, the workflow waits. */
export const isRepeatedInStep = (attempt: number, wait: number, leftMs: number): boolean =>
  attempt < checkoutLimits.tries && wait <= checkoutLimits.maxWaitInStepMs && wait < leftMs;

/** Returns a function that makes one attempt. After the first 401, it reads the secret again, which may have a new token. */
const authorized = (call: CarrierCall, bytes: number, endsBy: number): (() => Promise<CarrierResponse>) => {
  let renewed = false;
  const tryWith = async (token: string | undefined): Promise<CarrierResponse> => {
    // This takes time, so it comes before the timeout is computed.
    const described = env.carrierFunction() ? await call.described?.() : undefined;
    const now = Date.now();
    if (now < endsBy) return tryOnce(call, described, token, Math.min(now + callTimeoutMs(bytes), endsBy));
    return withoutResponse("unsent", "the deadline passed before the call was sent");
  };
  return async () => {
    try {
      const token = await carrierToken();
      const response = await tryWith(token);
      if (renewed || response.status !== 401) return response;
      renewed = true;
      const newToken = await renewedCarrierToken(token);
      return newToken === undefined ? response : tryWith(newToken);
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      return withoutResponse("unsent", error.message);
    }
  };
};

/** Makes one attempt with this token. `described` is the content for an adapter function. Nothing is sent after `endsAt`. */
export const tryOnce = async (
  { method, path, idempotencyKey, body }: CarrierCall,
  described: AdapterContent = { body: null, file: null },
  token: string | undefined,
  endsAt: number,
): Promise<CarrierResponse> => {
  const adapter = env.carrierFunction();
  const headers = {
    ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }),
    Accept: "application/json",
    "Accept-Encoding": "identity",
    ...(method === "GET" && { "Cache-Control": "no-cache, no-store" }),
    ...(token && { Authorization: `Bearer ${token}` }),
  };
  const content = adapter ? undefined : body?.();
  const interpreted = ({ text, ...response }: HttpResponse) =>
    interpret(method, { ...response, text: withoutToken(text, token) });
  try {
    if (adapter) return interpreted(await invokeAdapter(adapter, { method, path, headers, ...described }, endsAt));
    const url = new URL(env.carrierUrl().replace(/\/$/, "") + path);
    const request = {
      method,
      headers: { ...headers, ...content?.headers },
      body: content?.chunks,
      endsAt,
    };
    return interpreted(await sendRequest(url, { ...request, maxCharacters: () => maxJsonCharacters }));
  } catch (error) {
    // If the file is missing or another one, or S3 is unavailable, that is not the carrier's error.
    if (content?.failure()) throw content.failure();
    if (error instanceof NotInvoked) return withoutResponse(error.meaning, error.message);
    return withoutResponse(wasNotSent(error) ? "unsent" : "unanswered", describeError(error));
  }
};

const withoutResponse = (meaning: keyof typeof meanings, text: string): CarrierResponse => ({
  ...outcomeOf(meaning),
  status: null,
  text,
  reason: null,
  json: undefined,
  wait_seconds: 0,
});

const outcomeOf = (meaning: keyof typeof meanings) => {
  const { acted, mayStillAct, settles } = meanings[meaning];
  return { settles, mayHaveActed: acted !== "no", mayStillAct };
};

/** The length to which a response, and the carrier's text for the customer, are shortened for receipts. */
const keptCharacters = 500;
/** A longer response is cut off, and therefore not JSON. */
const maxJsonCharacters = 4_000_000;

const CustomerText = z.object({ reason: z._default(z.string(), "") });

export const interpret = (method: string, { status, headers, text }: HttpResponse): CarrierResponse => {
  const json = parseJson(text);
  const customerText = z.safeParse(CustomerText, json).data?.reason.trim();
  const reason = customerText ? beginningIn(customerText) : null;
  return {
    ...outcomeOf(meaningOf({ method, status, text, json, reason })),
    status,
    // Many servers end their JSON with a line break.
    text: beginningIn(text.trim()),
    reason,
    json,
    wait_seconds: retryAfterSeconds(headers["retry-after"], new Date()),
  };
};

/** Omits half of a surrogate pair at the end. DynamoDB rejects lone surrogates. */
export const beginningIn = (text: string) =>
  text
    .slice(0, keptCharacters)
    .replace(/[\ud800-\udbff]$/, "")
    .toWellFormed();

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Parses `Retry-After`, which is a number of whole seconds or a date, and limits it. Anything else counts as none. */
export const retryAfterSeconds = (retryAfter: string | undefined, now: Date): number => {
  const text = retryAfter?.trim() ?? "";
  // Date.parse takes 3000.5 for a year.
  const isDate = /^(?:[A-Z][a-z]+,? .* \d\d:\d\d:\d\d\b|\d{4}-\d\d-\d\dT)/.test(text);
  const inSeconds = () => Math.ceil((Date.parse(text) - now.getTime()) / 1000);
  const seconds = /^\d+$/.test(text) ? Number(text) : isDate ? inSeconds() : 0;
  return Math.min(maxRetryAfterSeconds, Math.max(0, seconds || 0));
};

const codeOf = (error: unknown): unknown => Object(error).code;

/** There was no connection, or a header cannot be sent, so the carrier cannot have processed the call. */
const wasNotSent = (error: unknown) =>
  ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ERR_INVALID_CHAR"].includes(String(codeOf(error)));

const describeError = (error: unknown) => {
  if (["ABORT_ERR", "ETIMEDOUT"].includes(String(codeOf(error)))) return "it did not respond in time";
  if (!(error instanceof Error)) throw error;
  const code = String(codeOf(error) ?? error.name);
  if (code.startsWith("HPE_")) return `the response is not valid HTTP (${code})`;
  const received = /^(Z_|ERR__)/.test(code) ? "its response could not be decompressed" : "the connection broke";
  return `${wasNotSent(error) ? "it could not be called" : received} (${code})`;
};
