import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { env } from "../env.ts";
import type { StreamedBody } from "./carrier-form.ts";
import { type AdapterCall, AdapterError, invokeAdapter } from "./carrier-function.ts";
import { carrierToken, renewedCarrierToken } from "./carrier-token.ts";
import { callTimeoutMs, checkoutLimits, longestCallMs } from "./limits.ts";

/** The outcome of an attempt of a call to the carrier, or of the call with all its attempts. */
export type Outcome =
  | { readonly kind: "done"; readonly status: number; readonly answer: string; readonly json: unknown }
  | Refusal
  | Unavailable;

/** A 4xx, or a redirect. The status of a redirect is null, because fetch does not reveal it. */
export type Refusal = Doubt & {
  readonly kind: "refused";
  readonly status: number | null;
  readonly answer: string;
  /** The carrier's text for the customer. */
  readonly reason: string | null;
};

/** The attempt, or every attempt of this step, failed temporarily. */
export type Unavailable = Doubt & {
  readonly kind: "unavailable";
  readonly reason: string;
  /** The last response's Retry-After. */
  readonly wait_seconds: number;
};

/** What attempts that were not refused may have done. */
type Doubt = {
  /** The carrier may have processed one. */
  readonly mayHaveActed: boolean;
  /** One had no response, so the carrier may still process it. */
  readonly mayBeInProgress: boolean;
};

const noDoubt: Doubt = { mayHaveActed: false, mayBeInProgress: false };

const refusal = (status: number | null, answer: string, reason: string | null = null): Refusal => ({
  kind: "refused",
  status,
  answer,
  reason,
  ...noDoubt,
});

export const describeRefusal = ({ status, answer }: { readonly status: number | null; readonly answer: string }) =>
  [status, answer].filter(Boolean).join(" ");

type Described = Pick<AdapterCall, "body" | "file">;

type CarrierCall = {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  /** The same for every repetition of this call, in every run. A GET has none: its response must be the current one. */
  readonly idempotencyKey?: string;
  /** Statuses besides 2xx that count as done. */
  readonly alsoDone?: readonly number[];
  /** Creates the body for each attempt. */
  readonly body?: () => StreamedBody;
  /** Creates what an adapter function gets instead of the body. Throws if there is no file. */
  readonly described?: () => Promise<Described>;
  readonly bytes?: number;
  /** The time, in milliseconds, by which every attempt must have ended. */
  readonly endsBy?: number;
};

const firstWaitMs = 250;
/** Keeps the longest run, with all its waits, within its workflow's timeout of a week. */
export const longestRetryAfterSeconds = 4 * 3600;

/**
 * Calls the carrier, or the function that adapts it. 2xx is done. 408, 429, 5xx, timeouts and broken connections are retried after
 * the time in `Retry-After` or a growing, jittered wait. Any other response is a refusal. An error of the file itself is thrown.
 */
export const callCarrier = async (call: CarrierCall): Promise<Outcome> => {
  const { bytes = 0, endsBy = Date.now() + longestCallMs(bytes) } = call;
  const send = authorized(call, bytes, endsBy);
  let doubt = noDoubt;
  for (let attempt = 1; ; attempt += 1) {
    const result = await send();
    if (result.kind === "done") return result;
    doubt = {
      mayHaveActed: doubt.mayHaveActed || result.mayHaveActed,
      mayBeInProgress: doubt.mayBeInProgress || result.mayBeInProgress,
    };
    if (result.kind === "refused") return { ...result, ...doubt };
    const wait = waitMs(attempt, result.wait_seconds, Math.random);
    if (!isRepeatedInStep(attempt, wait, endsBy - Date.now())) return { ...result, ...doubt };
    await sleep(wait);
  }
};

/** The wait after attempt `attempt`: a growing, jittered one, or the carrier's Retry-After if that is longer. */
export const waitMs = (attempt: number, retryAfter: number, random: () => number): number =>
  Math.max(retryAfter * 1000, firstWaitMs * 2 ** (attempt - 1) * (0.5 + random() / 2));

/** Whether the step itself makes another attempt after this wait. Otherwise, the workflow waits. */
export const isRepeatedInStep = (attempt: number, wait: number, leftMs: number): boolean =>
  attempt < checkoutLimits.tries && wait <= checkoutLimits.longestWaitInStepMs && wait < leftMs;

/** The attempts of one call. The first 401 may mean that the secret has a new token, so it is read again. */
const authorized = (call: CarrierCall, bytes: number, endsBy: number): (() => Promise<Outcome>) => {
  let renewed = false;
  const tryWith = async (token: string | undefined): Promise<Outcome> => {
    // Describing the file takes time.
    const described = env.carrierFunction() ? await call.described?.() : undefined;
    const timeoutMs = Math.min(callTimeoutMs(bytes), endsBy - Date.now());
    if (timeoutMs > 0) return tryOnce(call, described, token, AbortSignal.timeout(timeoutMs));
    return { kind: "unavailable", reason: "its time was over before it was called", wait_seconds: 0, ...noDoubt };
  };
  return async () => {
    const token = await carrierToken();
    const result = await tryWith(token);
    if (renewed || result.kind !== "refused" || result.status !== 401) return result;
    renewed = true;
    const newToken = await renewedCarrierToken(token);
    return newToken === undefined ? result : tryWith(newToken);
  };
};

