import { BatchWriteCommand } from "@aws-sdk/lib-dynamodb";
import { ulid } from "ulid";
import { expect, it, vi } from "vitest";
import { today, verdictOf } from "../../infra/admin/orders/today.ts";
import { CheckoutRun } from "../../shared/checkout/checkout-schema.ts";
import { LateChange } from "../../shared/history/record.ts";
import { dynamodb } from "../../shared/table/client.ts";
import { keys } from "../../shared/table/keys.ts";
import { newOrder } from "../support/fixtures/orders.ts";
import { testCart } from "../support/fixtures/runs.ts";
import { addMessagingNumbers } from "../support/fixtures/tenants.ts";
import { admin } from "../support/requests/admin.ts";

const put = async (items: readonly object[]) => {
  for (let start = 0; start < items.length; start += 25) {
    const writes = items.slice(start, start + 25).map((Item) => ({ PutRequest: { Item: { ...Item } } }));
    await dynamodb().send(new BatchWriteCommand({ RequestItems: { [process.env.TABLE_NAME ?? ""]: writes } }));
  }
};

/** Reads Today, and counts the items that it got. */
const countedToday = async () => {
  const send = vi.spyOn(dynamodb(), "send");
  const found = await today(new Date());
  const results = await Promise.all(send.mock.results.map(({ value }) => value));
  const writes = send.mock.calls.filter(([command]) => /Scan|Put|Update|Delete|Write/.test(command.constructor.name));
  send.mockRestore();
  expect(writes).toEqual([]);
  const counts = results.map(({ Item, Items = [], Responses = {} }) => {
    const batch = Object.values(Responses).map((one) => Object(one).length);
    return batch.reduce((sum, one) => sum + one, Items.length + (Item ? 1 : 0));
  });
  return { found, items: counts.reduce((sum, one) => sum + one, 0) };
};

it("reads as many items from a table with many open checkouts as from one with more, and counts what it leaves out", async () => {
  const run = CheckoutRun.parse({
    run: "run",
    attempt: 1,
    earlier_runs: [],
    started_at: "2030-01-01T00:00:00.000Z",
    calls_end_by: "2030-01-01T00:00:00.000Z",
    ended_at: "2030-01-01T00:00:01.000Z",
    reason: "The carrier is away.",
    failure: "fault",
    outcome_unknown: false,
    cart: testCart,
    key: "",
    sealed: false,
    accepted: null,
    checked_out: false,
    waits: 0,
    last_answer: null,
    next_try_at: null,
    status: "FAILED",
  });
  const { account } = await newOrder(addMessagingNumbers);
  const open = Array.from({ length: 1_100 }, (_, nth) => {
    const id = ulid();
    const order = { id, account, state: "CART", attachment_count: 0, attachments_version: 1, ancestors: [] };
    const change = { order: id, id, parent: { type: "order", id }, name: `Letter ${nth}`, change: "created" } as const;
    const late = LateChange.parse({ ...change, at: "2030-01-01T00:00:00.000Z" });
    return [
      { ...keys.openCheckout(id), id },
      { ...keys.order(id), ...order, ...(nth % 2 === 0 && { state: "CHECKED_OUT" }) },
      { ...keys.checkout(id), ...run },
      { ...keys.lateChange(id, id), ...late },
    ];
  });
  await put(open.slice(0, 1_010).flat());
  const before = await countedToday();
  await put(open.slice(1_010).flat());
  const { found, items } = await countedToday();
  expect([before.items, items]).toEqual([items, expect.any(Number)]);
  expect(items).toBeLessThan(7_000);
  expect([found.failed.rows.length, found.failed.total]).toEqual([100, "more than 1,000"]);
  expect(found.late.rows).toHaveLength(100);
  expect(verdictOf(found)).toMatch(/^more than 1,000 failed, more than \d+ with late letters/);
  expect((await admin(["today"])).stdout).toContain("\n10 of more than 1,000; the rest: `order list --failed`\n");
});
