import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  callCarrier,
  interpret,
  isRepeatedInStep,
  longestRetryAfterSeconds,
  retryAfterSeconds,
  waitMs,
} from "../../../shared/checkout/carrier-client.ts";
import { FileError, filePartBody, verified } from "../../../shared/checkout/carrier-form.ts";
import { callTimeoutMs, longestCallMs, pauseSeconds } from "../../../shared/checkout/limits.ts";

/** The decisions about the carrier's responses, without a carrier. */

describe("a response of the carrier", () => {
  it("is read no further than it is kept, also where a character is in two chunks", async () => {
    let read = 0;
    const [euro, rest] = [Buffer.from("€").subarray(0, 1), Buffer.from("€").subarray(1)];
    const chunks = async function* () {
      for (const chunk of [
        euro,
        rest,
        Buffer.alloc(499, "x"),
        Buffer.from("y"),
        ...Array(9).fill(Buffer.from("never read")),
      ]) {
        read += 1;
        yield chunk;
      }
    };
    const result = await interpret(new Response(ReadableStream.from(chunks())), [], 500);
    expect([result, read <= 5]).toMatchObject([{ answer: `€${"x".repeat(499)}` }, true]);
  });

  it.each([
    ["done", [200, 204, 299]],
    ["refused", [300, 302, 400, 401, 404, 407, 409, 428, 430, 499]],
    ["retry, has not acted", [429]],
    ["retry, may have acted", [500, 503]],
    ["retry, may be in progress", [199, 408, 501, 502, 504, 599]],
  ])("means %s: %j", async (meaning, statuses) => {
    for (const status of statuses) {
      const response = Object.defineProperty(new Response(null), "status", { value: status });
      const result = await interpret(response, [], 500);
      const acted = "mayHaveActed" in result && result.mayHaveActed ? "may have acted" : "has not acted";
      const open = "mayBeInProgress" in result && result.mayBeInProgress ? "may be in progress" : acted;
      expect(result.kind === "unavailable" ? `retry, ${open}` : result.kind, String(status)).toBe(meaning);
      if (open === "may be in progress") expect(acted).toBe("may have acted");
      if (result.kind === "unavailable") expect(result.reason).toBe(`it responded with ${status}`);
    }
  });

  it.each([
    [409, [404, 410], "refused"],
    [503, [503], "done"],
  ])("%i, if %j count as done: %s", async (status, alsoDone, kind) => {
    const result = await interpret(new Response("why", { status }), alsoDone, 500);
    expect(result).toMatchObject({ kind, status, answer: "why" });
  });

  it.each([
    [500, 500],
    [501, 500],
  ])("of %i characters is kept up to the 500th: %i", async (length, kept) => {
    const result = await interpret(new Response("x".repeat(length), { status: 422 }), [], 500);
    expect(result).toMatchObject({ answer: "x".repeat(kept) });
  });

  it.each<[string, string | null]>([
    ['{"reason":"The letter is not signed.","code":7}', "The letter is not signed."],
    [`{"reason":"${"x".repeat(501)}"}`, "x".repeat(500)],
    [`{"reason":"${"x".repeat(499)}😀"}`, `${"x".repeat(499)}\ufffd`],
    ['{"reason":" "}', null],
    ['{"reason":7}', null],
    ['{"error":"The letter is not signed."}', null],
    ["The letter is not signed.", null],
    ["", null],
  ])("%j has the reason %j for the customer", async (body, reason) => {
    expect(await interpret(new Response(body, { status: 422 }), [], 500)).toMatchObject({ kind: "refused", reason });
  });
});

