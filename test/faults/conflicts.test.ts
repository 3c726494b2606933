import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import { upload } from "../support/fixtures/attachments.ts";
import { post, switchesPath, switchOf } from "../support/fixtures/switches.ts";
import { addMessagingNumbers, customer, type Tenants, tenants } from "../support/fixtures/tenants.ts";
import { checkInvariants } from "../support/models/invariants.ts";
import { call } from "../support/requests/client.ts";
import { proxies, startOnNewTable } from "../support/servers/own-table.ts";
import { byExtent, exhaustive } from "../support/setup/extent.ts";

/** Concurrent writes to a table that refuses overlapping transactions as DynamoDB does. Each transaction takes 8 ms. */

const rounds = byExtent({ sample: 1, most: 3, all: 3 });
const switchCount = byExtent({ sample: 25, most: 100, all: 100 });
/** Whether to assert the number of attempts, which depends on the speed of the embedded DynamoDB. */
const assertsTiming = process.env.TEST_TIMING !== "off";

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

const eastSwitchesPath = () => `/api/v1/accounts/${t.account("east")}/switches`;
const expectTotal = async (path: string, total: number) =>
  expect((await call("GET", path, { key })).body).toMatchObject({ data: { page_info: { total } } });
const expectInvariants = async () => expect(await checkInvariants(new Date())).toEqual([]);

/** Creates a switch, with retries after a 503, because a busy machine may be too slow for 100 connections at once. */
const createWithRetries = async (name: string) => {
  for (let attempt = 1; ; attempt += 1) {
    const response = await post(key, { name }, eastSwitchesPath(), { "idempotency-key": name });
    if (response.status === 201) return switchOf(response);
    if (response.status !== 503 || attempt === 10) throw new Error(`create: ${response.status} ${response.text}`);
    await sleep(100 * attempt * Math.random());
  }
};

/** Deletes a switch, with retries. After a 503, a 404 means that an earlier attempt succeeded. */
const deleteWithRetries = async (id: string) => {
  for (let attempt = 1; ; attempt += 1) {
    const { status } = await call("DELETE", `${switchesPath}/${id}`, { key });
    if (status === 404 && attempt > 1) return 200;
    if (status !== 503 || attempt === 10) return status;
    await sleep(100 * attempt * Math.random());
  }
};

it.runIf(exhaustive)(
  "switches of one account tree are created and deleted concurrently with fewer than three retries each, and counted exactly",
  {
    timeout: 180_000,
  },
  async () => {
    for (let round = 0; round < rounds; round += 1) {
      await newTable();
      proxies.table.arm();
      const created = await times(switchCount, (n) => createWithRetries(`Switch-${n}`));
      const transactions = proxies.table.calls.filter(({ operation }) => operation === "TransactWriteItems").length;
      if (assertsTiming) expect(transactions).toBeLessThan(4 * switchCount);
      await expectTotal(switchesPath, switchCount);
      await expectInvariants();
      const deleted = await times(switchCount, (n) => deleteWithRetries(created[n]?.id ?? ""));
      expect(deleted).toEqual(created.map(() => 200));
      await expectTotal(switchesPath, 0);
      await expectInvariants();
    }
  },
);

it("a request counts every concurrent upload, and refuses none", { timeout: 300_000 }, async () => {
  const path = t.attachments("request", "acme");
  const count = byExtent({ sample: 20, most: 100, all: 200 });
  await times(count, () => upload(path, key));
  await expectTotal(path, count);
  await expectInvariants();
});

it.runIf(exhaustive)(
  "the requests of one order count every concurrent upload, and refuse none",
  { timeout: 300_000 },
  async () => {
    const of = await customer({ requestTypes: Array(10).fill(addMessagingNumbers) });
    const paths = of.requests.map((request) => `/api/v1/requests/${request}/attachments`);
    const count = byExtent({ sample: 20, most: 100, all: 200 });
    await times(count, (n) => upload(paths[n % paths.length] ?? "", of.key));
    for (const path of paths)
      expect((await call("GET", path, { key: of.key })).body).toMatchObject({
        data: { page_info: { total: count / paths.length } },
      });
    await expectInvariants();
  },
);
