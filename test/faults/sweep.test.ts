import { setTimeout as sleep } from "node:timers/promises";
import pLimit from "p-limit";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { handler } from "../../functions/sweep-orphan-files.ts";
import { startTable } from "../../infra/local/table.ts";
import { createAttachment } from "../../shared/attachments/attachments.ts";
import { fileKey } from "../../shared/attachments/file-keys.ts";
import { allFiles, putFile } from "../../shared/attachments/files.ts";
import { dueDays, sweepOrphanFiles } from "../../shared/attachments/sweep.ts";
import { keys } from "../../shared/table/keys.ts";
import { get } from "../../shared/table/read.ts";
import { transact } from "../../shared/table/write.ts";
import { readParent } from "../../shared/tenants/orders.ts";
import { operator } from "../support/fixtures/apply.ts";
import { attachmentOf, upload } from "../support/fixtures/attachments.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { newAttachment, storedFile } from "../support/fixtures/upload-content.ts";
import { completePath, sentUpload } from "../support/fixtures/uploads.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { admin, adminJson } from "../support/requests/admin.ts";
import { call } from "../support/requests/client.ts";
import { proxies, startOnNewTable } from "../support/servers/own-table.ts";
import { byExtent, exhaustive } from "../support/setup/extent.ts";

const dayMs = 86_400_000;
const later = (days: number) => new Date(Date.now() + days * dayMs);
const ago = (days: number) => later(-days).toISOString().slice(0, 10);
const content = new Uint8Array([1]);

/** Makes the table's only sweep one before its oldest file was stored. */
const sweptLongAgo = () => transact({ sweep: { put: { ...keys.sweep(), first_on: ago(60) } } });

const startOnSweptTable = async () => {
  await startOnNewTable();
  await sweptLongAgo();
};

let t: Awaited<ReturnType<typeof tenants>>;
let parent: { type: "request"; id: string };
beforeEach(async () => {
  await startOnSweptTable();
  t = await tenants();
  parent = { type: "request", id: t.request("acme") };
});

/** Stores a file without metadata, as an upload that crashes between its steps does. */
const orphan = async (number: number, day?: string) => {
  const id = `01ARZ3NDEKTSV4RRFFQ69${String(number).padStart(5, "0")}`;
  const own = fileKey(parent, id);
  const today = new Date().toISOString().slice(0, 10);
  const key = own.replace(/\d{4}\/\d\d\/\d\d/, (day ?? today).replaceAll("-", "/"));
  await putFile(key, storedFile(content));
  return { id, key };
};

/** Delays calls whose operation has this prefix. */
const slow = (name: string) => async (called: { readonly operation: string }) => {
  if (called.operation.startsWith(name)) await sleep(100);
};

/** Stores files of a day, the first `unknown` of them without metadata. */
const storeDay = async (date: string, files: number, unknown: number) => {
  const created = await pLimit(50).map(Array(files).keys(), (n) => orphan(n, date));
  const known = created.slice(unknown).map(({ id }) => [id, { put: { ...keys.attachment(parent, id), id } }] as const);
  for (let start = 0; start < known.length; start += 100)
    await transact(Object.fromEntries(known.slice(start, start + 100)));
  return created;
};

const storedKeys = async () => (await Array.fromAsync(allFiles())).map(({ key }) => key);
const sweep = (days: number, more = {}) => sweepOrphanFiles({ now: later(days), ...more });

/**
 * The time left for a sweep that is in time so often. It looks before each day, and before each batch of 50 files of its two
 * passes.
 */
const enoughFor = (checks: number) => {
  let left = checks;
  return () => (left-- > 0 ? 20_000 : 19_999);
};

