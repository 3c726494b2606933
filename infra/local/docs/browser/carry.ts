import { changeData } from "./fields.ts";
import { chooseMediaType } from "./media.ts";

/** Carries ids on: what one operation has created is filled in where another asks for its id. */

type Document = { readonly type: string; readonly id: string };

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const documentOf = (value: unknown): Document | undefined => {
  if (!isRecord(value) || !isRecord(value.data)) return undefined;
  const { type } = value;
  const { id } = value.data;
  return typeof type === "string" && typeof id === "string" ? { type, id } : undefined;
};

const firstOf = (value: unknown): Document | undefined => {
  if (!isRecord(value) || !isRecord(value.data) || !Array.isArray(value.data.items)) return undefined;
  return documentOf(value.data.items[0]);
};

const inputsFor = (type: string) =>
  document.querySelectorAll<HTMLInputElement>(`input[data-id-of="${CSS.escape(type)}"]`);

const fill = (type: string, id: string, where: (input: HTMLInputElement) => boolean): boolean => {
  const inputs = [...inputsFor(type)].filter(where);
  for (const input of inputs) input.value = id;
  return inputs.length > 0;
};

/** `/requests/{request_id}` of `/requests/{request_id}/uploads`. */
const parentOf = ({ dataset }: HTMLFormElement) => (dataset.path ?? "").replace(/\/[^/]*$/, "");

const pathFields = (form: HTMLFormElement) => form.querySelectorAll<HTMLInputElement>("input[name^='path:']");

/** Where the JSON of another operation on the same parent takes the id: filled in, and the JSON chosen. */
const fillBody = (from: HTMLFormElement, { type, id }: Document): boolean => {
  const bodies = document.querySelectorAll<HTMLTextAreaElement>(`textarea[data-takes="${CSS.escape(type)}"]`);
  const textarea = [...bodies].find(({ form }) => form && parentOf(form) === parentOf(from));
  const operation = textarea?.closest(".operation");
  if (!textarea?.form || !operation) return false;
  chooseMediaType(operation, "application/json");
  changeData(textarea, { [`${type}_id`]: id });
  for (const { name, value } of pathFields(from))
    for (const field of pathFields(textarea.form)) if (field.name === name) field.value = value;
  return true;
};

/** Takes an id from a successful response; returns a sentence about it for the visitor. */
export const carryOn = (form: HTMLFormElement, body: unknown): string => {
  const { method } = form.dataset;
  const single = documentOf(body);
  const first = firstOf(body);
  if (single && method === "POST" && fillBody(form, single))
    return "Its id is filled in where the attachment is created.";
  if (single && method === "POST" && fill(single.type, single.id, () => true))
    return "Its id is filled in where other operations ask for it.";
  if (single && method === "DELETE" && fill(single.type, "", ({ value }) => value === single.id))
    return "Its id is cleared from the other operations.";
  if (first && fill(first.type, first.id, ({ value }) => value === ""))
    return "The first id is filled in where other operations ask for it.";
  return "";
};
