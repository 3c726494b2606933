import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  callCarrier,
  describeRefusal,
  interpret,
  longestRetryAfterSeconds,
  retryAfterSeconds,
  waitMs,
} from "../../../shared/checkout/carrier-client.ts";

/** The decisions about the carrier's responses, without a carrier. */

describe("a response of the carrier", () => {
  it.each([
    [199, "retry, may have acted"],
    [200, "done"],
    [204, "done"],
    [299, "done"],
    [300, "refused"],
    [302, "refused"],
    [400, "refused"],
    [401, "refused"],
    [404, "refused"],
    [409, "refused"],
    [428, "refused"],
    [429, "retry, has not acted"],
    [430, "refused"],
    [499, "refused"],
    [500, "retry, may have acted"],
    [502, "retry, may have acted"],
    [503, "retry, has not acted"],
    [504, "retry, may have acted"],
    [599, "retry, may have acted"],
  ])("%i: %s", async (status, meaning) => {
    const response = Object.defineProperty(new Response(null), "status", { value: status });
    const result = await interpret(response, []);
    const acted = "mayHaveActed" in result && result.mayHaveActed ? "may have acted" : "has not acted";
    expect(result.kind === "retry" ? `retry, ${acted}` : result.kind).toBe(meaning);
    if (result.kind === "refused") expect(result.mayHaveActed).toBe(false);
    if (result.kind === "retry") expect(result.reason).toBe(`it responded with ${status}`);
  });

  it.each([
    [404, [404, 410], "done"],
    [410, [404, 410], "done"],
    [409, [404, 410], "refused"],
    [409, [409], "done"],
    [503, [503], "done"],
  ])("%i, if %j count as done: %s", async (status, alsoDone, kind) => {
    expect(await interpret(new Response("why", { status }), alsoDone)).toMatchObject({ kind, status, answer: "why" });
  });

  it("asks for a wait in Retry-After", async () => {
    const response = new Response(null, { status: 503, headers: { "Retry-After": "7" } });
    expect(await interpret(response, [])).toMatchObject({ kind: "retry", retryAfter: 7 });
  });

  it.each([
    [0, 0],
    [499, 499],
    [500, 500],
    [501, 500],
    [2_000, 500],
  ])("of %i characters is kept up to the 500th: %i", async (length, kept) => {
    const result = await interpret(new Response("x".repeat(length), { status: 422 }), []);
    expect(result).toMatchObject({ answer: "x".repeat(kept) });
  });

  it("is read no further than it is kept, also where a character is in two chunks", async () => {
    let read = 0;
    const [euro, rest] = [Buffer.from("€").subarray(0, 1), Buffer.from("€").subarray(1)];
    const chunks = async function* () {
      for (const chunk of [euro, rest, Buffer.alloc(499, "x"), Buffer.from("y"), Buffer.from("never read")]) {
        read += 1;
        yield chunk;
      }
    };
    const result = await interpret(new Response(ReadableStream.from(chunks())), []);
    expect([result, read <= 5]).toMatchObject([{ answer: `€${"x".repeat(499)}` }, true]);
  });

  it.each([
    [422, "why", "422 why"],
    [422, "", "422"],
    [null, "it redirects to another address", "it redirects to another address"],
  ])("%j %j is described as %j", (status, answer, described) => {
    expect(describeRefusal({ status, answer })).toBe(described);
  });
});

describe("a wait", () => {
  const now = new Date("2026-11-21T10:00:00Z");
  it.each([
    [null, 0],
    ["0", 0],
    ["7", 7],
    [" 7 ", 7],
    ["-7", 0],
    ["7.5", 0],
    ["7 s", 0],
    ["14400", longestRetryAfterSeconds],
    ["14399", 14_399],
    ["14401", 14_400],
    ["soon", 0],
    ["Sat, 21 Nov 2026 10:00:30 GMT", 30],
    ["2026-11-21T10:00:00.001Z", 1],
    ["Sat, 21 Nov 2026 09:00:00 GMT", 0],
    ["Sat, 21 Nov 2026 14:00:01 GMT", 14_400],
  ])("Retry-After %j is %i seconds", (given, seconds) => {
    expect(retryAfterSeconds(given, now)).toBe(seconds);
  });

  it.each([
    [1, 0, 0, 125],
    [1, 0, 1, 250],
    [2, 0, 1, 500],
    [3, 0, 0.5, 750],
    [1, 1, 1, 1_000],
    [3, 1, 1, 1_000],
    [4, 1, 1, 2_000],
  ])("after attempt %i with Retry-After %i and jitter %f takes %i ms", (attempt, retryAfter, jitter, ms) => {
    expect(waitMs(attempt, retryAfter, () => jitter)).toBe(ms);
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
      throw attempt === "redirect"
        ? new TypeError("fetch failed", { cause: new Error("unexpected redirect") })
        : networkError(attempt ?? "TOO_MANY");
    });
  };
  const call = { method: "POST", path: "/carts/1/checkout", idempotencyKey: "checkout-1" } as const;

  it.each<[string, Attempt[], object]>([
    ["is done at once", [200], { kind: "done", status: 200, answer: "why" }],
    ["is refused at once", [422], { kind: "refused", status: 422, answer: "why", mayHaveActed: false }],
    ["is repeated after 500", [500, 200], { kind: "done" }],
    ["is done in the fourth attempt", [503, 503, 503, 200], { kind: "done" }],
    ["has four attempts", [503, 503, 503, 503], { kind: "unavailable", wait_seconds: 0, mayHaveActed: false }],
    ["remembers an earlier attempt that may have acted", [500, 429, 429, 429], { mayHaveActed: true }],
    ["may have acted in its last attempt", [429, 429, 429, 500], { kind: "unavailable", mayHaveActed: true }],
    ["may have acted before its refusal", [500, 422], { kind: "refused", status: 422, mayHaveActed: true }],
    ["has not acted before its refusal", [503, 422], { kind: "refused", mayHaveActed: false }],
    ["is refused by a redirect", ["redirect"], { kind: "refused", status: null, mayHaveActed: false }],
    ["is refused by a redirect after it may have acted", [500, "redirect"], { status: null, mayHaveActed: true }],
    ["may have acted where the connection broke", ["ECONNRESET", 422], { kind: "refused", mayHaveActed: true }],
    ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].map(
      (code): [string, Attempt[], object] => [`never arrived with ${code}`, [code, 422], { mayHaveActed: false }],
    ),
  ])("%s: %j", async (_, attempts, outcome) => {
    const fetched = carrierThat(...attempts);
    expect(await callCarrier(call)).toMatchObject(outcome);
    expect(fetched.mock.calls.length).toBe(attempts.length);
  });
});