describe("the sweep", () => {
  it("ends the receipts of deleted attachments, in its function and in its command", async () => {
    const remaining = { functionName: "sweep", getRemainingTimeInMillis: () => 900_000 };
    const inFunction = async () => {
      const lines = vi.spyOn(process.stdout, "write").mockReturnValue(true);
      await handler({}, remaining);
      lines.mockRestore();
    };
    for (const run of [inFunction, () => admin(["sweep"])]) {
      const { id } = await upload(t.attachments("order", "acme"), t.key("acme"));
      await call("DELETE", `${t.attachments("order", "acme")}/${id}`, { key: t.key("acme") });
      expect(await get(keys.deletedAttachment(id))).toBeDefined();
      await run();
      expect(await get(keys.deletedAttachment(id))).toBeUndefined();
    }
  });

  it("removes only files that have no metadata and are older than a day", async () => {
    const { id } = await upload(t.attachments("request", "acme"), t.key("acme"));
    const ofOrder = await upload(t.attachments("order", "acme"), t.key("acme"));
    const kept = [fileKey(parent, id), fileKey({ type: "order", id: t.order("acme") }, ofOrder.id)];
    const { key } = await orphan(1);
    expect(await sweep(0)).toMatchObject({ removed: 0 });
    expect(await storedKeys()).toContain(key);
    expect(await sweep(2)).toEqual({ days: 1, files: 3, removed: 1, finished: true });
    expect(await storedKeys()).toEqual(kept.sort());
    expect(await checkInvariants(later(2))).toEqual([]);
    // An object whose key is not that of an attachment's file stays, and hides no file.
    for (const other of [`${key}x`, "attachments/keep"]) await putFile(other, storedFile(content));
    await orphan(2);
    expect(await sweep(2, { all: true })).toMatchObject({ files: 4, removed: 1 });
  });

  it("removes the file of an unused direct upload once it is a day old", async () => {
    const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
    const used = await sentUpload(path, key);
    const json = { type: "request_attachment", data: { name: "Scan" } };
    expect((await call("POST", completePath(path, used.id), { key, json })).status).toBe(201);
    const { id } = await sentUpload(path, key);
    expect(await sweep(0.9, { all: true })).toMatchObject({ removed: 0 });
    expect(await storedKeys()).toContain(fileKey(parent, id));
    expect(await sweep(2.1)).toMatchObject({ files: 2, removed: 1, finished: true });
    expect(await storedKeys()).toEqual([fileKey(parent, used.id)]);
    expect(await checkInvariants(later(2.1))).toEqual([]);
  });

  it("keeps a new file that was stored under an old day until it is a day old", async () => {
    const { key } = await orphan(1, ago(9));
    expect(await sweep(0.9)).toMatchObject({ files: 1, removed: 0 });
    expect(await storedKeys()).toEqual([key]);
  });

  it("reads only the days that are due", async () => {
    await orphan(1, ago(40));
    await sweep(2);
    await orphan(2, ago(39));
    proxies.files.arm();
    await sweep(3);
    const listed = proxies.files.calls.map(({ sent }) => new URL(`http://x${sent}`).searchParams.get("prefix"));
    const days = listed.filter((prefix) => prefix !== "attachments/");
    expect(days).toHaveLength(2);
    expect(new Set(days).size).toBe(days.length);
    expect(await sweep(3)).toMatchObject({ days: 0, files: 0 });
  });

  it.runIf(exhaustive)("stops before its function times out, and resumes there", async () => {
    for (let n = 1; n <= 4; n += 1) await orphan(n, ago(9 - n));
    const { id, key } = await orphan(5, ago(7));
    await transact({ known: { put: { ...keys.attachment(parent, id), id } } });
    const remainingMs = enoughFor(6);
    expect(await sweep(2, { remainingMs })).toEqual({ days: 2, files: 3, removed: 2, finished: false });
    expect(await storedKeys()).toHaveLength(3);
    expect(await sweep(2, { remainingMs })).toMatchObject({ files: 0, finished: false });
    expect(await sweep(2)).toMatchObject({ files: 2, removed: 2, finished: true });
    expect(await storedKeys()).toEqual([key]);
  });

  it.runIf(exhaustive)("resumes within a day of many files, while it counts them and while it removes", async () => {
    const created = await pLimit(50).map(Array(160).keys(), (n) => orphan(n, ago(9)));
    const record = ({ id }: { id: string }) => ({ put: { ...keys.upload(parent, id), id } });
    for (const some of [created.slice(0, 100), created.slice(100)])
      await transact(Object.fromEntries(some.map((each) => [each.id, record(each)])));
    const run = (batches: number) => sweep(2, { remainingMs: enoughFor(1 + batches) });
    expect(await run(3)).toEqual({ days: 0, files: 150, removed: 0, finished: false });
    expect(await run(2)).toEqual({ days: 0, files: 10, removed: 50, finished: false });
    expect(await sweep(2, { remainingMs: enoughFor(0) })).toMatchObject({ files: 0, removed: 0, finished: false });
    expect(await run(0)).toEqual({ days: 0, files: 0, removed: 0, finished: false });
    expect(await run(2)).toEqual({ days: 0, files: 0, removed: 100, finished: false });
    expect(await sweep(2)).toMatchObject({ files: 0, removed: 10, finished: true });
    expect(await storedKeys()).toEqual([]);
  });

  it("skips no day that became due while a sweep was unfinished", async () => {
    await sweep(2);
    await orphan(1, ago(29));
    await orphan(2, ago(58));
    expect(await sweep(3, { remainingMs: enoughFor(3) })).toMatchObject({ removed: 1, finished: false });
    // Finishes the sweep of the day before. The oldest file's day is due only in today's sweep.
    expect(await sweep(4)).toMatchObject({ removed: 0, finished: true });
    expect(await sweep(4)).toMatchObject({ removed: 1, finished: true });
  });

  it.runIf(exhaustive)("removes the same files after a failure of S3 or DynamoDB", async () => {
    for (const [proxy, operation] of [
      [proxies.files, /ListObjectsV2/],
      [proxies.files, /DeleteObject/],
      [proxies.table, /BatchGetItem/],
      [proxies.table, /TransactWriteItems/],
    ] as const) {
      await startOnSweptTable();
      const [, b] = [await orphan(1, ago(9)), await orphan(2, ago(8))];
      proxy.arm({ kind: "status-503", operation, times: 9 });
      await expect(sweep(2), String(operation)).rejects.toMatchObject({ status: 503 });
      proxy.arm();
      expect(await sweep(2), String(operation)).toMatchObject({ finished: true });
      expect([await storedKeys(), b.key], String(operation)).toEqual([[], b.key]);
    }
  });

  it("ends after its last write", async () => {
    const { id } = await orphan(1);
    const record = keys.unfinishedDelete(parent, id);
    await transact({ record: { put: { ...record, id } } });
    proxies.table.watch(slow("TransactWriteItems"));
    expect(await sweep(2, { all: true })).toMatchObject({ removed: 1 });
    expect(await get(record)).toBeUndefined();
    proxies.table.watch(async () => {});
  });

  it.each([1, 2])("keeps a file whose metadata appears after check %i of three", async (last) => {
    const { id, key } = await orphan(1);
    let checks = 0;
    proxies.table.watch(async ({ operation }, moment) => {
      if (operation !== "BatchGetItem" || moment !== "after") return;
      checks += 1;
      if (checks === last) await transact({ one: { put: { ...keys.attachment(parent, id), id } } });
    });
    expect(await sweep(2)).toMatchObject({ files: 1, removed: 0, finished: true });
    proxies.table.watch(async () => {});
    expect([checks, await storedKeys()]).toEqual([last === 1 ? 1 : 3, [key]]);
  });
});

