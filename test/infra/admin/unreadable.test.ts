import { beforeAll, describe, expect, it } from "vitest";
import { beginRun } from "../../../shared/checkout/checkout-run.ts";
import { expireReceipts } from "../../../shared/checkout/expire-receipts.ts";
import { countOverdueRuns } from "../../../shared/checkout/metrics.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { newOrder, type TestOrder } from "../../support/fixtures/orders.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { admin } from "../../support/requests/admin.ts";
import { captureLogs } from "../../support/servers/captured-logs.ts";
import { startOnNewTable } from "../../support/servers/own-table.ts";

let newer: TestOrder;
let failed: TestOrder;

beforeAll(async () => {
  await startOnNewTable();
  [newer, failed] = await Promise.all([newOrder(addMessagingNumbers), newOrder(addMessagingNumbers)]);
  for (const { id } of [newer, failed]) {
    await beginRun({ order_id: id, run: "last" }, new Date());
    await storeRun(id, { failure: "refused", ended_at: new Date().toISOString(), next_try_at: null });
  }
  // A newer release wrote it, and was then rolled back.
  const set = { status: "PAUSED" };
  await transact({ run: { update: keys.checkout(newer.id), set, when: { exists: true } } });
});

const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await admin([...args, "--json"]);
  return { code, rows: JSON.parse(stdout), said: stderr.split("\n").filter((line) => line.includes("cannot be read")) };
};

describe("a run that cannot be read", () => {
  const sentence = () =>
    `The item ORDER#${newer.id} CHECKOUT cannot be read: status invalid_value. It is left out. A newer release may have written it.`;

  it("is named by each list, which goes on and ends with 1", async () => {
    const rest = { failure: null, ended_at: null, attachments: 0 };
    const listed = await run("order", "list", "--account", newer.account);
    expect(listed).toEqual({
      code: 1,
      rows: [{ id: newer.id, account: newer.account, state: "CART", last_run: "UNREADABLE", ...rest }],
      said: [sentence()],
    });
    const row = { id: failed.id, failure: "refused" };
    expect(await run("order", "list", "--failed")).toMatchObject({ code: 1, rows: [row], said: [sentence()] });
    expect(await run("order", "list", "--waiting")).toEqual({ code: 1, rows: [], said: [sentence()] });
    expect(await run("order", "checkout", "--failed")).toEqual({ code: 1, rows: [], said: [sentence()] });
    expect((await admin(["order", "list", "--late"])).code).toBe(0);
  });

  it("is a finding of check", async () => {
    const { code, rows } = await run("check");
    const detail = "status invalid_value: it is damaged, or a newer release has written it";
    const at = `ORDER#${newer.id} CHECKOUT`;
    expect([code, rows]).toEqual([1, [{ level: "violation", rule: "an item can be read", at, detail }]]);
  });

  it("stops no sweep: the receipts of other orders still expire, and overdue runs are counted", async () => {
    for (const order of [newer, failed]) await order.remove(0, await order.attach(0));
    await transact({ order: { update: keys.order(failed.id), set: { state: "CHECKED_OUT" }, when: { exists: true } } });
    const logs = captureLogs();
    expect([await countOverdueRuns(new Date()), await expireReceipts()]).toEqual([0, 1]);
    const message = expect.stringContaining(`ORDER#${newer.id} CHECKOUT cannot be read`);
    const line = { message: "unreadable item", error: { message } };
    expect(logs.lines()).toMatchObject([line, line]);
    expect(await run("sweep")).toMatchObject({ code: 1, rows: { finished: true }, said: [sentence()] });
  });

  it("does not keep an account from being listed if another cannot be read", async () => {
    const stored = await get(keys.account(newer.account));
    await transact({ account: { update: keys.account(newer.account), set: { name: 5 }, when: { exists: true } } });
    const { code, rows, said } = await run("account", "list");
    expect([code, rows.map(({ id }: { id: string }) => id)]).toEqual([1, [failed.account]]);
    expect(said).toEqual([
      expect.stringContaining(`ACCOUNT#${newer.account} ACCOUNT cannot be read: name invalid_type`),
    ]);
    await transact({ account: { put: { ...keys.account(newer.account), ...stored } } });
  });
});