const tryOnce = async (
  { method, path, idempotencyKey, alsoDone = [], body }: CarrierCall,
  described: Described = { body: null, file: null },
  token: string | undefined,
  timeout: AbortSignal,
): Promise<Outcome> => {
  const adapter = env.carrierFunction();
  const headers = {
    ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }),
    Accept: "application/json",
    ...(token && { Authorization: `Bearer ${token}` }),
  };
  const call = adapter && { method, path, headers, ...described };
  const content = adapter ? undefined : body?.();
  try {
    const kept = method === "GET" ? longestJson : keptCharacters;
    if (call) return await interpret(await invokeAdapter(adapter, call, timeout), alsoDone, kept);
    const response = await fetch(env.carrierUrl().replace(/\/$/, "") + path, {
      method,
      headers: { ...headers, ...content?.headers },
      ...(content && { body: ReadableStream.from(content.chunks()), duplex: "half" }),
      // The file and the token go to no other address. "manual" would keep a second copy of the body in memory.
      redirect: "error",
      signal: timeout,
    });
    return await interpret(response, alsoDone, kept);
  } catch (error) {
    // An error in the body (no file, another file, S3 unavailable) is not the carrier's.
    if (content?.failure()) throw content.failure();
    if (isRedirect(error)) return refusal(null, "it redirects to another address");
    const isOpen = error instanceof AdapterError ? error.mayHaveActed : !neverArrived(error);
    const reason = error instanceof AdapterError ? error.message : reasonOf(error, timeout);
    return { kind: "unavailable", reason, wait_seconds: 0, mayHaveActed: isOpen, mayBeInProgress: isOpen };
  }
};

/** How much of a response a receipt stores, and of the carrier's text for the customer. */
const keptCharacters = 500;
const longestJson = 4_000_000;

const CustomerText = z.object({ reason: z._default(z.string(), "") });

/** Decides what a response means. 2xx and `alsoDone` are done, 408, 429 and 5xx are retried, all else is a refusal. */
export const interpret = async (response: Response, alsoDone: readonly number[], kept: number): Promise<Outcome> => {
  const { status, headers } = response;
  const isRefusal = status >= 300 && status < 500 && status !== 408 && status !== 429;
  const text = await beginningOf(response, isRefusal ? longestJson : kept);
  const [answer, json] = [beginningIn(text), parseJson(text)];
  if ((status >= 200 && status < 300) || alsoDone.includes(status)) return { kind: "done", status, answer, json };
  if (isRefusal) {
    const reason = z.safeParse(CustomerText, json).data?.reason ?? "";
    return refusal(status, answer, beginningIn(reason.trim()) || null);
  }
  // 429 means that the call was not processed. Any other response leaves that open.
  const mayHaveActed = status !== 429;
  const wait_seconds = retryAfterSeconds(headers.get("retry-after"), new Date());
  // 408, 502 and 504 are those of a proxy that the carrier has not answered.
  const mayBeInProgress = mayHaveActed && status !== 500 && status !== 503;
  return { kind: "unavailable", reason: `it responded with ${status}`, wait_seconds, mayHaveActed, mayBeInProgress };
};

/** What is kept of a text. The cut may part the halves of a character, which the table refuses. */
const beginningIn = (text: string) => text.slice(0, keptCharacters).toWellFormed();

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Parses `Retry-After`, which is a number of seconds or a date, and limits it. */
export const retryAfterSeconds = (retryAfter: string | null, now: Date): number => {
  if (retryAfter === null) return 0;
  const seconds = /^\d+$/.test(retryAfter.trim())
    ? Number(retryAfter)
    : Math.ceil((Date.parse(retryAfter) - now.getTime()) / 1000);
  return Math.min(longestRetryAfterSeconds, Math.max(0, seconds || 0));
};

const beginningOf = async (response: Response, length: number): Promise<string> => {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > length) break;
  }
  return text.slice(0, length);
};

const errorCodes = (error: unknown): string[] => {
  if (!(error instanceof Error)) return [];
  const own = "code" in error && typeof error.code === "string" ? [error.code] : [];
  const inner = error instanceof AggregateError ? error.errors.flatMap(errorCodes) : [];
  return [...own, ...inner, ...errorCodes(error.cause)];
};

/** fetch in Node.js (undici) identifies a redirect by the message only, not by a code. */
const isRedirect = (error: unknown) =>
  error instanceof TypeError && error.cause instanceof Error && error.cause.message === "unexpected redirect";

const noConnection = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];

/** There was no connection, so the carrier cannot have processed the call. */
const neverArrived = (error: unknown) => errorCodes(error).some((code) => noConnection.includes(code));

const reasonOf = (error: unknown, timeout: AbortSignal) => {
  if (timeout.aborted) return "it did not respond in time";
  if (!(error instanceof Error)) throw error;
  return `the connection broke (${errorCodes(error)[0] ?? error.name})`;
};
