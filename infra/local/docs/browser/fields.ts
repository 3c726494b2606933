import type { Call, Part } from "../samples.ts";

/** Reads the fields of an operation's form: as a call for the samples, and as a request to send. */

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const isControl = (element: Element): element is Control =>
  element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement;

const controlsOf = (form: HTMLFormElement, place: string): readonly (readonly [name: string, control: Control])[] =>
  [...form.elements]
    .filter(isControl)
    .filter(({ name }) => name.startsWith(`${place}:`))
    .map((control) => [control.name.slice(place.length + 1), control] as const);

const fileOf = (control: Control): File | undefined =>
  control instanceof HTMLInputElement ? (control.files?.[0] ?? undefined) : undefined;

const isFile = (control: Control) => control.type === "file";

const json = (form: HTMLFormElement) => form.querySelector<HTMLTextAreaElement>("textarea[name=json]");

const urlOf = (form: HTMLFormElement, server: string) => {
  const values = new Map(controlsOf(form, "path"));
  const path = (form.dataset.path ?? "").replaceAll(/\{([^}]+)\}/g, (_, name: string) => {
    const control = values.get(name);
    return encodeURIComponent(control?.value.trim() || control?.dataset.example || name);
  });
  const filled = controlsOf(form, "query").flatMap(([name, { value }]) =>
    value === "" ? [] : [[name, value] as const],
  );
  const query = new URLSearchParams(Object.fromEntries(filled)).toString();
  return `${server}${path}${query && `?${query}`}`;
};

const headersOf = (form: HTMLFormElement) =>
  controlsOf(form, "header").flatMap(([name, { value }]) => (value === "" ? [] : [[name, value] as const]));

const partsOf = (form: HTMLFormElement): readonly Part[] =>
  controlsOf(form, "part").flatMap(([name, control]): readonly Part[] => {
    if (isFile(control)) return [{ name, file: fileOf(control)?.name ?? "loa.pdf" }];
    return control.value === "" ? [] : [{ name, value: control.value }];
  });

const isMultipart = (form: HTMLFormElement) => form.dataset.form === "true";

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
  ...[...form.elements]
    .filter(isControl)
    .filter((control) => control.required && control.value.trim() === "")
    .map((control) => ({ control, message: missing(control) })),
  ...jsonMistakes(form),
];

export const clearMistakes = (form: HTMLFormElement) => {
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
};
