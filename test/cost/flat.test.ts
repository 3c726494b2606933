import { beforeAll, describe, expect, it } from "vitest";
import type { Cost } from "../support/servers/measured-service.ts";
import { byExtent, exhaustive } from "../support/setup/extent.ts";
import { expectedRounds } from "./expected.ts";
import { growths } from "./growths.ts";

/** The cost of a request does not grow with the stored data. */

const many = byExtent({ sample: 120, most: 1_500, all: 10_000 });
const subAccounts = byExtent({ sample: 70, most: 100, all: 100 });
let grown: Awaited<ReturnType<typeof growths>>;
beforeAll(async () => {
  grown = await growths({ many, subAccounts });
}, 120_000);

const withoutCalls = ({ calls: _, ...cost }: Cost) => cost;

const grows = (name: string) => `${name} grows: if it is to, change docs/cost.md, which states that prices do not`;

/** Reads every request of the order. */
const growing = "order-attachments/show?include=file,forwarding";

describe("a request has the same round trips and units", () => {
  it.runIf(exhaustive)("with few and with many items in each collection", async () => {
    const much = await grown.withMuch["stored data"]();
    for (const [name, cost] of grown.withLittle)
      if (name !== growing) expect(withoutCalls(much.get(name) ?? cost), grows(name)).toEqual(withoutCalls(cost));
    expect([...much.keys()].sort()).toEqual([...expectedRounds.keys()].sort());
  });

  it.runIf(exhaustive)(
    "below 1 and below 7 accounts, apart from the entry and the count that each level adds to a switch",
    async () => {
      const much = await grown.withMuch["account levels"]();
      for (const [name, cost] of grown.withLittle) {
        const perLevel = /^switches\/(create|delete)/.test(name) ? 6 * 4 : 0;
        const expected = { ...withoutCalls(cost), writeUnits: cost.writeUnits + perLevel };
        expect(withoutCalls(much.get(name) ?? cost), grows(name)).toEqual(expected);
      }
    },
  );
});
