import { type FormPart, parsed, type SampleRequest } from "../samples.ts";
import { at } from "../schema.ts";

/** Reads an operation's form as a request, for the samples and for sending. A field's name begins with its location. */

const entriesOf = (form: HTMLFormElement, location: string) =>
  [...new FormData(form)].flatMap(([name, value]) =>
    name.startsWith(`${location}:`) ? [{ name: name.slice(location.length + 1), value }] : [],
  );

/** The values that are filled in, by name. Several checked values of a name are separated by commas. */
const valuesOf = (form: HTMLFormElement, location: string): readonly (readonly [name: string, value: string])[] => {
  const filled = entriesOf(form, location).filter(({ value }) => value !== "");
  const byName = Map.groupBy(filled, ({ name }) => name);
  return [...byName].map(([name, all]) => [name, all.map(({ value }) => value).join(",")] as const);
};

const pathField = (form: HTMLFormElement, name: string) =>
  form.querySelector<HTMLInputElement>(`[name="path:${CSS.escape(name)}"]`);

const jsonField = (form: HTMLFormElement) => form.querySelector<HTMLTextAreaElement>("textarea[name=json]");

const urlOf = (form: HTMLFormElement, server: string) => {
  const path = (form.dataset.path ?? "").replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const field = pathField(form, name);
    return encodeURIComponent(field?.value.trim() || field?.dataset.example || name);
  });
  const query = new URLSearchParams(Object.fromEntries(valuesOf(form, "query"))).toString().replaceAll("%2C", ",");
  return `${server}${path}${query && `?${query}`}`;
};

const isForm = (form: HTMLFormElement) => form.dataset.media === "multipart/form-data";

const samplePart = (name: string, value: FormDataEntryValue): readonly FormPart[] => {
  if (value instanceof File) return [{ name, file: value.name || "loa.pdf" }];
  return value === "" ? [] : [{ name, value }];
};

/** The request in the samples. Examples replace missing ids and files. */
export const sampleRequestOf = (form: HTMLFormElement, server: string, key: string | undefined): SampleRequest => ({
  method: form.dataset.method ?? "GET",
  url: urlOf(form, server),
  headers: valuesOf(form, "header"),
  key,
  json: jsonField(form)?.value,
  form: isForm(form) ? entriesOf(form, "part").flatMap(({ name, value }) => samplePart(name, value)) : undefined,
});

const multipart = (form: HTMLFormElement) => {
  const body = new FormData();
  for (const { name, value } of entriesOf(form, "part"))
    if (value instanceof File ? value.name !== "" : value !== "") body.append(name, value);
  return body;
};

export const requestOf = (form: HTMLFormElement, server: string, key: string) => {
  const json = jsonField(form)?.value;
  const headers = new Headers(Object.fromEntries(valuesOf(form, "header")));
  headers.set("Authorization", `Bearer ${key}`);
  if (json !== undefined) headers.set("Content-Type", "application/json");
  const body = isForm(form) ? multipart(form) : (json ?? null);
  return new Request(urlOf(form, server), { method: form.dataset.method ?? "GET", headers, body });
};

/** Lets the browser refuse to send a JSON body that is not JSON. It checks the other fields by their attributes. */
export const checkJson = (form: HTMLFormElement) => {
  const field = jsonField(form);
  try {
    if (field) JSON.parse(field.value);
    field?.setCustomValidity("");
  } catch (error) {
    field?.setCustomValidity(`The body is not JSON. ${error instanceof Error ? error.message : ""}`);
  }
};

/** Changes properties in the `data` of the JSON body. If the body is not valid JSON, starts again from the initial one. */
export const changeData = (form: HTMLFormElement, changes: Readonly<Record<string, unknown>>) => {
  const field = jsonField(form);
  if (!field) return;
  const body = at(parsed(field.value) ?? parsed(field.defaultValue));
  field.value = JSON.stringify({ ...body, data: { ...at(body.data), ...changes } }, null, 2);
};
