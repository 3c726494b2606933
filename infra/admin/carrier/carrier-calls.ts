import { setTimeout as sleep } from "node:timers/promises";
import { type CarrierResponse, tryOnce } from "../../../shared/checkout/carrier-client.ts";
import { FileError, filePartBody, type StreamedBody } from "../../../shared/checkout/carrier-form.ts";
import { callTimeoutMs } from "../../../shared/checkout/limits.ts";
import { env } from "../../../shared/env.ts";
import { fault, type Verdict } from "../cli/diagnosis.ts";
import { type Letter, metadataOf } from "./carrier-letters.ts";

/** The calls of `carrier check`. They are those of a checkout, with one attempt each. */

/** What the POST says that a cart has. */
export type Manifest = readonly {
  readonly request_id: string;
  readonly id: string;
  readonly idempotency_key: string;
  readonly sha256: string;
}[];

type Call = {
  readonly method: "GET" | "PUT" | "DELETE" | "POST";
  readonly path: string;
  readonly idempotencyKey?: string;
  readonly letter?: Letter;
  /** The file is not the one that the metadata describe, so the call ends before its body is complete. */
  readonly isDamaged?: boolean;
  readonly manifest?: Manifest;
  /** Replaces the carrier's token. With null, none is sent. */
  readonly token?: string | null;
};

export type Answer = Pick<CarrierResponse, "status" | "text" | "json" | "wait_seconds"> & {
  readonly call: Call;
  readonly ms: number;
};

export const silenceRemedy =
  "Correct the address, or find out why the carrier does not respond with valid HTTP within 30 seconds, and one more for each megabyte.";

const shownCharacters = 100;

/** `PUT 422 {"reason": …` */
export const shown = ({ call, status, text }: Answer): string => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const words = line.length > shownCharacters ? `${line.slice(0, shownCharacters)}…` : line;
  const address = env.carrierFunction() ?? env.carrierUrl();
  return [call.method, status === null ? `to ${address} without a valid response:` : status, words]
    .filter(Boolean)
    .join(" ");
};

/** Later calls would depend on the one that has failed. */
export class ChecksStopped extends Error {
  readonly verdict: Verdict;

  constructor(verdict: Verdict) {
    super(verdict.found);
    this.verdict = verdict;
  }
}

/** After so many calls without a response, more would take too long. */
const maxUnanswered = 3;

/** A test system may limit the rate of calls. */
const throttling = { repetitions: 3, longestWaitSeconds: 10 } as const;

/** Returns the URL from which an adapter function reads a letter. */
export type Sign = (letter: Letter) => Promise<string>;

const formOf = (letter: Letter, isDamaged = false): StreamedBody => {
  const { request, id, sent, contentType, content, sha256 } = letter;
  const half = Math.floor(content.length / 2);
  async function* chunks() {
    yield content.subarray(0, half);
    yield isDamaged ? Buffer.alloc(content.length - half) : content.subarray(half);
  }
  const file = { sent, contentType, bytes: content.length, sha256, open: async () => chunks() };
  return filePartBody(`patchbay-${request}-${id}`, metadataOf(letter), file);
};

const jsonOf = (value: object): StreamedBody => {
  const content = Buffer.from(JSON.stringify(value));
  return {
    headers: { "Content-Type": "application/json", "Content-Length": String(content.length) },
    async *chunks() {
      yield content;
    },
    failure: () => undefined,
  };
};

const bodyOf = ({ letter, isDamaged, manifest }: Call): (() => StreamedBody) | undefined => {
  if (letter) return () => formOf(letter, isDamaged);
  return manifest && (() => jsonOf({ attachments: manifest }));
};

/** The content for an adapter function. */
const describedOf = async ({ letter, manifest }: Call, sign: Sign) => {
  if (!letter) return { body: manifest ? { attachments: manifest } : null, file: null };
  const { sent, contentType: content_type, content } = letter;
  const { sha256 } = metadataOf(letter);
  const file = { url: await sign(letter), bytes: content.length, sha256, content_type, filename: sent.filename };
  return { body: metadataOf(letter), file };
};

const brokenOff = (error: unknown) => {
  if (!(error instanceof FileError)) throw error;
  return { status: null, text: "the call was broken off", json: undefined, wait_seconds: 0 };
};

/** The calls for one order, with the answers to all of them. With `sign`, they go to the adapter function. */
export const callsOf = (order: string, token: string | undefined, sign: Sign | undefined) => {
  const answers: Answer[] = [];

  const attempt = async (call: Call): Promise<Answer> => {
    const body = bodyOf(call);
    const described = sign && (await describedOf(call, sign));
    const used = call.token === undefined ? token : (call.token ?? undefined);
    const started = performance.now();
    const endsAt = Date.now() + callTimeoutMs(call.letter?.content.length ?? 0);
    const response = tryOnce({ ...call, ...(body && { body }) }, described, used, endsAt);
    const { status, text, json, wait_seconds } = await response.catch(brokenOff);
    const answer = { status, text, json, wait_seconds, call, ms: performance.now() - started };
    answers.push(answer);
    return answer;
  };

  const unanswered: Answer[] = [];
  const send = async (call: Call): Promise<Answer> => {
    const last = unanswered.at(-1);
    if (last && unanswered.length >= maxUnanswered) throw new ChecksStopped(fault(shown(last), silenceRemedy));
    for (let left: number = throttling.repetitions; ; left -= 1) {
      const answer = await attempt(call);
      if (answer.status === null) unanswered.push(answer);
      if (answer.status !== 429 || left === 0) return answer;
      await sleep(1000 * Math.min(throttling.longestWaitSeconds, Math.max(1, answer.wait_seconds)));
    }
  };

  const path = `/carts/${order}`;
  const pathTo = ({ request, id }: Letter) => `${path}/requests/${request}/attachments/${id}`;
  const putOf = (letter: Letter): Call => ({
    method: "PUT",
    path: pathTo(letter),
    idempotencyKey: letter.key,
    letter,
  });
  return {
    answers,
    put: (letter: Letter) => send(putOf(letter)),
    /** Calls `record` with each letter and its response. */
    putAtOnce: (letters: readonly Letter[], record: (letter: Letter, answer: Answer) => Answer) =>
      Promise.all(letters.map(async (one) => record(one, await attempt(putOf(one))))),
    putDamaged: (letter: Letter) => attempt({ ...putOf(letter), isDamaged: true }),
    remove: (letter: Letter, options: Pick<Call, "token"> = {}) =>
      send({ method: "DELETE", path: pathTo(letter), idempotencyKey: `withdraw-${letter.key}`, ...options }),
    ask: () => send({ method: "GET", path }),
    checkOut: (manifest: Manifest, name: string) =>
      send({ method: "POST", path: `${path}/checkout`, idempotencyKey: `checkout-${order}-${name}`, manifest }),
  };
};
