import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { upload } from "../support/fixtures/attachments.ts";
import { post, switchesPath, switchOf } from "../support/fixtures/switches.ts";
import { type Tenants, tenants } from "../support/fixtures/tenants.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { call } from "../support/requests/client.ts";
import { proxies, startOnNewTable } from "../support/servers/own-table.ts";
import { byExtent, extent } from "../support/setup/extent.ts";

/** Concurrent writes to a table that refuses overlapping transactions as DynamoDB does. Each transaction takes 8 ms. */

const rounds = byExtent({ sample: 1, most: 3, all: 3 });
const switchCount = byExtent({ sample: 25, most: 100, all: 100 });
/** Whether to assert figures that depend on the speed of the embedded DynamoDB. */
const assertsTiming = process.env.TEST_TIMING !== "off";
/** Other tests at the same time make a ratio meaningless, so a sample does not measure it. */
const comparesTimes = assertsTiming && extent !== "sample";

const times = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => make(n)));

let t: Tenants;
let key: string;
const newTable = async () => {
  await startOnNewTable();
  t = await tenants();
  key = t.key("acme");
};
beforeEach(newTable);
afterEach(() => proxies.table.lock(true));

const eastSwitchesPath = () => `/api/v1/accounts/${t.account("east")}/switches`;
const expectTotal = async (path: string, total: number) =>
  expect((await call("GET", path, { key })).body).toMatchObject({ data: { page_info: { total } } });
const expectInvariants = async () => expect(await checkInvariants(new Date())).toEqual([]);

/** Creates a switch as a client does that retries a 503: a busy machine may be too slow for 100 connections at once. */
const createWithRetries = async (name: string) => {
  for (let attempt = 1; ; attempt += 1) {
    const response = await post(key, { name }, eastSwitchesPath(), { "idempotency-key": name });
    if (response.status === 201) return switchOf(response);
    if (response.status !== 503 || attempt === 10) throw new Error(`create: ${response.status} ${response.text}`);
    await sleep(100 * attempt * Math.random());
  }
};

/** Deletes with retries: after a 503, a 404 means that an earlier attempt succeeded. */
const deleteWithRetries = async (id: string) => {
  for (let attempt = 1; ; attempt += 1) {
    const { status } = await call("DELETE", `${switchesPath}/${id}`, { key });
    if (status === 404 && attempt > 1) return 200;
    if (status !== 503 || attempt === 10) return status;
    await sleep(100 * attempt * Math.random());
  }
};

/** Creates switches two levels deep, with or without conflicts; returns the time and the number of transactions. */
const createConcurrently = async (conflicts: boolean) => {
  await newTable();
  proxies.table.lock(conflicts);
  proxies.table.arm();
  const startedAt = performance.now();
  const created = await times(switchCount, (n) => createWithRetries(`Switch-${n}`));
  const transactions = proxies.table.calls.filter(({ operation }) => operation === "TransactWriteItems").length;
  return { created, transactions, ms: performance.now() - startedAt };
};

describe("switches of one account tree, changed concurrently", () => {
  it("are created with fewer than three retries each, and counted exactly", {
    timeout: 180_000,
  }, async () => {
    if (comparesTimes) await createConcurrently(false);
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const without = comparesTimes ? await createConcurrently(false) : undefined;
      const withConflicts = await createConcurrently(true);
      if (assertsTiming) expect(withConflicts.transactions).toBeLessThan(4 * switchCount);
      if (without) ratios.push(withConflicts.ms / without.ms);
      await expectTotal(switchesPath, switchCount);
    }
    if (comparesTimes) {
      console.info(
        "creates take this many times as long with conflicts:",
        ratios.map((ratio) => ratio.toFixed(2)),
      );
    }
    await expectInvariants();
  });

  it("are deleted and counted exactly", async () => {
    const { created } = await createConcurrently(true);
    const deleted = await times(switchCount, (n) => deleteWithRetries(created[n]?.id ?? ""));
    expect(deleted).toEqual(created.map(() => 200));
    await expectTotal(switchesPath, 0);
    await expectInvariants();
  });
});

describe("an item that is written concurrently", () => {
  it("gets every change of an attachment, one after the other", async () => {
    const path = t.attachments("request", "acme");
    const { id } = await upload(path, key);
    const change = (n: number) => ({ type: "request_attachment", data: { name: `Name ${n}` } });
    const changed = await times(8, (n) => call("PATCH", `${path}/${id}`, { key, json: change(n) }));
    expect(changed.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(changed.map(({ headers }) => headers.get("etag")).sort()).toEqual(
      [2, 3, 4, 5, 6, 7, 8, 9].map((n) => `"${n}"`),
    );
  });

  it("counts every upload to a request, and refuses none", { timeout: 300_000 }, async () => {
    const path = t.attachments("request", "acme");
    const count = byExtent({ sample: 20, most: 100, all: 200 });
    await times(count, () => upload(path, key));
    await expectTotal(path, count);
    await expectInvariants();
  });

  it.runIf(comparesTimes)("is uploaded to in a time that is printed, beside that of one after the other", async () => {
    const path = t.attachments("request", "acme");
    const msOf = async (work: () => Promise<unknown>) => {
      const startedAt = performance.now();
      await work();
      return performance.now() - startedAt;
    };
    const inTurn = await msOf(async () => {
      for (let n = 0; n < 100; n += 1) await upload(path, key);
    });
    const atOnce = await msOf(() => times(100, () => upload(path, key)));
    console.info(`100 uploads at once take ${(atOnce / inTurn).toFixed(2)} times as long as one after the other`);
    await expectTotal(path, 200);
  });
});
