import { afterAll, beforeAll, expect, it } from "vitest";
import { newOrder } from "../support/fixtures/orders.ts";
import { carrier } from "../support/servers/carrier.ts";
import { proxies } from "../support/servers/own-table.ts";
import { checkOut } from "../support/servers/workflow.ts";
import { checkoutCosts, textsToChange } from "./expected.ts";

/** Counts the units that Step Functions, Lambda and DynamoDB charge for a checkout, at a proxy. */

const { table } = proxies;
let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(async () => {
  await upstream.close();
});

it.each(checkoutCosts)(
  "the cost of a checkout, requests: $requests, files of each: $files",
  async ({ requests, files, ...expected }) => {
    const order = await newOrder(...Array<string>(requests).fill("ADD_MESSAGING_NUMBERS"));
    for (let nth = 0; nth < requests * files; nth += 1) await order.attach(nth % requests);
    table.arm();
    let calls: typeof table.calls = [];
    const count = async () => {
      calls = [...table.calls];
    };
    const { status, called, entered } = await checkOut(order.id, { after: { "checkout/submit": [count] } });
    const units = (kind: "read" | "write") =>
      calls
        .filter(({ operation }) => /^(Put|Update|Delete|TransactWrite)/.test(operation) === (kind === "write"))
        .reduce((sum, call) => sum + call.units, 0);
    const cost = { states: entered, steps: called.length, readUnits: units("read"), writeUnits: units("write") };
    expect([status, cost], textsToChange).toEqual(["SUCCEEDED", expected]);
  },
);