describe("an error of a write is returned", () => {
  it("after the delete that could not remove its file is noted, so that a repeated one finishes it", async () => {
    const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
    const { id } = await upload(path, key);
    const remove = (headers = {}) => call("DELETE", `${path}/${id}`, { key, headers });
    proxies.files.arm({ kind: "status-503", operation: /DeleteObject/, times: 9 });
    proxies.table.watch(slow("TransactWriteItems"));
    expect((await remove()).status).toBe(503);
    expect(await get(keys.unfinishedDelete(parent, id))).toBeDefined();
    proxies.table.watch(async () => {});
    expect((await call("GET", `${path}/${id}`, { key })).status).toBe(404);
    proxies.files.arm();
    expect((await remove({ "If-Match": '"2"' })).status).toBe(412);
    expect(attachmentOf(await remove({ "If-Match": '"1"' })).id).toBe(id);
    expect([await storedKeys(), await get(keys.unfinishedDelete(parent, id)), (await remove()).status]).toEqual([
      [],
      undefined,
      404,
    ]);
  });

  it("after such a delete whose file was removed without a response, of which nothing stays for ever", async () => {
    const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
    const { id } = await upload(path, key);
    const remove = () => call("DELETE", `${path}/${id}`, { key });
    proxies.files.arm({ kind: "status-503", operation: /DeleteObject/, times: 9 });
    expect((await remove()).status).toBe(503);
    proxies.files.arm();
    const record = keys.unfinishedDelete(parent, id);
    const expiresAt = Number((await get(record))?.expires_at) * 1000;
    // The record outlasts a month without sweeps.
    expect(expiresAt).toBeGreaterThan(later(33).getTime());
    await transact({ record: { update: record, set: { expires_at: Math.floor(Date.now() / 1000) }, when: {} } });
    expect((await remove()).status).toBe(404);
  });

  it("after the file of an upload whose parent is gone is removed", async () => {
    const stored = await readParent(parent);
    if (!stored) throw new Error("no parent");
    proxies.files.watch(slow("DeleteObject"));
    const work = createAttachment(
      { ...stored, id: crypto.randomUUID() },
      newAttachment(content),
      operator(),
      undefined,
    );
    await expect(work).rejects.toMatchObject({ status: 404 });
    expect(await storedKeys()).toEqual([]);
    proxies.files.watch(async () => {});
  });
});

