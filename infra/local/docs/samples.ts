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

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Clients set this header themselves. Browsers do not let scripts set it. */
const isAutomatic = (header: string) => header.toLowerCase() === "content-length";

/** The request that sends the file of a direct upload to storage. Undefined if `prepared` is not an upload document. */
export const storageRequest = (prepared: unknown, file?: string): SampleRequest | undefined => {
  const { method, url, headers, filename } = isRecord(prepared) && isRecord(prepared.data) ? prepared.data : {};
  if (typeof method !== "string" || typeof url !== "string" || !isRecord(headers)) return undefined;
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    isAutomatic(name) ? [] : [[name, String(value)] as const],
  );
  return { method, url, headers: sent, file: file ?? String(filename) };
};

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

const indent = (text: string, by: string) => text.replaceAll("\n", `\n${by}`);

const inShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** `-F` reads a file after `@` or `<`, and treats text after `;` as a media type. `--form-string` does neither. */
const curlPart = (part: FormPart) => {
  if ("file" in part) return `-F ${inShell(`${part.name}=@${part.file}`)}`;
  const option = /^[@<"]|;/.test(part.value) ? "--form-string" : "-F";
  return `${option} ${inShell(`${part.name}=${part.value}`)}`;
};

const isImpliedMethod = ({ method, json, form, file }: SampleRequest) =>
  method === "GET" ||
  (method === "POST" && (json !== undefined || form !== undefined)) ||
  (method === "PUT" && file !== undefined);

const curlFileOrKey = ({ key, file }: SampleRequest) => {
  if (file !== undefined) return [`-T ${inShell(file)}`];
  return [key === undefined ? `-H "Authorization: Bearer $KEY"` : `-H ${inShell(`Authorization: Bearer ${key}`)}`];
};

const curl = (request: SampleRequest) => {
  const { method, url, headers, json, form } = request;
  const lines = [
    `curl ${isImpliedMethod(request) ? "" : `-X ${method} `}${inShell(url)}`,
    ...curlFileOrKey(request),
    ...headers.map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
    ...(json === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${inShell(json)}`]),
    ...(form ?? []).map(curlPart),
  ];
  return lines.join(" \\\n  ");
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

const typescript = (request: SampleRequest) => {
  const { method, url, headers, json, file } = request;
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
    `console.log(response.status, await response.${file === undefined ? "json" : "text"}());`,
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
    `print(response.status_code, response.${file === undefined ? "json()" : "text"})`,
  ].join("\n");
};

export const languages = [
  { id: "curl", label: "curl", render: curl },
  { id: "typescript", label: "TypeScript", render: typescript },
  { id: "python", label: "Python", render: python },
] as const;
