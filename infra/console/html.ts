import { type Row, safe, styleOf, textOf } from "../admin/cli/output.ts";

/** HTML that `html` has made. Nothing else counts as HTML, so what a customer or a carrier wrote is always escaped. */
export type Html = { readonly kind: "html" };
const sources = new WeakMap<object, string>();

const entities = new Map([..."&<>\"'"].map((character) => [character, `&#${character.charCodeAt(0)};`]));
const maxCharacters = 2_000;

/** Also escapes characters that control the direction of text, and shows only the beginning of a long text. */
const escaped = (text: string) => {
  const shown = safe(text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text);
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

/** A value as the CLI prints it. An id links to what it identifies, and a state has its colour. */
const cell = (value: unknown): Html => {
  const text = textOf(value);
  if (/^[0-9A-HJKMNP-TV-Z]{26}$/.test(text)) return html`<a class="id" href="/find?text=${text}">${text}</a>`;
  return html`<span class="${/^\d{4}-\d\d-\d\dT/.test(text) ? "id" : styleOf(text)}">${text}</span>`;
};

export const record = (row: Row): Html =>
  html`<dl>${Object.entries(row).map(([name, value]) => html`<dt>${name}</dt><dd>${cell(value)}</dd>`)}</dl>`;

/** A heading and the rows as the CLI prints them. */
export const table = (title: string, rows: readonly Row[], none = "None."): Html => {
  const names = Object.keys(rows[0] ?? {});
  const row = (one: Row) => html`<tr>${names.map((name) => html`<td>${cell(one[name])}</td>`)}</tr>`;
  const head = html`<tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr>`;
  if (rows.length === 0) return html`<h2>${title}</h2><p>${none}</p>`;
  return html`<h2>${title}</h2><div class="wide" role="region" tabindex="0" aria-label="${title}"><table>${head}${rows.map(row)}</table></div>`;
};
