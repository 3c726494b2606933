import { type Row, safeLines, styleOf, textOf } from "../admin/cli/output.ts";
import { cutOf, maxShown } from "../admin/cli/section.ts";

/** HTML that `html` has made. Nothing else counts as HTML, so what a customer or a carrier wrote is always escaped. */
export type Html = { readonly kind: "html" };
const sources = new WeakMap<object, string>();

const entities = new Map([..."&<>\"'"].map((character) => [character, `&#${character.charCodeAt(0)};`]));
const maxCharacters = 2_000;

/** Also escapes characters that control the direction of text, and shows only the beginning of a long text. */
const escaped = (text: string) => {
  const shown = safeLines(text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text);
  return shown.replace(/[&<>"']/g, (character) => entities.get(character) ?? "");
};

/** The source of a page or of a part of it. */
export const sourceOf = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(sourceOf).join("");
  if (value === undefined || value === null || value === false) return "";
  return (typeof value === "object" ? sources.get(value) : undefined) ?? escaped(String(value));
};

/** A template that escapes every value except its own HTML. It joins lists, and leaves out null, undefined and false. */
export const html = (parts: TemplateStringsArray, ...values: readonly unknown[]): Html => {
  const made: Html = { kind: "html" };
  const source = parts.reduce((before, part, index) => before + sourceOf(values[index - 1]) + part);
  sources.set(made, source);
  return made;
};

const isHtml = (value: unknown): boolean => typeof value === "object" && value !== null && sources.has(value);

/** `2030-01-01 09:30:00 UTC` */
export const timeOf = (time: string | Date): string =>
  `${new Date(time).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** A text with what it has in backticks as code. */
export const prose = (text: string): Html =>
  html`${text.split("`").map((part, nth) => (nth % 2 === 1 ? html`<code>${part}</code>` : part))}`;

/** An id links to what it identifies, and a state has its colour. */
const cell = (value: unknown): Html => {
  if (isHtml(value)) return html`${value}`;
  const text = textOf(value);
  if (/^[0-9A-HJKMNP-TV-Z]{26}$/.test(text)) return html`<a class="id" href="/find?text=${text}">${text}</a>`;
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text))
    return html`<time datetime="${text}" title="${text}">${timeOf(text)}</time>`;
  return html`<span class="${styleOf(text)}">${prose(text)}</span>`;
};

export const link = (address: string, text: unknown): Html => html`<a href="${address}">${text}</a>`;

export const id = (text: unknown): Html => html`<span class="id quiet">${text}</span>`;

const isEmpty = (value: unknown) => !isHtml(value) && textOf(value) === "-";

export const record = (row: Row): Html => {
  const filled = Object.entries(row).filter(([, value]) => !isEmpty(value));
  return html`<dl>${filled.map(([name, value]) => html`<dt>${name}</dt><dd>${cell(value)}</dd>`)}</dl>`;
};

/** `total` counts all rows, if not all are given. `rest` prints them. */
type Options = { readonly none?: string; readonly total?: number | string; readonly rest?: Html };

/** The first rows. Says how many it leaves out. A long value has a line of its own, so no column is out of sight. */
export const table = (label: string, all: readonly Row[], options: Options = {}): Html => {
  const { none = "None.", total = all.length, rest } = options;
  if (all.length === 0) return html`<p class="quiet">${prose(none)}</p>`;
  const rows = all.slice(0, maxShown);
  const names = Object.keys(rows[0] ?? {}).filter((name) => rows.some((one) => !isEmpty(one[name])));
  const isLong = (name: string, nth: number) =>
    nth > 0 && rows.some((one) => name === "command" || (!isHtml(one[name]) && textOf(one[name]).length > 40));
  const [long, short] = [names.filter(isLong), names.filter((name, nth) => !isLong(name, nth))];
  const lineOf = (name: string, value: unknown) =>
    !isEmpty(value) &&
    html`<tr><td colspan="${short.length}"><span class="quiet">${name}</span> ${cell(value)}</td></tr>`;
  const rowOf = (one: Row) => {
    const cells = short.map((name) => html`<td data-name="${name}">${!isEmpty(one[name]) && cell(one[name])}</td>`);
    return html`<tbody><tr>${cells}</tr>${long.map((name) => lineOf(name, one[name]))}</tbody>`;
  };
  const head = html`<thead><tr>${short.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>`;
  const cut = cutOf(total, rows.length);
  return html`<div class="wide" role="region" tabindex="0" aria-label="${label}"><table>${head}${rows.map(rowOf)}</table></div>
${cut && html`<p class="quiet">${cut}${rest}</p>`}`;
};
