import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { textOfResource, textsOfResources } from "../support/models/deployed-production.ts";
import { checkoutCosts, endpointCosts, textsToChange } from "./expected.ts";

/** The documents state what follows from the measured units. */

const documentOf = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

/** The list prices of us-east-1 in November 2026, in dollars for a million units of an on-demand table. */
const dollars = (readUnits: number, writeUnits: number) => 0.125 * readUnits + 0.625 * writeUnits;

const [tenLetters] = checkoutCosts;
const unitsOf = (wanted: string) => {
  const [, , , , readUnits = 0, writeUnits = 0] = endpointCosts.find(([name]) => name === wanted) ?? [];
  return [readUnits, writeUnits] as const;
};
const [upload, show] = [unitsOf("request-attachments/create"), unitsOf("request-attachments/show")];

it.each([
  ["1 million uploads", dollars(...upload)],
  ["10 million reads", 10 * dollars(...show)],
  ["100,000 checkouts of 10 files", 0.1 * dollars(tenLetters.readUnits, tenLetters.writeUnits)],
])("the bill has the table's part of %s", (what, expected) => {
  const row = documentOf("docs/cost.md")
    .split("\n")
    .find((line) => line.startsWith(`| ${what} |`));
  expect(row, textsToChange).toContain(` table ${expected.toFixed(1)},`);
});

const bill = documentOf("docs/cost.md")
  .split("\n")
  .flatMap((line) => {
    const [, what = "", dollars, parts = ""] = /^\| (.+?) \| (\d+) \| (.*) ?\|$/.exec(line) ?? [];
    const part = (text: string) => Number(/ ([\d.]+)$/.exec(text.trim())?.[1] ?? 0);
    return dollars ? [{ what, dollars: Number(dollars), parts: parts.split(",").map(part) }] : [];
  });
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

it("each line of the bill is the sum of its parts, and the last one is the sum of the others", () => {
  const lines = bill.slice(0, -1);
  expect(lines.map(({ dollars }) => dollars)).toEqual(lines.map(({ parts }) => Math.round(sum(parts))));
  expect(bill.at(-1)).toMatchObject({ what: "all", dollars: sum(lines.map(({ dollars }) => dollars)) });
});

it("the bill has the alarms and the web ACL of production", () => {
  const metricsOf = (alarm: string) => Math.max(1, alarm.split("MetricStat").length - 1);
  const alarms = textsOfResources().filter((text) => text.split("\n")[0]?.includes("(CloudWatch::Alarm)"));
  const rules = textOfResource("RateLimits").split("RateBasedStatement").length - 1;
  const expected = [
    `alarms ${(0.1 * sum(alarms.map(metricsOf))).toFixed(1)},`,
    `web ACL ${(5 + rules + 0.6 * 11).toFixed(1)},`,
  ];
  for (const part of expected) expect(documentOf("docs/cost.md"), textsToChange).toContain(part);
});

it("the first lines of the bill have the cheapest and the dearest read, and an upload with its file", () => {
  const reads = endpointCosts.filter((cost) => cost[5] === 0).map((cost) => dollars(cost[4], 0));
  const range = `a million reads of a few documents cost $${Math.min(...reads).toFixed(2)} to $${Math.max(...reads).toFixed(2)}`;
  const files = 5;
  const uploads = `million uploads cost $${(dollars(...upload) + files).toFixed(2)}`;
  const text = documentOf("docs/cost.md").replaceAll("\n", " ");
  for (const part of [range, uploads]) expect(text, textsToChange).toContain(part);
});

const times = (units: number, loads: readonly number[]) =>
  loads.map((load) => (units * load).toLocaleString("en-US")).join(" | ");

it.each([
  ["write", tenLetters.writeUnits],
  ["read", tenLetters.readUnits],
] as const)("the table of limits has the %s units of each load of checkouts", (kind, units) => {
  const row = documentOf("docs/limits.md")
    .replaceAll("*", "")
    .split("\n")
    .find((line) => line.startsWith(`| new table: ${kind} units |`));
  expect(row, textsToChange).toContain(` | ${times(units, [1, 50, 500])} | `);
});
