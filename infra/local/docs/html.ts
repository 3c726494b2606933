import { html, raw } from "hono/html";
import { Marked } from "marked";
import { highlight } from "./highlight.ts";
import type { Example, Field, Group, Operation, Response } from "./operations.ts";
import { type Call, languages } from "./samples.ts";
import type { Property } from "./schema.ts";

/** The page as HTML. Only what comes from Markdown or from the highlighter is not escaped here. */

export type Site = {
  readonly title: string;
  readonly version: string;
  /** Markdown. */
  readonly description: string;
  readonly groups: readonly Group[];
  /** The address that the samples call; empty for the page's own origin. */
  readonly server: string;
  /** The files beside the page, by what they are. */
  readonly assets: { readonly style: string; readonly script: string; readonly icon: string };
};

type Html = ReturnType<typeof html>;

/** Headings can be linked to. */
const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>`;
    },
  },
});

const slug = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");

const markdown = (text: string) => raw(marked.parse(text, { async: false }));
const inline = (text: string) => raw(marked.parseInline(text, { async: false }));

const codeBlock = (code: string) => html`<pre tabindex="0"><code>${raw(highlight(code))}</code></pre>`;

const propertyRow = ({ path, type, required, description, rules }: Property) => html`<tr>
  <th scope="row"><code>${path.length > 1 ? html`<span class="parents">${path.slice(0, -1).join(".")}.</span>` : ""}${path.at(-1)}</code>
    <span class="type">${type}</span>${required ? html` <span class="required">required</span>` : ""}</th>
  <td>${inline([description, ...rules].filter(Boolean).join(" "))}</td>
</tr>`;

const propertyTable = (caption: string, rows: readonly Property[]) => html`<table class="properties">
  <caption>${caption}</caption>
  <thead class="unseen"><tr><th scope="col">Name</th><th scope="col">Description</th></tr></thead>
  <tbody>${rows.map(propertyRow)}</tbody>
</table>`;

/** More rows than this scroll in a box of their own, and are folded away on a narrow screen. */
const manyRows = 8;

const tableOf = (caption: string, label: string, rows: readonly Property[]): Html | "" => {
  if (rows.length === 0) return "";
  if (rows.length <= manyRows) return propertyTable(caption, rows);
  return html`<details class="many" open><summary>${caption}: ${rows.length} properties</summary>
    <div class="box" tabindex="0" role="region" aria-label="${label}">${propertyTable(caption, rows)}</div></details>`;
};

const methodBadge = (method: string) => html`<span class="method ${method.toLowerCase()}">${method}</span>`;

const fieldInput = (operation: Operation, { place, name, required, kind, choices, value, example, idOf }: Field) => {
  const id = `${operation.id}-${place}-${name}`;
  const common = html`id="${id}" name="${place}:${name}" data-example="${example}"${idOf && html` data-id-of="${idOf}"`}${required ? raw(" required") : ""}`;
  const input =
    kind === "choice"
      ? html`<select ${common}>${choices.map((each) => html`<option${each === value ? raw(" selected") : ""}>${each}</option>`)}</select>`
      : html`<input ${common} type="${kind}" value="${value}" placeholder="${kind === "text" && !required ? example : ""}" autocomplete="off" spellcheck="false">`;
  return html`<div class="field"><label for="${id}"><code>${name}</code>${required ? html` <span class="required">required</span>` : ""}</label>${input}</div>`;
};

const jsonInput = ({ id, json }: Operation) => html`<div class="field wide">
  <label for="${id}-json">JSON body</label>
  <textarea id="${id}-json" name="json" rows="${Math.min((json ?? "").split("\n").length + 1, 16)}" spellcheck="false">${json}</textarea>
</div>`;

/** Hidden until the script has found that the page may call the service. */
const tryIt = (operation: Operation) => html`<details class="try" hidden>
  <summary>Try it</summary>
  <form novalidate data-method="${operation.method}" data-path="${operation.path}" data-form="${String(operation.isForm)}">
    <div class="fields">
      ${operation.fields.map((field) => fieldInput(operation, field))}
      ${operation.json === undefined ? "" : jsonInput(operation)}
    </div>
    <div class="mistakes" role="alert"></div>
    <button type="submit" class="send">Send ${operation.method} request</button>
  </form>
  <div class="answer" aria-live="polite"></div>
</details>`;

/** The call that the samples show before anything is filled in. */
const exampleCall = ({ method, path, fields, json, isForm }: Operation, server: string): Call => {
  const values = new Map(fields.filter(({ place }) => place === "path").map(({ name, example }) => [name, example]));
  const parts = fields
    .filter(({ place, kind, value }) => place === "part" && (kind === "file" || value !== ""))
    .map(({ name, kind, value, example }) =>
      kind === "file" ? { name, file: "loa.pdf" } : { name, value: value || example },
    );
  return {
    method,
    url: server + path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(values.get(name) ?? name)),
    headers: [],
    json,
    form: isForm ? parts : undefined,
  };
};

const samples = (operation: Operation, server: string) => html`<div class="samples">
  <div class="bar"><div role="group" aria-label="Language">${languages.map(
    ({ id, label }, index) =>
      html`<button type="button" data-language="${id}" aria-pressed="${String(index === 0)}">${label}</button>`,
  )}</div><button type="button" class="copy">Copy</button></div>
  ${languages.map(
    ({ id, render }, index) =>
      html`<pre tabindex="0" data-language="${id}"${index === 0 ? "" : raw(" hidden")}><code>${raw(
        highlight(render(exampleCall(operation, server))),
      )}</code></pre>`,
  )}
