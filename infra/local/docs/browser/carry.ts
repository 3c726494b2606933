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

/** Takes an id from a successful response; returns a sentence about it for the visitor. */
export const carryOn = (method: string, body: unknown): string => {
  const single = documentOf(body);
  const first = firstOf(body);
  if (single && method === "POST" && fill(single.type, single.id, () => true))
    return "Its id is filled in where other operations ask for it.";
  if (single && method === "DELETE" && fill(single.type, "", ({ value }) => value === single.id))
    return "Its id is cleared from the other operations.";
  if (first && fill(first.type, first.id, ({ value }) => value === ""))
    return "The first id is filled in where other operations ask for it.";
  return "";
};
