import { afterAll, beforeAll, expect, it } from "vitest";
import { newOrder } from "../support/fixtures/orders.ts";
import { carrier } from "../support/servers/carrier.ts";
import { proxies } from "../support/servers/own-table.ts";
import { checkOut } from "../support/servers/workflow.ts";
import { byExtent } from "../support/setup/extent.ts";
import { checkoutCosts, largeCheckoutCost, textsToChange } from "./expected.ts";

/** Counts what Step Functions, Lambda, DynamoDB and S3 charge for a checkout, at proxies. */

const { table, files: storage } = proxies;
const large = [...checkoutCosts, largeCheckoutCost];
const measured = byExtent({ sample: checkoutCosts.slice(0, 1), most: large, all: large });
let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(async () => {
  await upstream.close();
});

it.each(measured)(
  "the cost of a checkout, requests: $requests, files of each: $files",
  // 500 files take more than a minute on a busy machine.
  { timeout: 900_000 },
  async ({ requests, files, ...expected }) => {
    const order = await newOrder(...Array<string>(requests).fill("ADD_MESSAGING_NUMBERS"));
    for (let nth = 0; nth < requests * files; nth += 1) await order.attach(nth % requests);
    table.arm();
    storage.arm();
    let calls: typeof table.calls = [];
    let fileCalls = 0;
    const count = async () => {
      calls = [...table.calls];
      fileCalls = storage.calls.length;
    };
    const { status, called, entered } = await checkOut(order.id, { after: { "checkout/submit": [count] } });
    const units = (kind: "read" | "write") =>
      calls
        .filter(({ operation }) => /^(Put|Update|Delete|TransactWrite)/.test(operation) === (kind === "write"))
        .reduce((sum, call) => sum + call.units, 0);
    const cost = {
      states: entered,
      steps: called.length,
      tableCalls: calls.length,
      fileCalls,
      readUnits: units("read"),
      writeUnits: units("write"),
    };
    expect([status, cost], textsToChange).toEqual(["SUCCEEDED", expected]);
  },
);