</div>`;

const exampleBlock = ({ title, json }: Example) => html`<p>${title}</p>${codeBlock(json)}`;

const errorRow = ({ status, description, examples }: Response) => html`<details class="error">
  <summary><span class="status">${status}</span> ${inline(description)}</summary>
  ${examples.map(exampleBlock)}
</details>`;

const operationSection = (operation: Operation, server: string) => {
  const { id, method, path, summary, description, parameters, body, isForm, success, errors } = operation;
  return html`<section class="operation" id="${id}" aria-labelledby="${id}-title">
  <div class="text">
    <h3 id="${id}-title"><a href="#${id}">${summary}</a></h3>
    <p class="endpoint">${methodBadge(method)} <code>${path}</code></p>
    ${markdown(description)}
    ${tableOf("Parameters", `Parameters of ${id}`, parameters)}
    ${tableOf(isForm ? "Form parts" : "Body", `Body of ${id}`, body)}
    <details class="returns"><summary><span class="status">${success.status}</span> ${inline(success.description)}</summary>
      ${propertyTable("Response", success.properties)}</details>
    <details class="errors"><summary>Errors ${errors.map(({ status }) => html`<span class="status">${status}</span> `)}</summary>
      ${errors.map(errorRow)}</details>
  </div>
  <div class="code">
    ${samples(operation, server)}
    ${tryIt(operation)}
    <details class="example" open><summary>Example response</summary>${success.examples.slice(0, 1).map(({ json }) => codeBlock(json))}</details>
  </div>
</section>`;
};

/** Words that the search finds an operation by. */
const searchText = ({ summary, path, method, id, parameters, body, errors }: Operation) =>
  [
    summary,
    method,
    path,
    id,
    ...[...parameters, ...body].map((each) => each.path.at(-1)),
    ...errors.map((e) => e.description),
  ]
    .join(" ")
    .toLowerCase();

const sidebarGroup = ({ name, operations }: Group) => html`<li><a class="group" href="#${slug(name)}">${name}</a>
  <ul>${operations.map(
    (operation) =>
      html`<li data-search="${searchText(operation)}"><a href="#${operation.id}"><span>${operation.summary}</span>${methodBadge(operation.method)}</a></li>`,
  )}</ul></li>`;

const headings = (text: string) => [...text.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => heading);

const sidebar = ({ title, description, groups, assets }: Site) => html`<header class="side">
  <div class="brand"><img src="${assets.icon}" alt="" width="28" height="28"><strong>${title}</strong><span>API reference</span>
    <button type="button" id="menu" aria-expanded="false" aria-controls="side">Menu</button></div>
  <div id="side">
    <div class="search"><label class="unseen" for="search">Search</label><input id="search" type="search" placeholder="Search ( / )" autocomplete="off"></div>
    <p id="found" class="unseen" role="status"></p>
    <nav aria-label="Contents"><ul>
      <li><a class="group" href="#introduction">Introduction</a>
        <ul>${headings(description).map((heading) => html`<li data-search="${heading.toLowerCase()}"><a href="#${slug(heading)}"><span>${heading}</span></a></li>`)}</ul></li>
      ${groups.map(sidebarGroup)}
    </ul></nav>
    <p class="foot"><a href="openapi.json">openapi.json</a> <button type="button" id="theme">Theme: system</button></p>
  </div>
</header>`;

const keyCard = html`<form class="key" id="key-form" hidden>
  <label for="key">API key</label>
  <input id="key" type="password" placeholder="apik_…" autocomplete="off" spellcheck="false">
  <button type="button" id="show-key" aria-pressed="false">Show</button>
  <p id="key-note">Sent with every request that you try here. It stays in this tab.</p>
</form>`;

/** Everything comes from where the page comes from. It stands in the page as well, for hosts that send no headers. */
export const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

export const pageHtml = async (site: Site): Promise<string> => {
  const { title, version, description, groups, server, assets } = site;
  const page = await html`<!doctype html>
<html lang="en" data-server="${server}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} API reference</title>
<link rel="icon" type="image/svg+xml" href="${assets.icon}">
<link rel="stylesheet" href="${assets.style}">
<script type="module" blocking="render" src="${assets.script}"></script>
</head>
<body>
<a class="skip" href="#introduction">Skip to the content</a>
${sidebar(site)}
<main>
  <section class="intro" id="introduction">
    <h1>${title} API <small>version ${version}</small></h1>
    ${keyCard}
    ${markdown(description)}
  </section>
  ${groups.map(
    (group) => html`<section class="group" aria-labelledby="${slug(group.name)}">
    <h2 id="${slug(group.name)}">${group.name}</h2>
    <p>${group.description}</p>
    ${group.operations.map((operation) => operationSection(operation, server || location))}
  </section>`,
  )}
</main>
</body>
</html>
`;
  return page.toString();
};

/** What the samples call until the script has put in the page's own origin. */
const location = "http://127.0.0.1:3000";
