import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import { setLogOutput } from "../../shared/log.ts";

/** How the CLI writes: JSON for programs, tables for people; errors go to stderr, with what to do next. */

export type Row = Readonly<Record<string, unknown>>;

/** Control characters, lone surrogates, line separators and marks that change the direction of text. */
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Text that a terminal shows and does not obey: what could control it is written as `\u001b`. */
export const safe = (text: string): string => text.replace(unsafe, escaped);

/** The same for text of several lines. */
export const safeLines = (text: string): string => text.split("\n").map(safe).join("\n");

/** Keeps what a command prints, JSON above all, free of the log. */
export const logToStderr = (): void =>
  setLogOutput((line) => process.stderr.write(safeLines(`${JSON.stringify(line)}\n`)));

/** The columns of the terminal, or those that COLUMNS says; there is no limit in a file or a pipe. */
const terminalWidth = () => process.stdout.columns || Number(process.env.COLUMNS) || Number.POSITIVE_INFINITY;

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return "-";
  if (Array.isArray(value)) return value.map(cell).join(", ") || "-";
  return safe(typeof value === "object" ? JSON.stringify(value) : String(value));
};

const pad = (text: string, width: number) => text + " ".repeat(Math.max(0, width - stringWidth(text)));

const lines = (text: string, width: number): string[] =>
  Number.isFinite(width) ? wrapAnsi(text, width, { hard: true, trim: false }).split("\n") : [text];

/** The text, or its beginning and an ellipsis where it is wider. */
const cut = (text: string, width: number): string =>
  stringWidth(text) <= width
    ? text
    : `${wrapAnsi(text, width - 1, { hard: true, wordWrap: false, trim: false }).split("\n")[0]}…`;

const gap = 2;
/** No column is made narrower than this. */
const minimalWidth = 8;

/** Widths of columns that fit a terminal: the widest give way, the first (the id) does not; undefined where that is not enough. */
const fitColumns = (natural: readonly number[], width: number, whole: boolean): number[] | undefined => {
  const widths = [...natural];
  const total = () => widths.reduce((sum, one) => sum + one + gap, -gap);
  while (total() > width) {
    const widest = Math.max(...widths.slice(1));
    if (whole || widest <= minimalWidth) return undefined;
    widths[widths.indexOf(widest, 1)] = widest - 1;
  }
  return widths;
};

/**
 * A table with a heading line; rows share the first row's columns. Where the terminal is too narrow, long texts are cut;
 * where it is far too narrow, or the texts are to stay whole, each row is a block of lines.
 */
export const table = (rows: readonly Row[], { width = terminalWidth(), whole = false } = {}): string => {
  const [first] = rows;
  if (!first) return "Nothing found.";
  const names = Object.keys(first);
  const cells = [names, ...rows.map((row) => names.map((name) => cell(row[name])))];
  const natural = names.map((_, column) => Math.max(...cells.map((line) => stringWidth(line[column] ?? ""))));
  const widths = fitColumns(natural, width, whole);
  if (!widths) return rows.map((row) => block(row, width)).join("\n\n");
  const line = (texts: readonly string[]) =>
    texts.map((text, column) => pad(cut(text, widths[column] ?? 0), (widths[column] ?? 0) + gap)).join("");
  return cells.map((texts) => line(texts).trimEnd()).join("\n");
};

/** Room for an id. */
const idWidth = 26;

/** A line for each property; longer values go on below, indented. Values without room for an id begin below. */
const block = (thing: Row, width: number): string => {
  const indent = Math.max(...Object.keys(thing).map((name) => stringWidth(name))) + gap;
  const room = width - indent;
  if (room < idWidth)
    return Object.entries(thing)
      .flatMap(([name, value]) => [
        cut(name, width),
        ...lines(cell(value), Math.max(width - gap, minimalWidth)).map((text) => " ".repeat(gap) + text.trimEnd()),
      ])
      .join("\n");
  return Object.entries(thing)
    .flatMap(([name, value]) =>
      lines(cell(value), room).map((text, index) => pad(index === 0 ? name : "", indent) + text.trimEnd()),
    )
    .join("\n");
};

/** JSON leaves DEL and the C1 control characters as they are; escaped, they are the same JSON. */
export const printJson = (value: unknown): void => console.log(safeLines(JSON.stringify(value, null, 2)));

type Format = { readonly json?: boolean | undefined; readonly whole?: boolean };

/** Rows as a table, or as JSON where `--json` asks for it. */
export const printRows = (rows: readonly Row[], { json, whole = false }: Format): void =>
  json ? printJson(rows) : console.log(table(rows, { whole }));

/** One thing, a line for each of its properties, or JSON. */
export const printThing = (thing: Row, { json }: Format): void =>
  json ? printJson(thing) : console.log(block(thing, terminalWidth()));

/** A heading, no wider than the terminal. */
export const printHeading = (text: string): void => console.log(`\n${cut(safe(text), terminalWidth())}`);

/** Text after a label; the lines that follow are indented by as much. */
export const printIndented = (label: string, text: string): void => {
  const indent = Math.min(stringWidth(label), 9);
  const [first = "", ...rest] = lines(label + safe(text), terminalWidth());
  const others = lines(rest.join(" "), terminalWidth() - indent);
  console.log([first, ...(rest.length > 0 ? others.map((line) => " ".repeat(indent) + line) : [])].join("\n"));
};
