import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Cost } from "../support/servers/measured.ts";
import { byExtent } from "../support/setup/extent.ts";
import { type Grown, growths } from "./growths.ts";

/** What a request costs does not grow with what is stored: `npm run bench` tries the same with 100,000 of each. */

const many = byExtent({ sample: 400, most: 1_500, all: 10_000 });
/** More than a page of 50 shows. */
const subAccounts = byExtent({ sample: 60, most: 100, all: 100 });
let grown: Grown;
beforeAll(async () => {
  grown = await growths({ many, subAccounts });
}, 120_000);
afterAll(() => grown.close());

const shown = ({ calls: _, ...cost }: Cost) => cost;

describe("rounds and units are the same", () => {
  it.each(["attachments of a request", "attachments of an order", "switches of an account", "sub-accounts"] as const)(
    "with few and with many %s",
    (what) => {
      const { few, many } = grown.pairs[what];
      expect(few.size).toBeGreaterThan(0);
      for (const [name, cost] of few) {
        // A page of 50 shows as many accounts, each of them one item, where the switches of few are of one.
        const accounts = what === "sub-accounts" && /list.*include=account/.test(name) ? 49 : 0;
        const expected = { ...shown(cost), readUnits: cost.readUnits + accounts };
        expect(shown(many.get(name) ?? cost), name).toEqual(expected);
      }
      expect([...many.keys()]).toEqual([...few.keys()]);
    },
  );

  it("at the top of 1 level of accounts and of 8, but for the one entry and count that each level adds to a switch", () => {
    const { few, many } = grown.pairs.levels;
    for (const [name, cost] of few) {
      const perLevel = /create|delete/.test(name) ? 7 * 4 : 0;
      expect([name, shown(many.get(name) ?? cost)]).toEqual([
        name,
        { ...shown(cost), writeUnits: cost.writeUnits + perLevel },
      ]);
    }
  });
});
