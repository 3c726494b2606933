import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { minimalMetadata } from "../../../shared/attachments/attachment-schema.ts";
import { FileError, filePartBody, verified } from "../../../shared/checkout/carrier-form.ts";
import { isActive } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun, Receipt } from "../../../shared/checkout/checkout-schema.ts";
import { isStillUnknown } from "../../../shared/checkout/end.ts";
import { mostSevere } from "../../../shared/checkout/forward.ts";
import { callTimeoutMs, longestCallMs, pauseSeconds } from "../../../shared/checkout/limits.ts";
import { isUpToDate } from "../../../shared/checkout/plan.ts";
import { announcement, isInFlight, secondsInFlight } from "../../../shared/checkout/receipts.ts";

/** The protocol's decisions that need neither a table nor a carrier. */

const now = new Date("2026-11-21T10:00:00.000Z");
const at = (ms: number) => new Date(now.getTime() + ms).toISOString();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now });
  vi.stubEnv("CARRIER_TIMEOUT_MS", "30000");
  vi.stubEnv("CARRIER_LONGEST_WAIT_SECONDS", "900");
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const attachment = {
  ...minimalMetadata("LOA"),
  id: "1",
  filename: "loa.pdf",
  content_type: "application/pdf",
  detected_type: null,
  encrypted: null,
  bytes: 1_000_000,
  sha256: "abc",
  version: 7,
  inserted_at: at(0),
  updated_at: at(0),
};

const planned = { of: "request", attachment, receipt: undefined } as const;
const first = announcement(planned, now);
const withReceipt = (changes: Partial<Receipt>) => announcement({ ...planned, receipt: { ...first, ...changes } }, now);

describe("the more severe of two endings", () => {
  const time = { kind: "time" } as const;
  const stop = { kind: "stop" } as const;
  const wait = (wait_seconds: number, reason = "") => ({ kind: "wait", wait_seconds, reason, receipt: first }) as const;
  const [short, long, equal] = [wait(5), wait(6), wait(5, "the later one")];
  it.each([
    ["nothing, the end of the time", undefined, time, time],
    ["nothing, a wait", undefined, short, short],
    ["nothing, the end of the run", undefined, stop, stop],
    ["the end of the time, a wait", time, short, short],
    ["a wait, the end of the time", short, time, short],
    ["the end of the run, a wait", stop, long, stop],
    ["a wait, the end of the run", long, stop, stop],
    ["the end of the run, the end of the time", stop, time, stop],
    ["the end of the time, the end of the run", time, stop, stop],
    ["a wait, a longer one", short, long, long],
    ["a wait, a shorter one", long, short, long],
    ["a wait, another as long", short, equal, short],
  ])("%s", (_, one, other, severest) => {
    expect(mostSevere(one, other)).toBe(severest);
  });
});

describe("whether the cart may be checked out", () => {
  const refused = (status: number | null) =>
    ({ kind: "refused", status, answer: "", reason: null, mayBeInProgress: false }) as const;
  const unavailable = {
    kind: "unavailable",
    reason: "",
    wait_seconds: 0,
    mayHaveActed: false,
    mayBeInProgress: false,
  } as const;
  it.each<readonly [ReturnType<typeof refused> | typeof unavailable, "no" | "open" | "unknown"]>([
    [refused(422), "no"],
    ...[null, 302, 401, 403, 404, 413, 425, 451].map((status) => [refused(status), "unknown"] as const),
    [unavailable, "open"],
  ])("%j: %s", (response, meaning) => {
    const unknown = (before: boolean, mayHaveActed: boolean) =>
      isStillUnknown(response.kind === "refused" ? response : { ...response, mayHaveActed }, before);
    const table = [unknown(false, false), unknown(false, true), unknown(true, false), unknown(true, true)];
    const all = {
      no: [false, false, false, false],
      open: [false, true, true, true],
      unknown: [true, true, true, true],
    };
    expect(table).toEqual(all[meaning]);
  });
});

