import { setTimeout as sleep } from "node:timers/promises";
import { env } from "../env.ts";
import type { CallBody } from "./carrier-form.ts";
import { carrierToken } from "./carrier-token.ts";

/** How a call to the carrier ended. */
export type Outcome =
  | { readonly kind: "done"; readonly status: number; readonly answer: string }
  /** A 4xx: the carrier will not do it, and says why. */
  | { readonly kind: "refused"; readonly status: number; readonly answer: string; readonly doubted: boolean }
  /** Every try of this step failed in passing. `doubted`: one of them may have been acted on. */
  | { readonly kind: "away"; readonly reason: string; readonly wait_seconds: number; readonly doubted: boolean };

export type Call = {
  readonly method: "PUT" | "POST" | "DELETE";
  readonly path: string;
  /** The same for every repetition of this call, in whatever run. */
  readonly idempotencyKey: string;
  /** 4xx that say that there is nothing left to do. */
  readonly settled?: readonly number[];
  /** Makes the body anew for each try. */
  readonly body?: () => CallBody;
};

/** Tries within one step, and their waits; longer waits are the workflow's, which pays nothing for them. */
const tries = 4;
const firstWaitMs = 250;
const longestWaitHereMs = 5_000;
/** So that the longest run, all its waits together, ends within its workflow's week. */
export const longestRetryAfterSeconds = 4 * 3600;

type Try =
  | Outcome
  | { readonly kind: "again"; readonly reason: string; readonly retryAfter: number; readonly acted: boolean };

/**
 * Calls the carrier. 2xx is done; 429, 5xx, timeouts and broken connections are tried again, after what `Retry-After`
 * asks for or a growing, jittered wait; any other 4xx is its refusal. What is wrong with the file itself is thrown.
 */
export const callCarrier = async (call: Call): Promise<Outcome> => {
  let doubted = false;
  for (let attempt = 1; ; attempt += 1) {
    const result = await tryOnce(call);
    if (result.kind === "refused") return { ...result, doubted };
    if (result.kind !== "again") return result;
    doubted ||= result.acted;
    const wait = Math.max(result.retryAfter * 1000, firstWaitMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
    if (attempt >= tries || wait > longestWaitHereMs)
      return { kind: "away", reason: result.reason, wait_seconds: result.retryAfter, doubted };
    await sleep(wait);
  }
};

const tryOnce = async ({ method, path, idempotencyKey, settled = [], body }: Call): Promise<Try> => {
  const token = await carrierToken();
  const made = body?.();
  const timeout = AbortSignal.timeout(env.carrierTimeoutMs());
  try {
    const response = await fetch(env.carrierUrl().replace(/\/$/, "") + path, {
      method,
      headers: {
        "Idempotency-Key": idempotencyKey,
        Accept: "application/json",
        ...(token && { Authorization: `Bearer ${token}` }),
        ...made?.headers,
      },
      ...(made && { body: ReadableStream.from(made.chunks()), duplex: "half" }),
      redirect: "error",
      signal: timeout,
    });
    return judge(response.status, await beginningOf(response), settled, response.headers.get("retry-after"));
  } catch (error) {
    // What the body met on its way (no file, another file, storage away) is not the carrier's doing.
    if (made?.failure()) throw made.failure();
    return { kind: "again", reason: reasonOf(error, timeout), retryAfter: 0, acted: !neverArrived(error) };
  }
};

const judge = (status: number, answer: string, settled: readonly number[], retryAfter: string | null): Try => {
  if ((status >= 200 && status < 300) || settled.includes(status)) return { kind: "done", status, answer };
  if (status >= 400 && status < 500 && status !== 429) return { kind: "refused", status, answer, doubted: false };
  // 429 and 503 say that the call was not taken up; any other answer leaves that open.
  const acted = status !== 429 && status !== 503;
  return { kind: "again", reason: `it answered ${status}`, retryAfter: secondsOf(retryAfter, new Date()), acted };
};

/** `Retry-After`, in seconds or as a date, within bounds. */
export const secondsOf = (retryAfter: string | null, now: Date): number => {
  if (retryAfter === null) return 0;
  const seconds = /^\d+$/.test(retryAfter.trim())
    ? Number(retryAfter)
    : Math.ceil((Date.parse(retryAfter) - now.getTime()) / 1000);
  return Math.min(longestRetryAfterSeconds, Math.max(0, seconds || 0));
};

/** As much of an answer as a receipt keeps. */
const beginningOf = async (response: Response): Promise<string> => {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > 500) break;
  }
  return text.slice(0, 500);
};

const codesOf = (error: unknown): string[] => {
  if (!(error instanceof Error)) return [];
  const own = "code" in error && typeof error.code === "string" ? [error.code] : [];
  const inner = error instanceof AggregateError ? error.errors.flatMap(codesOf) : [];
  return [...own, ...inner, ...codesOf(error.cause)];
};

const noConnection = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];

/** There was no connection, so the carrier cannot have acted. */
const neverArrived = (error: unknown) => codesOf(error).some((code) => noConnection.includes(code));

const reasonOf = (error: unknown, timeout: AbortSignal) => {
  if (timeout.aborted) return "it did not answer in time";
  if (!(error instanceof Error)) throw error;
  return `the connection broke (${codesOf(error)[0] ?? error.name})`;
};
