import { dataOf } from "../samples.ts";
import { pathField } from "./fields.ts";

/** Fills in the ids from the response of one operation in the forms of other operations. */

type Document = { readonly type: string; readonly id: string };

const documentOf = (value: unknown): Document | undefined => {
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined;
  const { id } = dataOf(value);
  return typeof type === "string" && typeof id === "string" ? { type, id } : undefined;
};

const firstOf = (value: unknown): Document | undefined => {
  const { items } = dataOf(value);
  return Array.isArray(items) ? documentOf(items[0]) : undefined;
};

const inputsFor = (type: string) => [
  ...document.querySelectorAll<HTMLInputElement>(`input[data-id-of="${CSS.escape(type)}"]`),
];

const fill = (inputs: readonly HTMLInputElement[], id: string): boolean => {
  for (const input of inputs) input.value = id;
  return inputs.length > 0;
};

/** Fills in the id of what a form has created, with the form's own ids, in the forms below its path, or else in all. */
const fillCreated = (from: HTMLFormElement, { type, id }: Document): boolean => {
  const all = inputsFor(type);
  const below = all.filter(({ form }) => form?.dataset.path?.startsWith(`${from.dataset.path}/`));
  for (const { form } of below)
    for (const { name, value } of from.querySelectorAll<HTMLInputElement>("[name^='path:']"))
      if (form)
        fill(
          [pathField(form, name.slice("path:".length))].filter((field) => field !== null),
          value,
        );
  return fill(below.length > 0 ? below : all, id);
};

/** Fills in the id from a successful response, and returns a message for the visitor. */
export const fillInResponseId = (form: HTMLFormElement, body: unknown): string => {
  const { method } = form.dataset;
  const received = documentOf(body);
  const first = firstOf(body);
  if (received && method === "POST" && fillCreated(form, received))
    return "Its id has been filled in for the other operations.";
  const { type, id } = received ?? first ?? { type: "", id: "" };
  if (
    received &&
    method === "DELETE" &&
    fill(
      inputsFor(type).filter(({ value }) => value === id),
      "",
    )
  )
    return "Its id has been removed from the other operations.";
  if (
    first &&
    fill(
      inputsFor(type).filter(({ value }) => value === ""),
      id,
    )
  )
    return "The first id has been filled in for the other operations.";
  return "";
};
