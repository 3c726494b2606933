import { growths } from "../cost/growths.ts";
import type { Section } from "./figures.ts";
import { startParts } from "./parts.ts";

/** Measures the cost of each request with little and with much data stored. test/cost/flat.test.ts asserts that it is the same. */
export const flat = async (): Promise<Section> => {
  const parts = await startParts();
  const { withLittle, withMuch, close } = await growths({ many: 100_000, subAccounts: 1_000 });
  const rows: Section["rows"][number][] = [];
  for (const [growth, measure] of Object.entries(withMuch)) {
    const much = await measure();
    for (const [endpoint, before] of withLittle) {
      const figures = (cost = before) => `${cost.rounds} / ${cost.readUnits} / ${cost.writeUnits}`;
      rows.push({ growth, endpoint, few: figures(), many: figures(much.get(endpoint)) });
    }
  }
  await close();
  await parts.stop();
  return {
    title: "Growth: round trips / read units / write units with little and with much data stored",
    notes: [
      "stored data: 60 and 100,000 attachments of each parent and switches, 60 and 1,000 of all other lists, such as sub-accounts",
      "account levels: 1 and 7 above the sub-accounts (each adds 4 write units to creating and deleting a switch)",
    ],
    rows,
  };
};