describe("the fuse of the sweep", () => {
  it("removes nothing of a day with more than 10 files and more than 5 % that the table does not know", async () => {
    const files = await storeDay(ago(9), 30, 11);
    await orphan(900, ago(8));
    const stopped = { day: ago(9), files: 30, unknown: 11 };
    const expected = { days: 0, files: 30, removed: 0, finished: false, stopped };
    expect(await sweep(2)).toEqual(expected);
    expect(await sweep(2, { dryRun: true })).toEqual(expected);
    expect(await sweep(3, { all: true })).toEqual(expected);
    expect(await sweep(3)).toEqual(expected);
    expect(await storedKeys()).toHaveLength(31);
    expect(await sweep(3, { force: true })).toMatchObject({ files: 31, removed: 12, finished: true });
    expect(await storedKeys()).toEqual(files.slice(11).map(({ key }) => key));
  });

  it.runIf(exhaustive)("lets a day with 10 such files pass, and one with 5 %", async () => {
    await storeDay(ago(9), 10, 10);
    expect(await sweep(2)).toMatchObject({ files: 10, removed: 10, finished: true });
    await startOnSweptTable();
    // S3 lists 1,000 files at a time. 220 is the lowest number of which 5 % are more than 10.
    const files = byExtent({ sample: 220, most: 1_060, all: 1_060 });
    await storeDay(ago(9), files, files / 20);
    expect(await sweep(2)).toMatchObject({ files, removed: files / 20, finished: true });
    expect(await storedKeys()).toHaveLength(files - files / 20);
  });

  it.runIf(exhaustive)("judges a day by all its files, even if it takes several runs to count them", async () => {
    // The first 100 files look bad, and the whole day does not.
    const created = await storeDay(ago(9), 300, 15);
    const run = (batches: number) => sweep(2, { remainingMs: enoughFor(1 + batches) });
    for (const files of [100, 150]) expect(await run(files / 50)).toMatchObject({ files, removed: 0, finished: false });
    expect(await sweep(2)).toMatchObject({ files: 50, removed: 15, finished: true });
    // Now the first 250 files look good, and the whole day does not.
    const lost = created.slice(-16).map(({ id }) => [id, { delete: keys.attachment(parent, id) }] as const);
    await transact(Object.fromEntries(lost));
    await sweptLongAgo();
    const stopped = { day: ago(9), files: 285, unknown: 16 };
    expect(await run(5)).toMatchObject({ files: 250, removed: 0, finished: false });
    expect(await sweep(2)).toMatchObject({ files: 35, removed: 0, stopped });
    // It counts the whole day again, because the table may be another one.
    expect(await sweep(2)).toMatchObject({ files: 285, removed: 0, stopped });
    expect(await storedKeys()).toHaveLength(285);
  });

  it.runIf(exhaustive)("holds if a counted day changes, or a sweep with --force was interrupted", async () => {
    await storeDay(ago(9), 100, 30);
    expect(await sweep(2, { force: true, remainingMs: enoughFor(1 + 2) })).toMatchObject({ files: 100, removed: 0 });
    const stopped = { day: ago(9), files: 100, unknown: 30 };
    expect(await sweep(2)).toEqual({ days: 0, files: 100, removed: 0, finished: false, stopped });
    expect(await storedKeys()).toHaveLength(100);
  });

  it("does not count files of uploads that were never claimed, and of unfinished deletes", async () => {
    const files = await storeDay(ago(9), 22, 22);
    const records = files.map(({ id }, index) => {
      const key = index % 2 === 0 ? keys.upload(parent, id) : keys.unfinishedDelete(parent, id);
      return [id, { put: { ...key, id } }] as const;
    });
    await transact(Object.fromEntries(records));
    expect(await sweep(2)).toMatchObject({ files: 22, removed: 22, finished: true });
    expect(await get(keys.unfinishedDelete(parent, files[1]?.id ?? ""))).toBeUndefined();
  });
});

