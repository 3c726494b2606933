/** One request as code to paste. The server renders the samples once; the page renders them again as values are filled in. */

export type Part = { readonly name: string; readonly value: string } | { readonly name: string; readonly file: string };

export type Call = {
  readonly method: string;
  readonly url: string;
  /** All but Authorization and Content-Type. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Without a key, the samples read it from the environment variable KEY. */
  readonly key?: string | undefined;
  readonly json?: string | undefined;
  readonly form?: readonly Part[] | undefined;
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

/** `-F` reads a file for `@` and `<`, and takes a `;` for the start of a media type. */
const curlPart = (part: Part) => {
  if ("file" in part) return `-F ${inShell(`${part.name}=@${part.file}`)}`;
  const option = /^[@<"]|;/.test(part.value) ? "--form-string" : "-F";
  return `${option} ${inShell(`${part.name}=${part.value}`)}`;
};

const curl = ({ method, url, headers, key, json, form }: Call) => {
  const implied = method === "GET" || (method === "POST" && (json !== undefined || form !== undefined));
  const lines = [
    `curl ${implied ? "" : `-X ${method} `}${inShell(url)}`,
    key === undefined ? `-H "Authorization: Bearer $KEY"` : `-H ${inShell(`Authorization: Bearer ${key}`)}`,
    ...headers.map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
    ...(json === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${inShell(json)}`]),
    ...(form ?? []).map(curlPart),
  ];
  return lines.join(" \\\n  ");
};

const literal = (text: string) => JSON.stringify(text);

const typescriptForm = (form: readonly Part[]) =>
  form.map((part) =>
    "file" in part
      ? `form.append(${literal(part.name)}, await openAsBlob(${literal(part.file)}), ${literal(part.file)});`
      : `form.append(${literal(part.name)}, ${literal(part.value)});`,
  );

const typescriptBody = ({ json, form }: Call) => {
  if (form) return ["  body: form,"];
  if (json === undefined) return [];
  const body = parsed(json);
  const value = body ? `JSON.stringify(${indent(JSON.stringify(body.value, null, 2), "  ")})` : literal(json);
  return [`  body: ${value},`];
};

const typescript = (call: Call) => {
  const { method, url, headers, key, json, form } = call;
  const bearer = key === undefined ? `\`Bearer \${process.env.KEY}\`` : literal(`Bearer ${key}`);
  const media = json === undefined ? [] : [["Content-Type", "application/json"] as const];
  const named = [...headers, ...media].map(([name, value]) => `    ${literal(name)}: ${literal(value)},`);
  const before = form
    ? [
        ...(form.some((part) => "file" in part) ? ['import { openAsBlob } from "node:fs";', ""] : []),
        "const form = new FormData();",
        ...typescriptForm(form),
        "",
      ]
    : [];
  return [
    ...before,
    `const response = await fetch(${literal(url)}, {`,
    ...(method === "GET" ? [] : [`  method: ${literal(method)},`]),
    "  headers: {",
    `    Authorization: ${bearer},`,
    ...named,
    "  },",
    ...typescriptBody(call),
    "});",
    "console.log(response.status, await response.json());",
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

const pythonBody = ({ json, form }: Call) => {
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

const python = (call: Call) => {
  const { method, url, headers, key } = call;
  const bearer = key === undefined ? `f"Bearer {os.environ['KEY']}"` : literal(`Bearer ${key}`);
  const named = headers.map(([name, value]) => `, ${literal(name)}: ${literal(value)}`).join("");
  return [
    ...(key === undefined ? ["import os", ""] : []),
    "import requests",
    "",
    `response = requests.${method.toLowerCase()}(`,
    `    ${literal(url)},`,
    `    headers={"Authorization": ${bearer}${named}},`,
    ...pythonBody(call),
    ")",
    "print(response.status_code, response.json())",
  ].join("\n");
};

export const languages = [
  { id: "curl", label: "curl", render: curl },
  { id: "typescript", label: "TypeScript", render: typescript },
  { id: "python", label: "Python", render: python },
] as const;
