import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as vega from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import type { Section } from "../bench/figures.ts";

/** Draws the benchmark: ratios of cold starts and warm requests to bare clients, and capacity units as the data grow. */

type Row = Section["rows"][number];

const themes = {
  light: { text: "#16242a", line: "#d5dfe0", ours: "#0b7285", other: "#9aa9ad", target: "#a3262c" },
  dark: { text: "#e3ecee", line: "#2b3d42", ours: "#7fc4cf", other: "#6d8087", target: "#f39a98" },
} as const;

type Theme = (typeof themes)[keyof typeof themes];

const width = 260;

const y = (field: string) => ({ field, type: "nominal", sort: null, axis: { title: null, labelLimit: 0 } }) as const;

/** Draws each ratio as a bar and its target as a tick. */
const ratios = (theme: Theme, title: string, rows: readonly Row[], name: string, ratio: string) => ({
  title,
  width,
  height: { step: 15 },
  data: { values: rows.map((row) => ({ name: row[name], ratio: row[ratio], target: row.target || null })) },
  encoding: { y: y("name") },
  layer: [
    {
      mark: { type: "bar" as const, height: 9 },
      encoding: {
        x: { field: "ratio", type: "quantitative" as const, title: "times the bare client" },
        color: { condition: { test: "datum.target === null", value: theme.other }, value: theme.ours },
      },
    },
    {
      transform: [{ filter: "datum.target !== null" }],
      mark: { type: "tick" as const, color: theme.target, thickness: 2, size: 13 },
      encoding: { x: { field: "target", type: "quantitative" as const } },
    },
  ],
});

/** The sum of read and write units in `"3 / 5.5 / 6"` (rounds, read units, write units). */
const unitsOf = (figures: string | number | undefined) =>
  String(figures)
    .split(" / ")
    .slice(1)
    .reduce((sum, each) => sum + Number(each), 0);

const much = "datum.stored === 'much'";

/** Draws a ring for little data and a dot for much. The dot is in the ring if the units do not grow. */
const flatness = (theme: Theme, rows: readonly Row[]) => ({
  title: "Capacity units with little (ring) and much (dot) data stored",
  data: {
    values: rows.flatMap(({ growth, endpoint, few, many }) => [
      { growth, endpoint, stored: "little", units: unitsOf(few) },
      { growth, endpoint, stored: "much", units: unitsOf(many) },
    ]),
  },
  facet: {
    row: {
      field: "growth",
      sort: null,
      title: null,
      header: { labelAnchor: "start" as const, labelFontWeight: "bold" as const },
    },
  },
  resolve: { scale: { y: "independent" as const } },
  spec: {
    width,
    height: { step: 15 },
    mark: { type: "point" as const, strokeWidth: 2, opacity: 1 },
    encoding: {
      y: y("endpoint"),
      x: { field: "units", type: "quantitative" as const, title: "read and write units" },
      size: { condition: { test: much, value: 22 }, value: 90 },
      fill: { condition: { test: much, value: theme.ours }, value: "transparent" },
      stroke: { condition: { test: much, value: theme.ours }, value: theme.other },
    },
  },
});

const configOf = ({ text, line }: Theme) => ({
  background: "transparent",
  font: "system-ui, sans-serif",
  view: { stroke: null },
  title: { color: text, anchor: "start" as const },
  header: { labelColor: text },
  axis: { labelColor: text, titleColor: text, gridColor: line, domainColor: line, tickColor: line },
});

/** The ratios are one above the other, and growth is beside them. */
const panelsOf = (theme: Theme, { cold, warm, flat }: Readonly<Record<string, Section>>) => {
  const bars = [
    ...(cold ? [ratios(theme, "Cold start", cold.rows, "bundle", "beside the bare client")] : []),
    ...(warm ? [ratios(theme, "Warm, 3 ms from AWS", warm.rows, "endpoint", "ratio")] : []),
  ];
  return [...(bars.length > 0 ? [{ vconcat: bars }] : []), ...(flat ? [flatness(theme, flat.rows)] : [])];
};

/** Writes `benchmark-light.svg` and `benchmark-dark.svg`; sections that did not run are left out. */
export const plot = async (sections: Readonly<Record<string, Section>>, folder: string) => {
  mkdirSync(folder, { recursive: true });
  for (const [name, theme] of Object.entries(themes)) {
    const spec: TopLevelSpec = {
      $schema: "https://vega.github.io/schema/vega-lite/v6.json",
      config: configOf(theme),
      hconcat: panelsOf(theme, sections),
      spacing: 40,
    };
    const view = new vega.View(vega.parse(compile(spec).spec), { renderer: "none" });
    writeFileSync(join(folder, `benchmark-${name}.svg`), await view.toSVG());
  }
};
