import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Cost } from "../support/servers/measured-service.ts";
import { byExtent, sampleOf } from "../support/setup/extent.ts";
import { growths } from "./growths.ts";

/** The cost of a request does not grow with the stored data. `npm run bench` measures the same with 100,000 of each. */

const many = byExtent({ sample: 120, most: 1_500, all: 10_000 });
/** More than fit on a page of 50. */
const subAccounts = byExtent({ sample: 60, most: 100, all: 100 });
let grown: Awaited<ReturnType<typeof growths>>;
beforeAll(async () => {
  grown = await growths({ many, subAccounts });
}, 120_000);
afterAll(() => grown.close());

const withoutCalls = ({ calls: _, ...cost }: Cost) => cost;

const beside = [
  "attachments of a request",
  "attachments of an order",
  "switches of an account",
  "sub-accounts",
] as const;

describe("a request has the same round trips and units", () => {
  it.each(sampleOf(beside, byExtent({ sample: 2, most: 1, all: 1 })))("with few and with many %s", async (what) => {
    const { few, many } = await grown.pairs[what]();
    expect(few.size).toBeGreaterThan(0);
    for (const [name, cost] of few) {
      // With many sub-accounts, the switches on a page of 50 belong to 50 accounts instead of one, each one item.
      const accounts = what === "sub-accounts" && /list.*include=account/.test(name) ? 49 : 0;
      const expected = { ...withoutCalls(cost), readUnits: cost.readUnits + accounts };
      expect(withoutCalls(many.get(name) ?? cost), name).toEqual(expected);
    }
    expect([...many.keys()]).toEqual([...few.keys()]);
  });

  it("with 1 and with 8 levels of accounts, apart from the entry and the count that each level adds to a switch", async () => {
    const { few, many } = await grown.pairs["account levels"]();
    for (const [name, cost] of few) {
      const perLevel = /create|delete/.test(name) ? 7 * 4 : 0;
      expect([name, withoutCalls(many.get(name) ?? cost)]).toEqual([
        name,
        { ...withoutCalls(cost), writeUnits: cost.writeUnits + perLevel },
      ]);
    }
  });
});
