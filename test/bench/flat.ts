import { growths } from "../cost/growths.ts";
import type { Section } from "./figures.ts";
import { startParts } from "./parts.ts";

/** Measures the cost of each request with little and with much data stored. test/cost/flat.test.ts asserts that it is the same. */
export const flat = async (): Promise<Section> => {
  const parts = await startParts();
  const { pairs, close } = await growths({ many: 100_000, subAccounts: 1_000 });
  await close();
  await parts.stop();
  const rows = Object.entries(pairs).flatMap(([what, { few, many }]) =>
    [...few].map(([name, before]) => {
      const after = many.get(name);
      const figures = (cost = before) => `${cost.rounds} / ${cost.readUnits} / ${cost.writeUnits}`;
      return { growth: what, endpoint: name, few: figures(), many: figures(after) };
    }),
  );
  return {
    title: "Growth: round trips / read units / write units with little and with much data stored",
    notes: [
      "attachments: 60 and 100,000 of one parent; switches: 60 and 100,000; sub-accounts: 1 and 1,000; levels: 1 and 8",
      "(each level adds one entry and one count, 4 write units, to creating and deleting a switch)",
    ],
    rows,
  };
};