describe("a wait", () => {
  const now = new Date("2026-11-21T10:00:00Z");
  it.each([
    [null, 0],
    ["7", 7],
    [" 7 ", 7],
    ["7.5", 0],
    ["7 s", 0],
    ["14400", longestRetryAfterSeconds],
    ["14401", 14_400],
    ["soon", 0],
    ["Sat, 21 Nov 2026 10:00:30 GMT", 30],
    ["2026-11-21T10:00:00.001Z", 1],
    ["Sat, 21 Nov 2026 09:00:00 GMT", 0],
  ])("Retry-After %j is %i seconds", (given, seconds) => {
    expect(retryAfterSeconds(given, now)).toBe(seconds);
  });

  it.each([
    [1, 0, 0, 125],
    [3, 0, 0.5, 750],
    [1, 1, 1, 1_000],
    [4, 1, 1, 2_000],
  ])("after attempt %i with Retry-After %i and jitter %f takes %i ms", (attempt, retryAfter, jitter, ms) => {
    expect(waitMs(attempt, retryAfter, () => jitter)).toBe(ms);
  });

  it.each([
    [1, 5_000, 5_001, true],
    [3, 5_000, 5_001, true],
    [4, 5_000, 5_001, false],
    [1, 5_001, 9_000, false],
    [1, 5_000, 5_000, false],
  ])("after attempt %i of %i ms, of %i that are left, is in the step: %s", (attempt, wait, left, inStep) => {
    expect(isRepeatedInStep(attempt, wait, left)).toBe(inStep);
  });
});

/** What a carrier does with one attempt: a status, or the code of a network error. */
type Attempt = number | string;

const networkError = (code: string) =>
  new TypeError("fetch failed", { cause: Object.assign(new Error("injected"), { code }) });

