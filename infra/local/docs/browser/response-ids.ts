import { changeData } from "./fields.ts";
import { chooseMediaType } from "./media.ts";

/** Fills in the ids from the response of one operation in the forms of other operations. */

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

/** Fills in the id in the JSON body of another operation with the same parent, and selects the JSON. */
const fillBody = (from: HTMLFormElement, { type, id }: Document): boolean => {
  const bodies = document.querySelectorAll<HTMLTextAreaElement>(`textarea[data-id-of="${CSS.escape(type)}"]`);
  const textarea = [...bodies].find(({ form }) => form && parentOf(form) === parentOf(from));
  const operation = textarea?.closest(".operation");
  if (!textarea?.form || !operation) return false;
  chooseMediaType(operation, "application/json");
  changeData(textarea, { [`${type}_id`]: id });
  for (const { name, value } of pathFields(from))
    for (const field of pathFields(textarea.form)) if (field.name === name) field.value = value;
  return true;
};

/** Fills in the id from a successful response, and returns a message for the visitor. */
export const fillInResponseId = (form: HTMLFormElement, body: unknown): string => {
  const { method } = form.dataset;
  const received = documentOf(body);
  const first = firstOf(body);
  if (received && method === "POST" && fillBody(form, received))
    return "Its id has been filled in for creating the attachment.";
  if (received && method === "POST" && fill(received.type, received.id, () => true))
    return "Its id has been filled in for the other operations.";
  if (received && method === "DELETE" && fill(received.type, "", ({ value }) => value === received.id))
    return "Its id has been removed from the other operations.";
  if (first && fill(first.type, first.id, ({ value }) => value === ""))
    return "The first id has been filled in for the other operations.";
  return "";
};
