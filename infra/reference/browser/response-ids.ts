import { at, listOf, textOf } from "../schema.ts";

/** Fills in the ids from the response of one operation in the forms of other operations. */

const inputs = (selector: string) => [...document.querySelectorAll<HTMLInputElement>(selector)];

const inputsFor = (type: string) => inputs(`[data-id-of="${CSS.escape(type)}"]`);

const fill = (all: readonly HTMLInputElement[], id: string): boolean => {
  for (const input of all) input.value = id;
  return all.length > 0;
};

/** Fills in the id of what a form has created, with the form's own ids, in the forms below its path, or else in all. */
const fillCreated = (from: HTMLFormElement, type: string, id: string): boolean => {
  const below = `form[data-path^="${from.dataset.path}/"]`;
  const own = inputsFor(type).filter((input) => input.closest(below));
  if (own.length === 0) return fill(inputsFor(type), id);
  for (const { name, value } of from.querySelectorAll<HTMLInputElement>("[name^='path:']"))
    fill(inputs(`${below} [name="${name}"]`), value);
  return fill(own, id);
};

const documentOf = (value: unknown) => ({ type: textOf(at(value).type), id: textOf(at(value, "data").id) });

/** Fills in the id from a successful response, and returns a message for the visitor. */
export const fillInResponseId = (form: HTMLFormElement, body: unknown): string => {
  const { method } = form.dataset;
  const { type, id } = documentOf(body);
  if (id && method === "POST" && fillCreated(form, type, id))
    return "Its id has been filled in for the other operations.";
  const same = inputsFor(type).filter(({ value }) => value === id);
  if (id && method === "DELETE" && fill(same, "")) return "Its id has been removed from the other operations.";
  const first = documentOf(listOf(at(body, "data").items)[0]);
  const empty = inputsFor(first.type).filter(({ value }) => value === "");
  if (first.id && fill(empty, first.id)) return "The first id has been filled in for the other operations.";
  return "";
};