describe("a call", () => {
  beforeEach(() => {
    vi.stubEnv("CARRIER_URL", "http://carrier.test/api/");
    vi.stubEnv("CARRIER_TOKEN", "");
    vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
    // Makes the jittered waits last no time.
    vi.spyOn(Math, "random").mockReturnValue(-1);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  const carrierThat = (...attempts: readonly Attempt[]) => {
    const left = [...attempts];
    return vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
      const attempt = left.shift();
      if (typeof attempt === "number") return new Response("why", { status: attempt });
      throw networkError(attempt ?? "TOO_MANY");
    });
  };
  const call = { method: "POST", path: "/carts/1/checkout", idempotencyKey: "checkout-1" } as const;

  it.each<[string, Attempt[], object]>([
    ["is done in the fourth attempt", [503, 503, 503, 200], { kind: "done" }],
    ["has four attempts", [429, 429, 429, 429], { kind: "unavailable", wait_seconds: 0, mayHaveActed: false }],
    [
      "may have acted before it was refused",
      [503, 400],
      { kind: "refused", mayHaveActed: true, mayBeInProgress: false },
    ],
    [
      "has not acted where it was refused",
      [429, 400],
      { kind: "refused", mayHaveActed: false, mayBeInProgress: false },
    ],
    ["remembers an attempt that may have acted", [500, 429, 429, 429], { mayHaveActed: true, mayBeInProgress: false }],
    ["may have acted in its last attempt", [429, 429, 429, 500], { kind: "unavailable", mayHaveActed: true }],
    ["may be in progress behind a proxy", [504, 500, 500, 500], { mayHaveActed: true, mayBeInProgress: true }],
    ["may be in progress where the connection broke", ["ECONNRESET", 422], { kind: "refused", mayBeInProgress: true }],
    ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].map(
      (code): [string, Attempt[], object] => [`never arrived with ${code}`, [code, 422], { mayBeInProgress: false }],
    ),
  ])("%s: %j", async (_, attempts, outcome) => {
    const fetched = carrierThat(...attempts);
    expect(await callCarrier(call)).toMatchObject(outcome);
    expect(fetched.mock.calls.length).toBe(attempts.length);
  });

  it("is sent to its path below the carrier's address, with its key if it has one", async () => {
    const fetched = carrierThat(200, 200);
    await callCarrier(call);
    await callCarrier({ method: "GET", path: "/carts/1" });
    const headers = { Accept: "application/json" };
    expect(fetched.mock.calls.map(([url, init]) => [url, init?.headers])).toStrictEqual([
      ["http://carrier.test/api/carts/1/checkout", { ...headers, "Idempotency-Key": "checkout-1" }],
      ["http://carrier.test/api/carts/1", headers],
    ]);
  });

  it.each([
    [0, undefined, 30_000],
    [1_000_000, undefined, 31_000],
    [1_000_000, 100, 100],
  ])("with %i bytes, of which %j ms are left, may take %i ms", async (bytes, left, ms) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const timeout = vi.spyOn(AbortSignal, "timeout");
    carrierThat(200);
    await callCarrier({ ...call, bytes, ...(left !== undefined && { endsBy: Date.now() + left }) });
    expect(timeout).toHaveBeenCalledExactlyOnceWith(ms);
  });

  it("is not sent once its time is over", async () => {
    const fetched = carrierThat(200);
    const reason = "its time was over before it was called";
    const unsent = { kind: "unavailable", reason, wait_seconds: 0, mayHaveActed: false, mayBeInProgress: false };
    expect(await callCarrier({ ...call, endsBy: Date.now() })).toEqual(unsent);
    expect(fetched).not.toHaveBeenCalled();
  });

  it("throws the error that interrupted its body", async () => {
    carrierThat("ECONNRESET");
    const body = () => ({ headers: {}, chunks: async function* () {}, failure: () => new Error("no file") });
    await expect(callCarrier({ ...call, body })).rejects.toThrow("no file");
  });

  const reasonAfter = async (error: Error, signal = new AbortController().signal) => {
    vi.spyOn(AbortSignal, "timeout").mockReturnValue(signal);
    vi.spyOn(globalThis, "fetch").mockRejectedValue(error);
    const outcome = await callCarrier(call);
    return outcome.kind === "unavailable" ? [outcome.reason, outcome.mayHaveActed] : outcome.kind;
  };
  const several = new AggregateError([networkError("ECONNREFUSED"), networkError("EHOSTUNREACH")]);
  it.each([
    ["a code", networkError("ECONNRESET"), "ECONNRESET", true],
    ["a code of its own", Object.assign(new Error(), { code: "EPIPE" }), "EPIPE", true],
    ["no code", new RangeError("injected"), "RangeError", true],
    ["a code that is a number", Object.assign(new Error(), { code: 7 }), "Error", true],
    ["several addresses", new TypeError("fetch failed", { cause: several }), "ECONNREFUSED", false],
    ["a cause that is no TypeError's", new Error("x", { cause: new Error("unexpected redirect") }), "Error", true],
  ])("is unavailable after an error with %s", async (_, error, reason, mayHaveActed) => {
    expect(await reasonAfter(error)).toEqual([`the connection broke (${reason})`, mayHaveActed]);
  });

  it("is unavailable after its timeout", async () => {
    expect(await reasonAfter(new Error("aborted"), AbortSignal.abort())).toEqual(["it did not respond in time", true]);
  });

  describe("through an adapter function", () => {
    beforeEach(() => {
      vi.stubEnv("CARRIER_FUNCTION", "the-adapter");
      vi.stubEnv("AWS_ENDPOINT_URL_LAMBDA", "http://lambda.test");
    });
    const returns = (result: unknown) => new Response(JSON.stringify(result));
    const fails = (status: number, type?: string) =>
      new Response(null, { status, headers: { ...(type && { "x-amzn-errortype": type }) } });
    const notInvoked = "its function could not be invoked:";
    const failed = "its function failed or returned no status, and its log says why";
    it.each<[string, Response, object]>([
      ["a text", returns({ status: 200, body: "why" }), { kind: "done", status: 200, answer: "why" }],
      ["no body", returns({ status: 204, body: "left out" }), { kind: "done", status: 204, answer: "" }],
      ["the first status", returns({ status: 200 }), { kind: "done", answer: "" }],
      ["the last status", returns({ status: 599 }), { reason: "it responded with 599", mayHaveActed: true }],
      ["too low a status", returns({ status: 199 }), { reason: failed, mayHaveActed: true }],
      ["too high a status", returns({ status: 600 }), { reason: failed, mayHaveActed: true }],
      ["429 of Lambda", fails(429), { reason: "it responded with 429", mayHaveActed: false }],
      ["404 of Lambda", fails(404, "Gone:x"), { reason: `${notInvoked} Gone`, mayHaveActed: false }],
      ["499 of Lambda", fails(499), { reason: `${notInvoked} 499`, mayHaveActed: false }],
      ["500 of Lambda", fails(500), { reason: `${notInvoked} 500`, mayHaveActed: true }],
    ])("that returns %s", async (_, response, outcome) => {
      const fetched = vi.spyOn(globalThis, "fetch").mockImplementation(async () => response.clone());
      expect(await callCarrier(call)).toMatchObject(outcome);
      const [url, init] = fetched.mock.calls[0] ?? [];
      expect(String(url)).toBe("http://lambda.test/2015-03-31/functions/the-adapter/invocations");
      expect(init?.redirect).toBe("error");
    });
  });
});

