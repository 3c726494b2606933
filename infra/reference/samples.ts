import { at, textOf } from "./schema.ts";

/** Renders a request as code to paste. The server renders all samples once; the page updates them while fields are filled in. */

export type FormPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly file: string };

export type SampleRequest = {
  readonly method: string;
  readonly url: string;
  /** All except Authorization and Content-Type. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The API key. Without it, the samples read the environment variable KEY. */
  readonly key?: string | undefined;
  readonly json?: string | undefined;
  readonly form?: readonly FormPart[] | undefined;
  /** The body of a request to storage. The signed URL takes the place of the API key. */
  readonly file?: string | undefined;
};

/** Undefined for text that is not JSON. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * The request that sends the file of a direct upload to storage. Undefined if `prepared` is not an upload document. Clients set
 * Content-Length themselves; browsers do not let scripts set it.
 */
export const storageRequest = (prepared: unknown, file?: string): SampleRequest | undefined => {
  const { method, url, headers, filename } = at(prepared, "data");
  if (typeof method !== "string" || typeof url !== "string") return undefined;
  const sent = Object.entries(at(headers)).filter(([name]) => name.toLowerCase() !== "content-length");
  return { method, url, headers: sent.map(([name, value]) => [name, String(value)]), file: file ?? textOf(filename) };
};

const inShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * `-F` reads a file after `@` or `<`, and treats text after `;` as a media type. `--form-string` does neither. Of a file's name in
 * quotes, `-F` reads only backslashes: https://curl.se/docs/manpage.html#-F
 */
const curlPart = (part: FormPart) => {
  if ("file" in part) return `-F ${inShell(`${part.name}=@"${part.file.replaceAll(/["\\]/g, "\\$&")}"`)}`;
  const option = /^[@<"]|;/.test(part.value) ? "--form-string" : "-F";
  return `${option} ${inShell(`${part.name}=${part.value}`)}`;
};

const isImpliedMethod = ({ method, json, form, file }: SampleRequest) =>
  method === "GET" ||
  (method === "POST" && (json !== undefined || form !== undefined)) ||
  (method === "PUT" && file !== undefined);

/** Without `-g`, `-T` expands brackets and braces in the file's name. */
const curlFileOrKey = ({ key, file }: SampleRequest) => {
  if (file !== undefined) return `-w '%{http_code}\\n' -g -T ${inShell(file)}`;
  return key === undefined ? `-H "Authorization: Bearer $KEY"` : `-H ${inShell(`Authorization: Bearer ${key}`)}`;
};

/** The lines of a part of a sample that the request may not have. */
const when = (condition: boolean, ...lines: readonly string[]) => (condition ? lines : []);

const curl = (request: SampleRequest) => {
  const { method, url, headers, json, form = [], file } = request;
  const lines = [
    `curl ${isImpliedMethod(request) ? "" : `-X ${method} `}${inShell(url)}`,
    curlFileOrKey(request),
    ...headers.map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
    ...when(json !== undefined, `-H 'Content-Type: application/json'`, `-d ${inShell(json ?? "")}`),
    ...form.map(curlPart),
  ];
  const outcome = file === undefined ? "" : "\n# 200: the file is stored. 412: it is there already.";
  return lines.join(" \\\n  ") + outcome;
};

const literal = (text: string) => JSON.stringify(text);

const typescriptPart = (part: FormPart) => {
  if ("value" in part) return `form.append(${literal(part.name)}, ${literal(part.value)});`;
  return `form.append(${literal(part.name)}, await openAsBlob(${literal(part.file)}), ${literal(part.file)});`;
};

const typescriptBody = ({ json, form, file }: SampleRequest): string | undefined => {
  if (file !== undefined) return `await openAsBlob(${literal(file)})`;
  if (form || json === undefined) return form && "form";
  const body = parsed(json);
  return body === undefined
    ? literal(json)
    : `JSON.stringify(${JSON.stringify(body, null, 2).replaceAll("\n", "\n  ")})`;
};

const typescript = (request: SampleRequest) => {
  const { method, url, headers, key, json, form, file } = request;
  const bearer = key ? literal(`Bearer ${key}`) : `\`Bearer \${process.env.KEY}\``;
  const usesFile = file !== undefined || form?.some((part) => "file" in part) === true;
  const body = typescriptBody(request);
  return [
    ...when(usesFile, 'import { openAsBlob } from "node:fs";', ""),
    ...(form ? ["const form = new FormData();", ...form.map(typescriptPart), ""] : []),
    `const response = await fetch(${literal(url)}, {`,
    ...when(method !== "GET", `  method: ${literal(method)},`),
    "  headers: {",
    ...when(file === undefined, `    Authorization: ${bearer},`),
    ...headers.map(([name, value]) => `    ${literal(name)}: ${literal(value)},`),
    ...when(json !== undefined, '    "Content-Type": "application/json",'),
    "  },",
    ...when(body !== undefined, `  body: ${body},`),
    "});",
    ...when(file === undefined, "console.log(response.status, await response.json());"),
    ...when(
      file !== undefined,
      "// 412: the file is there already.",
      "const isStored = response.ok || response.status === 412;",
      "console.log(isStored, response.status, await response.text());",
    ),
  ].join("\n");
};

const pythonLiteral = (value: unknown, by = ""): string => {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${by}    `;
  const lines = Array.isArray(value)
    ? value.map((each) => pythonLiteral(each, inner))
    : Object.entries(value).map(([name, each]) => `${literal(name)}: ${pythonLiteral(each, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return lines.length === 0 ? open + close : `${open}\n${inner}${lines.join(`,\n${inner}`)},\n${by}${close}`;
};

const opened = (file: string) => `open(${literal(file)}, "rb")`;

const pythonBody = ({ json, form, file }: SampleRequest) => {
  if (file !== undefined) return [`    data=${opened(file)},`];
  const body = parsed(json ?? "");
  if (body !== undefined) return [`    json=${pythonLiteral(body, "    ")},`];
  if (json !== undefined) return [`    data=${literal(json)},`];
  if (!form) return [];
  const values = form.map((part) =>
    "value" in part ? `        ${literal(part.name)}: ${literal(part.value)},\n` : "",
  );
  const files = form.map((part) => ("file" in part ? `        ${literal(part.name)}: ${opened(part.file)},\n` : ""));
  return [`    data={\n${values.join("")}    },`, `    files={\n${files.join("")}    },`];
};

const python = (request: SampleRequest) => {
  const { method, url, headers, key, file } = request;
  const bearer = key ? literal(`Bearer ${key}`) : `f"Bearer {os.environ['KEY']}"`;
  const named = [
    ...when(file === undefined, `"Authorization": ${bearer}`),
    ...headers.map(([name, value]) => `${literal(name)}: ${literal(value)}`),
  ];
  return [
    ...when(!key && file === undefined, "import os", ""),
    "import requests",
    "",
    `response = requests.${method.toLowerCase()}(`,
    `    ${literal(url)},`,
    `    headers={${named.join(", ")}},`,
    ...pythonBody(request),
    ")",
    ...when(file === undefined, "print(response.status_code, response.json())"),
    ...when(
      file !== undefined,
      "# 412: the file is there already.",
      "is_stored = response.ok or response.status_code == 412",
      "print(is_stored, response.status_code, response.text)",
    ),
  ].join("\n");
};

export const languages = [
  { id: "curl", label: "curl", render: curl },
  { id: "typescript", label: "TypeScript", render: typescript },
  { id: "python", label: "Python", render: python },
] as const;
