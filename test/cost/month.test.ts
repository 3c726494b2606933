import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startFaultProxy } from "../support/fault-proxy/proxy.ts";
import { synthesize } from "../support/models/template.ts";
import { carrier } from "../support/servers/carrier.ts";
import { checkoutCost, idle, idleSandbox, month, monthlyLines } from "./month.ts";

/** What docs/cost.md and docs/limits.md calculate: each figure follows from what is measured here and in `round-trips.test.ts`. */

const textOf = (file: string) => readFileSync(join(import.meta.dirname, "../..", file), "utf8");

const table = await startFaultProxy(process.env.AWS_ENDPOINT_URL_DYNAMODB ?? "");
process.env.AWS_ENDPOINT_URL_DYNAMODB = table.url;
let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(async () => {
  await Promise.all([upstream.close(), table.close()]);
});

it(`a checkout of ${month.files} files passes as many states, and takes as many units, as the month counts with`, async () => {
  const { newOrder } = await import("../support/fixtures/orders.ts");
  const { checkOut } = await import("../support/servers/workflow.ts");
  const order = await newOrder("ADD_MESSAGING_NUMBERS");
  for (let nth = 0; nth < month.files; nth += 1) await order.attach(0);
  table.arm();
  let calls: typeof table.calls = [];
  const count = async () => {
    calls = [...table.calls];
  };
  const { status, called, entered } = await checkOut(order.id, { after: { "checkout/submit": [count] } });
  const units = (writing: boolean) =>
    calls
      .filter(({ operation }) => /^(Put|Update|Delete|TransactWrite)/.test(operation) === writing)
      .reduce((sum, call) => sum + call.units, 0);
  const { events, ...counted } = checkoutCost;
  expect([status, { states: entered, steps: called.length, readUnits: units(false), writeUnits: units(true) }]).toEqual(
    ["SUCCEEDED", counted],
  );
  // One for each file, and one for the order.
  expect(events).toBe(month.files + 1);
});

it("docs/cost.md has the month's bill", async () => {
  const { routes } = await import("../../shared/routes.ts");
  const { steps } = await import("../../shared/checkout/steps.ts");
  const resources = [...synthesize("production").resources.values()];
  // An alarm costs as much as the metrics that it adds up.
  const alarms = resources
    .filter(({ kind }) => kind === "CloudWatch::Alarm")
    .reduce((sum, { properties }) => sum + (JSON.stringify(properties).match(/"MetricStat":/g)?.length ?? 1), 0);
  // The time of each endpoint and step, and the counts of the sweep.
  const lines = monthlyLines({ metrics: routes.length + steps.length + 2, alarms });
  const total = lines.reduce((sum, { dollars }) => sum + dollars, 0);
  const rows = [
    ...lines.map(({ what, dollars, of }) => `| ${what} | ${dollars.toFixed(0)} | ${of} |`),
    `| all | ${total.toFixed(0)} | |`,
  ];
  expect(textOf("docs/cost.md")).toContain(rows.join("\n"));
  expect(textOf("docs/cost.md")).toContain(`$${idle(alarms).toFixed(2)} a month`);
  expect(textOf("docs/cost.md")).toContain(`$${(idleSandbox / 30.4).toFixed(2)} a day`);
});
