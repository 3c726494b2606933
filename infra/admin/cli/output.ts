import { styleText } from "node:util";
import stringWidth from "fast-string-width";
import { wrapAnsi } from "fast-wrap-ansi";

/** The CLI's output. People get tables, and programs get JSON. */

export type Row = Readonly<Record<string, unknown>>;

/** Control characters, lone surrogates, line separators and marks that change the direction of text. */
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Escapes characters that could control a terminal, as in `\u001b`. */
export const safe = (text: string): string =>
  text.replace(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Like `safe`, but keeps line breaks. */
export const safeLines = (text: string): string => text.split("\n").map(safe).join("\n");

/** Fits most lists. Longer lines are as hard to read in a file, or in `less`, as on a terminal. */
const widthOfPipe = 160;

/** The columns of the terminal, or COLUMNS. */
const terminalWidth = () => process.stdout.columns || Number(process.env.COLUMNS) || widthOfPipe;

const styles = new Map<string, Parameters<typeof styleText>[0]>([
  ...["ok", "SUCCEEDED", "CHECKED_OUT", "forwarded"].map((text) => [text, "green"] as const),
  ...["RUNNING", "pending", "notice", "skipped"].map((text) => [text, "yellow"] as const),
  ...["FAULT", "NO", "FAILED", "CRASHED", "refused", "violation"].map((text) => [text, "red"] as const),
]);

/** The colour of a state, or undefined for any other text. */
export const styleOf = (text: string) => styles.get(text);

/** Colours a state on a terminal, unless NO_COLOR is set. Any other text is returned unchanged. */
export const paint = (text: string): string => {
  const style = styleOf(text);
  return style === undefined ? text : styleText(style, text, { stream: process.stdout });
};

/** The text of a value in a table. It may contain characters that control a terminal. */
export const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.map(textOf).join(", ") || "-";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** A cell is one line, so a line break becomes a blank. */
const cell = (value: unknown): string =>
  paint(
    safe(
      textOf(value)
        .split("\n")
        .map((line) => line.trim())
        .join(" "),
    ),
  );

export const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - stringWidth(text)));

const wrap = (text: string, width: number): string[] =>
  Number.isFinite(width) ? wrapAnsi(text, width, { hard: true, trim: false }).split("\n") : [text];

const truncate = (text: string, width: number): string =>
  stringWidth(text) <= width
    ? text
    : `${wrapAnsi(text, width - 1, { hard: true, wordWrap: false, trim: false }).split("\n")[0]}…`;

const gap = 2;
const minWidth = 8;
const ulidWidth = 26;

type Fit = { readonly width?: number; readonly whole?: boolean; readonly lines?: boolean };

/** Narrows the widest columns until the table fits, but none below the width of an id. Returns undefined if it cannot fit. */
const fitColumns = (natural: readonly number[], width: number, { whole, lines }: Fit): number[] | undefined => {
  // The first column has ids, and cut lines must still show them.
  const [fixed, widths] = lines ? [natural.slice(0, 1), natural.slice(1)] : [[], [...natural]];
  const total = () => [...fixed, ...widths].reduce((sum, one) => sum + one + gap, -gap);
  while (total() > width) {
    const widest = Math.max(...widths);
    if (lines && widest <= minWidth) break;
    if (!lines && (whole || widest <= ulidWidth)) return undefined;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return [...fixed, ...widths];
};

const nothing = "Nothing found.";

/**
 * Truncates long texts on a narrow terminal. Where that is not enough, or `whole` forbids it, rows become blocks of lines. With
 * `lines`, each row stays one line.
 */
export const table = (rows: readonly Row[], fit: Fit = {}): string => tableInParts(fit)(rows) ?? nothing;

/** Formats a table part by part. The first part has the heading. In later parts, columns can only become wider. */
const tableInParts = ({ width = terminalWidth(), ...fit }: Fit = {}) => {
  let natural: number[] | undefined;
  return (rows: readonly Row[]): string | undefined => {
    const [first] = rows;
    if (!first) return undefined;
    const names = Object.keys(first);
    const cells = [...(natural ? [] : [names]), ...rows.map((row) => names.map((name) => cell(row[name])))];
    natural = names.map((_, column) =>
      cells.reduce((widest, texts) => Math.max(widest, stringWidth(texts[column] ?? "")), natural?.[column] ?? 0),
    );
    const widths = fitColumns(natural, width, fit);
    if (!widths) return rows.map((row) => block(withoutEmpty(row), width)).join("\n\n");
    const line = (texts: readonly string[]) =>
      texts.map((text, column) => pad(truncate(text, widths[column] ?? 0), (widths[column] ?? 0) + gap)).join("");
    return cells.map((texts) => line(texts).trimEnd()).join("\n");
  };
};

const withoutEmpty = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => cell(value) !== "-"));

/** One line for each property. A long value continues on the next line. On a very narrow terminal, values start there. */
const block = (record: Row, width: number): string => {
  const widest = Math.max(...Object.keys(record).map((name) => stringWidth(name))) + gap;
  const isNarrow = width - widest < ulidWidth;
  const indent = isNarrow ? gap : widest;
  const lines = Object.entries(record).flatMap(([name, value]) => {
    const text = paint(safeLines(textOf(value).trimEnd()));
    const [first = "", ...others] = wrap(text, Math.max(width - indent, minWidth)).map((line) => line.trimEnd());
    const heading = isNarrow ? [truncate(name, width), " ".repeat(gap) + first] : [pad(name, indent) + first];
    return [...heading, ...others.map((text) => " ".repeat(indent) + text.trimStart())];
  });
  return lines.join("\n");
};

/** JSON.stringify does not escape DEL and the C1 control characters. Escaping them does not change the value. */
export const printJson = (value: unknown): void => console.log(safeLines(JSON.stringify(value, null, 2)));

/** The option `--json` of a command. It prints JSON, for programs, instead of tables. */
export type Format = { readonly json: boolean };

export const printRows = (rows: readonly Row[], { json }: Format, { whole = false } = {}): void =>
  json ? printJson(rows) : console.log(table(rows, { whole }));

/** Prints one line a row. A pipe gets the whole of each. */
export const printLines = (rows: readonly Row[], { json }: Format): void => {
  const width = process.stdout.columns || Number(process.env.COLUMNS) || Number.POSITIVE_INFINITY;
  if (json) printJson(rows);
  else console.log(table(rows, { width, lines: true }));
};

/** Prints a table as its rows arrive, but JSON only at the end, because an error in between would make it invalid. */
export const printParts = async (parts: AsyncIterable<readonly Row[]>, { json }: Format): Promise<void> => {
  if (json) return printJson((await Array.fromAsync(parts)).flat());
  const tableOf = tableInParts();
  let isEmpty = true;
  for await (const rows of parts) {
    const text = tableOf(rows);
    if (text !== undefined) console.log(text);
    isEmpty &&= text === undefined;
  }
  if (isEmpty) console.log(nothing);
};

export const printRecord = (record: Row, { json }: Format): void =>
  json ? printJson(record) : console.log(block(record, terminalWidth()));

export const printHeading = (text: string): void => console.log(`\n${truncate(safe(text), terminalWidth())}`);