describe("a run", () => {
  const week = (7 * 24 + 1) * 3_600_000;
  it.each<[CheckoutRun["status"], number, boolean]>([
    ["RUNNING", 0, true],
    ["STOPPING", 0, true],
    ["CRASHED", 0, false],
    ["FAILED", 0, false],
    ["SUCCEEDED", 0, false],
    ["RUNNING", week - 1, true],
    ["RUNNING", week, false],
    ["STOPPING", week, false],
  ])("that is %s after %i ms is active: %s", (status, age, active) => {
    expect(isActive({ status, started_at: at(-age) }, now)).toBe(active);
  });
});

describe("the limits of a call", () => {
  it.each([
    [0, 30_000, 135_000],
    [1, 30_001, 135_004],
    [1_000, 30_001, 135_004],
    [1_001, 30_002, 135_008],
    [1_000_000, 31_000, 139_000],
  ])("with %i bytes: %i ms for an attempt, %i ms in all", (bytes, attempt, all) => {
    expect([callTimeoutMs(bytes), longestCallMs(bytes)]).toEqual([attempt, all]);
  });

  it.each([
    [0, 0, 0, 3],
    [0, 0, 1, 5],
    [1, 0, 1, 10],
    [7, 0, 1, 640],
    [8, 0, 1, 900],
    [8, 0, 0, 450],
    [0, 3, 0, 3],
    [0, 4, 0, 4],
  ])("after %i waits, with Retry-After %i and jitter %f: %i s", (waits, retryAfter, jitter, seconds) => {
    expect(pauseSeconds(waits, retryAfter, () => jitter)).toBe(seconds);
  });
});

describe("the announcement of a call", () => {
  it("has the current metadata, and the time that the call can take", () => {
    expect(first).toEqual({
      attachment: "1",
      of: "request",
      state: "pending",
      at: at(0),
      sha256: "abc",
      bytes: 1_000_000,
      version: 7,
      sent: expect.objectContaining({ name: "LOA" }),
      attempts: 1,
      in_flight_until: at(149_000),
      status: null,
      answer: null,
      reason: null,
      last_answer: null,
      next_try_at: null,
    });
  });

  it.each<[string, Partial<Receipt>, number]>([
    ["forwarded", { state: "forwarded", version: 6 }, 7],
    ["refused", { state: "refused", version: 6 }, 7],
    ["withdrawn", { state: "withdrawn", version: 6 }, 7],
    ["pending", { state: "pending", version: 6 }, 6],
  ])("after one that is %s is of the right version", (_, receipt, version) => {
    expect(withReceipt({ ...receipt, attempts: 3 })).toMatchObject({ version, attempts: 4, state: "pending" });
  });

  it.each([
    ["null", null, 149_000],
    ["earlier", at(148_999), 149_000],
    ["later", at(149_001), 149_001],
  ])("ends no earlier than the call before: %s", (_, in_flight_until, ends) => {
    expect(withReceipt({ in_flight_until }).in_flight_until).toBe(at(ends));
  });

  it.each([
    [null, 0, false],
    [at(-1_000), -1, false],
    [at(0), 0, false],
    [at(1), 1, true],
    [at(1_001), 2, true],
  ])("until %s is in flight for %i s: %s", (in_flight_until, seconds, inFlight) => {
    expect(secondsInFlight({ ...first, in_flight_until })).toBeCloseTo(seconds);
    expect(isInFlight({ ...first, in_flight_until })).toBe(inFlight);
  });

  it("is up to date until the metadata that the carrier gets change", () => {
    expect(isUpToDate(first, attachment)).toBe(true);
    expect(isUpToDate(first, { ...attachment, version: 8 })).toBe(true);
    expect(isUpToDate(first, { ...attachment, name: "Another" })).toBe(false);
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

  const form = (parts: readonly Uint8Array[] | undefined, file = 'a"b\r\n.pdf') => {
    const metadata = { ...first.sent, filename: file };
    const part = { sent: metadata, contentType: "application/pdf", bytes: 5, sha256, open: open(parts) };
    return filePartBody("limit", { id: "1" }, part);
  };

  it("is the second part of a form whose length is known", async () => {
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
  });

  it("keeps the error that interrupts it", async () => {
    const body = form(undefined);
    await expect(Array.fromAsync(body.chunks())).rejects.toThrow("its file is gone from storage");
    expect(body.failure()).toMatchObject({ name: "FileError", gone: true });
  });
});