describe("the limits of a call", () => {
  it("are those of its file, and of four attempts with three waits", () => {
    expect([0, 1, 1_000, 1_001].map(callTimeoutMs)).toEqual([30_000, 30_001, 30_001, 30_002]);
    expect([0, 1_000_000].map(longestCallMs)).toEqual([135_000, 139_000]);
  });

  it.each([
    [0, 0, 0, 3],
    [1, 0, 1, 10],
    [7, 0, 1, 640],
    [8, 0, 1, 900],
    [8, 0, 0, 450],
    [0, 4, 0, 4],
  ])("after %i waits, with Retry-After %i and jitter %f: %i s", (waits, retryAfter, jitter, seconds) => {
    expect(pauseSeconds(waits, retryAfter, () => jitter)).toBe(seconds);
  });
});

describe("the file of a call", () => {
  const chunks = ["ab", "cd", "e"].map((text) => Buffer.from(text));
  const sha256 = "36bbe50ed96841d10443bcb670d6554f0a34b761be67ec9c4a8ad2c0c44ca42c";
  const open = (parts: readonly Uint8Array[] | undefined) => async () =>
    parts &&
    (async function* () {
      yield* parts;
    })();
  const read = async (parts: readonly Uint8Array[] | undefined, bytes = 5, hash = sha256) => {
    const got: string[] = [];
    const error = await (async () => {
      for await (const chunk of verified({ bytes, sha256: hash }, open(parts))) got.push(Buffer.from(chunk).toString());
    })().catch((reason: unknown) => reason);
    return [got.join(""), error instanceof FileError ? [error.gone, error.message] : error];
  };

  it.each([
    ["is sent whole", chunks, 5, sha256, ["abcde", undefined]],
    ["may be empty", [], 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", ["", undefined]],
    ["is gone", undefined, 5, sha256, ["", [true, "its file is gone from storage"]]],
    ["is longer", chunks, 4, sha256, ["ab", [false, "its stored file is longer than the one uploaded"]]],
    ["is another", chunks, 5, "other", ["abcd", [false, "its stored file is not the one uploaded"]]],
  ])("%s", async (_, parts, bytes, hash, outcome) => {
    expect(await read(parts, bytes, hash)).toEqual(outcome);
  });

  it("is the second part of a form whose length is known, and keeps the error that interrupts it", async () => {
    const sent = { name: "LOA", notes: null, file_hint: "LOA", filename: 'a"b\r\n.pdf' } as const;
    const form = (parts: readonly Uint8Array[] | undefined) =>
      filePartBody("limit", { id: "1" }, { sent, contentType: "application/pdf", bytes: 5, sha256, open: open(parts) });
    const body = form(chunks);
    const text = Buffer.concat(await Array.fromAsync(body.chunks())).toString();
    expect(text).toBe(
      '--limit\r\nContent-Disposition: form-data; name="metadata"\r\nContent-Type: application/json\r\n\r\n{"id":"1"}\r\n' +
        '--limit\r\nContent-Disposition: form-data; name="file"; filename="a%22b%0D%0A.pdf"\r\n' +
        "Content-Type: application/pdf\r\n\r\nabcde\r\n--limit--\r\n",
    );
    expect(body.headers).toEqual({
      "Content-Type": "multipart/form-data; boundary=limit",
      "Content-Length": String(text.length),
    });
    expect(body.failure()).toBe(undefined);
    const gone = form(undefined);
    await expect(Array.fromAsync(gone.chunks())).rejects.toThrow("its file is gone from storage");
    expect(gone.failure()).toMatchObject({ name: "FileError", gone: true });
  });
});
