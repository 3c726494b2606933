import type { Call, Part } from "../samples.ts";

/** Reads the fields of an operation's form: as a call for the samples, and as a request to send. Of several media types of its body, the others' fields are hidden. */

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const isControl = (element: Element): element is Control =>
  element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement;

const isInUse = (element: Element) => element.closest("[data-media][hidden]") === null;

const inUse = (form: HTMLFormElement) => [...form.elements].filter(isControl).filter(isInUse);

const controlsOf = (form: HTMLFormElement, place: string): readonly (readonly [name: string, control: Control])[] =>
  inUse(form)
    .filter(({ name }) => name.startsWith(`${place}:`))
    .map((control) => [control.name.slice(place.length + 1), control] as const);

const isChosen = (control: Control) =>
  control instanceof HTMLInputElement && control.type === "checkbox" ? control.checked : control.value !== "";

/** What is filled in, by name; several choices of one name have commas between them. */
const filledIn = (form: HTMLFormElement, place: string): readonly (readonly [name: string, value: string])[] => {
  const chosen = controlsOf(form, place).filter(([, control]) => isChosen(control));
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
  const path = (form.dataset.path ?? "").replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const control = values.get(name);
    return encodeURIComponent(control?.value.trim() || control?.dataset.example || name);
  });
  const query = new URLSearchParams(Object.fromEntries(filledIn(form, "query"))).toString().replaceAll("%2C", ",");
  return `${server}${path}${query && `?${query}`}`;
};

const headersOf = (form: HTMLFormElement) => filledIn(form, "header");

const partsOf = (form: HTMLFormElement): readonly Part[] =>
  controlsOf(form, "part").flatMap(([name, control]): readonly Part[] => {
    if (isFile(control)) return [{ name, file: fileOf(control)?.name ?? "loa.pdf" }];
    return control.value === "" ? [] : [{ name, value: control.value }];
  });

const isMultipart = (form: HTMLFormElement) => form.querySelector("[data-media='multipart/form-data']:not([hidden])");

/** What the samples show: examples stand in for ids and files that are missing. */
export const callOf = (form: HTMLFormElement, server: string, key: string | undefined): Call => ({
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

/** What keeps a form from being sent. */
export const mistakesOf = (form: HTMLFormElement): readonly Mistake[] => [
  ...inUse(form)
    .filter((control) => control.required && control.value.trim() === "")
    .map((control) => ({ control, message: missing(control) })),
  ...jsonMistakes(form),
];

/** Changes what the JSON body has under `data`. A body that cannot be read is replaced by the one that stood there at first. */
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