it.runIf(exhaustive)("removes what one caller abandoned, though no sweep came for a month", async () => {
  const path = t.attachments("request", "acme");
  const abandoned = await Promise.all(Array.from({ length: 12 }, () => sentUpload(path, t.key("acme"))));
  for (const { id } of abandoned) {
    const expiresAt = Number((await get(keys.upload(parent, id)))?.expires_at) * 1000;
    // Simulates the table's TTL.
    if (expiresAt < later(33).getTime()) await transact({ upload: { delete: keys.upload(parent, id) } });
  }
  expect(await sweep(33)).toMatchObject({ files: 12, removed: 12, finished: true });
});

describe("a table's first sweep", () => {
  it.runIf(exhaustive)("keeps the files of an empty table's bucket, and of all days long before it", async () => {
    await upload(t.attachments("request", "acme"), t.key("acme"));
    const { key } = await orphan(1);
    const files = await storedKeys();
    const [own, empty] = [process.env.TABLE_NAME, `empty-${crypto.randomUUID()}`];
    await startTable(empty, { endpoint: process.env.AWS_ENDPOINT_URL_DYNAMODB });
    process.env.TABLE_NAME = empty;
    for (const more of [{ dryRun: true }, { all: true, force: true }, {}]) {
      expect(await sweep(3, more)).toMatchObject({ files: 0, removed: 0, finished: true });
      expect((await get(keys.sweep()))?.first_on).toBe("dryRun" in more ? undefined : ago(-3));
    }
    for (const days of [4, 33, 63]) expect(await sweep(days, { force: true })).toMatchObject({ removed: 0 });
    expect(await storedKeys()).toEqual(files);
    process.env.TABLE_NAME = own;
    expect(await sweep(3)).toMatchObject({ removed: 1, finished: true });
    expect(await storedKeys()).toEqual(files.filter((each) => each !== key));
  });

  it("removes files of the two days before it", async () => {
    await startOnNewTable();
    const { key } = await orphan(1, ago(1));
    await orphan(2, ago(0));
    expect(await sweep(2)).toMatchObject({ files: 1, removed: 1, finished: true });
    expect(await storedKeys()).toEqual([key]);
    expect(await sweep(2, { all: true })).toMatchObject({ files: 0 });
  });
});

it.runIf(exhaustive)(
  "comes to the end of a day of 2,100 files, though each sweep ends after two pages or is killed",
  async () => {
    const created = await storeDay(ago(9), 2_100, 21);
    const killedAfter = (batches: number) => {
      const left = enoughFor(1 + batches);
      return () => {
        if (left() < 20_000) throw new Error("killed");
        return 20_000;
      };
    };
    await expect(sweep(2, { remainingMs: killedAfter(39) })).rejects.toThrow("killed");
    expect(await sweep(2, { remainingMs: enoughFor(1 + 40) })).toMatchObject({
      files: 1_100,
      removed: 21,
      finished: false,
    });
    await expect(sweep(2, { remainingMs: killedAfter(19) })).rejects.toThrow("killed");
    expect(await sweep(2, { remainingMs: enoughFor(1 + 40) })).toMatchObject({ files: 0, removed: 0 });
    expect(await storedKeys()).toEqual(created.slice(21).map(({ key }) => key));
  },
);

