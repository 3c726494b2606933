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

/** What JSON says. Undefined for text that is not JSON. */
export const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

/** The object in a document's `data`, or an empty one. */
export const dataOf = (document: unknown): { readonly [name: string]: unknown } => {
  const data = typeof document === "object" && document !== null && "data" in document ? document.data : undefined;
  return typeof data === "object" ? { ...data } : {};
};

/** Clients set this header themselves. Browsers do not let scripts set it. */
const isAutomatic = (header: string) => header.toLowerCase() === "content-length";

/** The request that sends the file of a direct upload to storage. Undefined if `prepared` is not an upload document. */
export const storageRequest = (prepared: unknown, file?: string): SampleRequest | undefined => {
  const { method, url, headers, filename } = dataOf(prepared);
  if (typeof method !== "string" || typeof url !== "string" || typeof headers !== "object") return undefined;
  const sent = Object.entries({ ...headers }).flatMap(([name, value]) =>
    isAutomatic(name) ? [] : [[name, String(value)] as const],
  );
  return { method, url, headers: sent, file: file ?? String(filename) };
};

const indent = (text: string, by: string) => text.replaceAll("\n", `\n${by}`);

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

const curl = (request: SampleRequest) => {
  const { method, url, headers, json, form, file } = request;
  const lines = [
    `curl ${isImpliedMethod(request) ? "" : `-X ${method} `}${inShell(url)}`,
    curlFileOrKey(request),
    ...headers.map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
    ...(json === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${inShell(json)}`]),
    ...(form ?? []).map(curlPart),
  ];
  const note = file === undefined ? "" : "\n# 200: the file is stored. 412: it is there already.";
  return lines.join(" \\\n  ") + note;
};

const literal = (text: string) => JSON.stringify(text);

const typescriptForm = (form: readonly FormPart[]) =>
  form.map((part) =>
    "file" in part
      ? `form.append(${literal(part.name)}, await openAsBlob(${literal(part.file)}), ${literal(part.file)});`
      : `form.append(${literal(part.name)}, ${literal(part.value)});`,
  );

const typescriptBody = ({ json, form, file }: SampleRequest) => {
  if (file !== undefined) return [`  body: await openAsBlob(${literal(file)}),`];
  if (form) return ["  body: form,"];
  if (json === undefined) return [];
  const body = parsed(json);
  const value = body ? `JSON.stringify(${indent(JSON.stringify(body.value, null, 2), "  ")})` : literal(json);
  return [`  body: ${value},`];
};

const openAsBlob = ['import { openAsBlob } from "node:fs";', ""];

const typescriptSetup = ({ form, file }: SampleRequest) => {
  if (file !== undefined) return openAsBlob;
  if (!form) return [];
  const hasFile = form.some((part) => "file" in part);
  return [...(hasFile ? openAsBlob : []), "const form = new FormData();", ...typescriptForm(form), ""];
};

const typescriptKey = ({ key, file }: SampleRequest) => {
  if (file !== undefined) return [];
  return [`    Authorization: ${key === undefined ? `\`Bearer \${process.env.KEY}\`` : literal(`Bearer ${key}`)},`];
};

const typescriptOutcome = ({ file }: SampleRequest) => {
  if (file === undefined) return ["console.log(response.status, await response.json());"];
  return [
    "// 412: the file is there already.",
    "const isStored = response.ok || response.status === 412;",
    "console.log(isStored, response.status, await response.text());",
  ];
};

const typescript = (request: SampleRequest) => {
  const { method, url, headers, json } = request;
  const media = json === undefined ? [] : [["Content-Type", "application/json"] as const];
  const named = [...headers, ...media].map(([name, value]) => `    ${literal(name)}: ${literal(value)},`);
  return [
    ...typescriptSetup(request),
    `const response = await fetch(${literal(url)}, {`,
    ...(method === "GET" ? [] : [`  method: ${literal(method)},`]),
    "  headers: {",
    ...typescriptKey(request),
    ...named,
    "  },",
    ...typescriptBody(request),
    "});",
    ...typescriptOutcome(request),
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

const pythonBody = ({ json, form, file }: SampleRequest) => {
  if (file !== undefined) return [`    data=open(${literal(file)}, "rb"),`];
  const body = json === undefined ? undefined : parsed(json);
  if (body) return [`    json=${pythonLiteral(body.value, "    ")},`];
  if (json !== undefined) return [`    data=${literal(json)},`];
  if (!form) return [];
  const pairs = (parts: readonly string[]) => `{\n${parts.map((each) => `        ${each},\n`).join("")}    }`;
  const fields = form.flatMap((part) => ("file" in part ? [] : [`${literal(part.name)}: ${literal(part.value)}`]));
  const files = form.flatMap((part) =>
    "file" in part ? [`${literal(part.name)}: open(${literal(part.file)}, "rb")`] : [],
  );
  return [`    data=${pairs(fields)},`, `    files=${pairs(files)},`];
};

const pythonHeaders = ({ headers, key, file }: SampleRequest) => {
  const named = headers.map(([name, value]) => `${literal(name)}: ${literal(value)}`);
  const bearer = key === undefined ? `f"Bearer {os.environ['KEY']}"` : literal(`Bearer ${key}`);
  return [...(file === undefined ? [`"Authorization": ${bearer}`] : []), ...named].join(", ");
};

const pythonOutcome = ({ file }: SampleRequest) => {
  if (file === undefined) return ["print(response.status_code, response.json())"];
  return [
    "# 412: the file is there already.",
    "is_stored = response.ok or response.status_code == 412",
    "print(is_stored, response.status_code, response.text)",
  ];
};

const python = (request: SampleRequest) => {
  const { method, url, key, file } = request;
  return [
    ...(key === undefined && file === undefined ? ["import os", ""] : []),
    "import requests",
    "",
    `response = requests.${method.toLowerCase()}(`,
    `    ${literal(url)},`,
    `    headers={${pythonHeaders(request)}},`,
    ...pythonBody(request),
    ")",
    ...pythonOutcome(request),
  ].join("\n");
};

export const languages = [
  { id: "curl", label: "curl", render: curl },
  { id: "typescript", label: "TypeScript", render: typescript },
  { id: "python", label: "Python", render: python },
] as const;
