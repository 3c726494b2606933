import type { FormPart, SampleRequest } from "../samples.ts";

/** Reads an operation's form as a request, for the samples and for sending. Ignores hidden fields. */

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const isControl = (element: Element): element is Control =>
  element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement;

const isInUse = (element: Element) => element.closest("[data-media][hidden]") === null;

const inUse = (form: HTMLFormElement) => [...form.elements].filter(isControl).filter(isInUse);

const controlsOf = (form: HTMLFormElement, location: string): readonly (readonly [name: string, control: Control])[] =>
  inUse(form)
    .filter(({ name }) => name.startsWith(`${location}:`))
    .map((control) => [control.name.slice(location.length + 1), control] as const);

const hasValue = (control: Control) =>
  control instanceof HTMLInputElement && control.type === "checkbox" ? control.checked : control.value !== "";

/** The values that are filled in, by name. Several checked values of a name are separated by commas. */
const valuesOf = (form: HTMLFormElement, location: string): readonly (readonly [name: string, value: string])[] => {
  const chosen = controlsOf(form, location).filter(([, control]) => hasValue(control));
  const byName = Map.groupBy(chosen, ([name]) => name);
  return [...byName].map(([name, all]) => [name, all.map(([, { value }]) => value).join(",")] as const);
};

const fileOf = (control: Control): File | undefined =>
  control instanceof HTMLInputElement ? (control.files?.[0] ?? undefined) : undefined;

const isFile = (control: Control) => control.type === "file";

const json = (form: HTMLFormElement) =>
  [...form.querySelectorAll<HTMLTextAreaElement>("textarea[name=json]")].find(isInUse);

const urlOf = (form: HTMLFormElement, server: string) => {
  const values = new Map(controlsOf(form, "path"));
  const path = (form.dataset.path ?? "").replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const control = values.get(name);
    return encodeURIComponent(control?.value.trim() || control?.dataset.example || name);
  });
  const query = new URLSearchParams(Object.fromEntries(valuesOf(form, "query"))).toString().replaceAll("%2C", ",");
  return `${server}${path}${query && `?${query}`}`;
};

const headersOf = (form: HTMLFormElement) => valuesOf(form, "header");

const partsOf = (form: HTMLFormElement): readonly FormPart[] =>
  controlsOf(form, "part").flatMap(([name, control]): readonly FormPart[] => {
    if (isFile(control)) return [{ name, file: fileOf(control)?.name ?? "loa.pdf" }];
    return control.value === "" ? [] : [{ name, value: control.value }];
  });

const isMultipart = (form: HTMLFormElement) => form.querySelector("[data-media='multipart/form-data']:not([hidden])");

/** The request in the samples. Examples replace missing ids and files. */
export const sampleRequestOf = (form: HTMLFormElement, server: string, key: string | undefined): SampleRequest => ({
  method: form.dataset.method ?? "GET",
  url: urlOf(form, server),
  headers: headersOf(form),
  key,
  json: json(form)?.value,
  form: isMultipart(form) ? partsOf(form) : undefined,
});

const multipart = (form: HTMLFormElement) => {
  const body = new FormData();
  for (const [name, control] of controlsOf(form, "part")) {
    const file = fileOf(control);
    if (file) body.append(name, file, file.name);
    else if (control.value !== "") body.append(name, control.value);
  }
  return body;
};

export const requestOf = (form: HTMLFormElement, server: string, key: string) => {
  const text = json(form)?.value;
  const headers = new Headers(Object.fromEntries(headersOf(form)));
  headers.set("Authorization", `Bearer ${key}`);
  if (text !== undefined) headers.set("Content-Type", "application/json");
  const body = isMultipart(form) ? multipart(form) : text;
  return new Request(urlOf(form, server), { method: form.dataset.method ?? "GET", headers, body: body ?? null });
};

export type Mistake = { readonly control: Control; readonly message: string };

const missing = (control: Control): string => {
  const name = control.name.slice(control.name.indexOf(":") + 1);
  if (isFile(control)) return `Choose a file for ${name}.`;
  return control.dataset.idOf ? `Fill in ${name}: create one first, or paste its id.` : `Fill in ${name}.`;
};

const jsonMistakes = (form: HTMLFormElement): readonly Mistake[] => {
  const control = json(form);
  try {
    if (control) JSON.parse(control.value);
    return [];
  } catch (error) {
    return control
      ? [{ control, message: `The body is not JSON. ${error instanceof Error ? error.message : ""}` }]
      : [];
  }
};

/** The mistakes in a form that prevent sending it. */
export const mistakesOf = (form: HTMLFormElement): readonly Mistake[] => [
  ...inUse(form)
    .filter((control) => control.required && control.value.trim() === "")
    .map((control) => ({ control, message: missing(control) })),
  ...jsonMistakes(form),
];

/** Changes properties in the `data` of the JSON body. If the body is not valid JSON, starts again from the initial one. */
export const changeData = (textarea: HTMLTextAreaElement, changes: Readonly<Record<string, unknown>>) => {
  const body = documentIn(textarea.value) ?? documentIn(textarea.defaultValue);
  if (body) textarea.value = JSON.stringify({ ...body, data: { ...body.data, ...changes } }, null, 2);
};

const documentIn = (text: string): { readonly data: object } | undefined => {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null || !("data" in body)) return undefined;
    return typeof body.data === "object" ? { ...body, data: { ...body.data } } : undefined;
  } catch {
    return undefined;
  }
};

export const clearMistakes = (form: HTMLFormElement) => {
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
};