describe("the days that a sweep reads", () => {
  it("are each new day once all its files are a day old, and each older day every 30 days", () => {
    const start = Date.parse("2026-01-01T00:00:00Z");
    const day = (n: number) => new Date(start + n * dayMs).toISOString().slice(0, 10);
    const read = new Map<string, number[]>();
    for (let today = 0; today < 120; today += 1)
      for (const due of dueDays(day(0), today === 0 ? undefined : day(today - 1), day(today)))
        read.set(due, [...(read.get(due) ?? []), today]);
    for (let n = 0; n <= 117; n += 1)
      expect(read.get(day(n)), day(n)).toEqual([2, 32, 62, 92].map((age) => n + age).filter((today) => today < 120));
  });

  it("include those of missed sweeps", () => {
    const missed = ["2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"];
    expect(dueDays("2026-01-01", "2026-01-03", "2026-01-07")).toEqual(missed);
    expect(dueDays("2026-01-01", "2026-01-07", "2026-01-07")).toEqual([]);
    expect(dueDays("2026-03-01", undefined, "2026-01-07")).toEqual([]);
  });
});

describe("the sweep's function", () => {
  /** Runs the function with this much time. Returns the lines that it logs. */
  const logOf = async (remainingMs: number) => {
    vi.stubEnv("LOG_LEVEL", "ERROR");
    const lines = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    await handler({}, { functionName: "sweep", getRemainingTimeInMillis: () => remainingMs });
    const written = lines.mock.calls.map(([line]) => JSON.parse(String(line)));
    lines.mockRestore();
    vi.unstubAllEnvs();
    return written;
  };

  it("logs its metrics for CloudWatch in one line, after the count of overdue checkouts", async () => {
    await orphan(1, ago(9));
    const [overdue, unfinished] = await logOf(1_000);
    expect(overdue).toMatchObject({ OverdueCheckouts: 0, FunctionName: "sweep" });
    expect(unfinished).toMatchObject({ SweepsUnfinished: 1, SweepsStopped: 0 });
    const [, line] = await logOf(60_000);
    const counts = { SweptFiles: 1, OrphanFilesRemoved: 0, SweepsUnfinished: 0, SweepsStopped: 0 };
    expect(line).toMatchObject({ ...counts, FunctionName: "sweep" });
    const [{ Namespace, Dimensions, Metrics }] = line._aws.CloudWatchMetrics;
    expect([Namespace, Dimensions, Metrics.length]).toEqual(["Patchbay", [["FunctionName"]], 5]);
    for (const { Name } of Metrics) expect(line[Name], Name).toEqual(expect.any(Number));
  });

  it("logs that it has stopped, and why", async () => {
    for (let n = 1; n <= 11; n += 1) await orphan(n);
    vi.useFakeTimers({ toFake: ["Date"], now: later(2) });
    const [, line, counts] = await logOf(60_000);
    vi.useRealTimers();
    expect(line).toMatchObject({ level: "ERROR", message: "SWEEP_STOPPED", day: ago(0), files: 11, unknown: 11 });
    expect(counts).toMatchObject({ OrphanFilesRemoved: 0, SweepsUnfinished: 0, SweepsStopped: 1 });
  });
});

describe("admin sweep", () => {
  it("counts without removing with --dry-run", async () => {
    await orphan(1, ago(9));
    expect(await adminJson(["sweep", "--dry-run"])).toMatchObject({ files: 1, would_remove: 0 });
    expect(await get(keys.sweep())).not.toHaveProperty("swept_on");
    expect((await admin(["sweep", "--all"])).stdout).toMatch(/^removed +0$/m);
    expect(await sweep(2, { dryRun: true })).toMatchObject({ removed: 1 });
    expect(await storedKeys()).toHaveLength(1);
  });

  it("exits with 1 and says what to do if the table does not know the files, and removes them with --force", async () => {
    for (let n = 1; n <= 11; n += 1) await orphan(n);
    vi.useFakeTimers({ toFake: ["Date"], now: later(2) });
    const { stdout, stderr, code } = await admin(["sweep", "--json"]);
    const forced = await adminJson(["sweep", "--force"]);
    vi.useRealTimers();
    const stopped = { code: "SWEEP_STOPPED", day: ago(0), files: 11, unknown: 11 };
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { finished: false, removed: 0, stopped }]);
    expect(stderr).toContain("SWEEP_STOPPED: 11 of the 11 files");
    expect(forced).toMatchObject({ finished: true, removed: 11 });
  });
});
