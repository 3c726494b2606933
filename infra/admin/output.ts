/** How the CLI speaks: JSON for programs, tables for people; errors go to stderr, with what to do next. */

export type Row = Readonly<Record<string, unknown>>;

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return "-";
  return Array.isArray(value) ? value.join(", ") || "-" : String(value);
};

/** A table with a heading line and columns as wide as their widest cell; rows share the first row's columns. */
export const table = (rows: readonly Row[]): string => {
  const [first] = rows;
  if (!first) return "Nothing found.";
  const lines = [Object.keys(first), ...rows.map((row) => Object.keys(first).map((name) => cell(row[name])))];
  const widths = Object.keys(first).map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
};

export const printJson = (value: unknown): void => console.log(JSON.stringify(value, null, 2));

/** Rows as a table, or as JSON where `--json` asks for it. */
export const printRows = (rows: readonly Row[], { json }: { readonly json?: boolean | undefined }): void =>
  json ? printJson(rows) : console.log(table(rows));

/** One thing, a line for each of its properties, or JSON. */
export const printThing = (thing: Row, { json }: { readonly json?: boolean | undefined }): void => {
  const width = Math.max(...Object.keys(thing).map((name) => name.length));
  const lines = Object.entries(thing).map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`);
  console.log(json ? JSON.stringify(thing, null, 2) : lines.join("\n"));
};
