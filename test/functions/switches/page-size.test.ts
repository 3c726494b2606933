import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listSwitchesRoutes } from "../../../shared/switches/routes.ts";
import { pageOf } from "../../support/fixtures/attachments.ts";
import { seedSwitches } from "../../support/fixtures/seed-items.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { invoke } from "../../support/requests/event.ts";
import { byExtent, exhaustive } from "../../support/setup/extent.ts";

/** The most bytes of a response object as JSON, where the body is escaped once more. For a larger one, the caller gets 502. */
const maxResponseBytes = 6_291_556;

const page = async (key: string, query: Record<string, string>) => {
  const result = await invoke(listSwitchesRoutes.own, { headers: { authorization: `Bearer ${key}` }, query });
  expect(result.statusCode).toBe(200);
  return { bytes: Buffer.byteLength(JSON.stringify(result)), ...pageOf({ body: JSON.parse(result.body) }) };
};

const walk = async (key: string, direction: "forward" | "backward") => {
  const pages: Awaited<ReturnType<typeof page>>[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const [size, from] = direction === "forward" ? ["first", "after"] : ["last", "before"];
    const next = await page(key, { [size]: "100", ...(cursor && { [from]: cursor }) });
    pages.push(next);
    cursor = direction === "forward" ? next.after : next.before;
  }
  return pages;
};

/** Lists 60 switches, with 20 endpoints of 2,048 of these characters each, in both directions. Returns the number of pages. */
const walkBothWays = async (characters: string) => {
  const t = await tenants();
  const account = { id: t.account("acme"), ancestors: [] };
  const text = Array.from({ length: 2_048 }, (_, n) => Array.from(characters)[n % Array.from(characters).length]).join(
    "",
  );
  const endpoints = Array(10).fill(text);
  const ids = (await seedSwitches([account], 60, { sms_endpoints: endpoints, mms_endpoints: endpoints })).sort();
  const key = t.key("acme");
  const [forward, backward] = [await walk(key, "forward"), await walk(key, "backward")];
  expect(forward.flatMap((one) => one.ids)).toEqual(ids);
  expect(backward.toReversed().flatMap((one) => one.ids)).toEqual(ids);
  for (const { bytes, total, limit } of [...forward, ...backward]) {
    expect(bytes).toBeLessThanOrEqual(maxResponseBytes);
    expect([total, limit]).toEqual([60, 100]);
  }
  const largest = Math.max(...[...forward, ...backward].map(({ bytes, ids: pageIds }) => bytes / pageIds.length));
  for (const { bytes } of [...forward.slice(0, -1), ...backward.slice(0, -1)])
    expect(bytes + 1.1 * largest).toBeGreaterThan(maxResponseBytes - 65_536);
  return forward.length;
};

const texts = [
  ["quotes", '"', 2],
  ["control characters", "\u0001", 3],
  ["backslashes", "\\", 2],
  ["line feeds", "\n", 2],
  ["letters of two bytes", "é", 1],
  ["emoji", "\u{1f600}", 2],
  ["all of these", 'a"\\\u0001\né\u{1f600}', 2],
] as const;

describe("a list of switches that exceeds Lambda's response limit", () => {
  it.runIf(exhaustive).each(texts)(
    "is complete in both directions, with pages as full as possible: %s",
    async (_, text, pages) => {
      expect(await walkBothWays(text)).toBe(pages);
    },
  );

  it.runIf(exhaustive)(
    "is complete with random texts",
    async () => {
      const character = fc.constantFrom('"', "\\", "\u0000", "\u001f", "\u007f", "\n", "a", "ß", "\u2028", "\u{1f4de}");
      const anyText = fc.string({ unit: character, minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(anyText, async (text) => void (await walkBothWays(text))),
        { numRuns: byExtent({ sample: 0, most: 5, all: 30 }) },
      );
    },
    300_000,
  );
});
