import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { newFolder } from "../support/fixtures/new-folder.ts";
import { plot } from "./plot.ts";

it("plots the measured sections as light and dark SVGs without external resources", async () => {
  const folder = newFolder();
  const cold = { bundle: "switches/show", "beside the bare client": 0.6, target: 0.75 };
  const flat = { growth: "switches", endpoint: "switches/show", few: "2 / 3 / 0", many: "2 / 3 / 0" };
  await plot({ cold: { title: "", rows: [cold] }, flat: { title: "", rows: [flat] } }, folder);
  expect(readdirSync(folder).sort()).toEqual(["benchmark-dark.svg", "benchmark-light.svg"]);
  const [dark = "", light = ""] = readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"));
  expect(light).not.toBe(dark);
  for (const svg of [light, dark]) {
    expect(svg).toMatch(/^<svg .*Cold start.*switches\/show.*Capacity units/s);
    expect(svg).not.toContain("Warm");
    expect(svg).not.toMatch(/<script|<image|href="http/);
  }
});
