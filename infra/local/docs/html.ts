import { html, raw } from "hono/html";
import { Marked } from "marked";
import { highlight } from "./highlight.ts";
import type { Body, Example, Field, Group, Operation, Response } from "./operations.ts";
import { languages, type SampleRequest, storageRequest } from "./samples.ts";
import type { Property } from "./schema.ts";

/** Renders the page as HTML. The template escapes everything except the output of Markdown and of the highlighter. */

export type Site = {
  readonly title: string;
  readonly version: string;
  /** Markdown. */
  readonly description: string;
  readonly groups: readonly Group[];
  /** The base address in the samples. Empty for the page's own origin. */
  readonly server: string;
  /** The origin of the bucket for direct uploads. Empty if the page may not send files there. */
  readonly storage: string;
  /** The names of the files that the page loads. */
  readonly assets: { readonly style: string; readonly script: string; readonly icon: string };
};

type Html = ReturnType<typeof html>;

/** Gives headings an id, so that links can point to them. */
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

/** Lets a long path wrap at its slashes. */
const breakable = (path: string) => path.split("/").map((part, index) => (index === 0 ? part : html`/<wbr>${part}`));

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

/** A table with more rows scrolls in its own box, and is collapsed on a narrow screen. */
const maxVisibleRows = 8;

const tableOf = (caption: string, label: string, rows: readonly Property[]): Html | "" => {
  if (rows.length === 0) return "";
  if (rows.length <= maxVisibleRows) return propertyTable(caption, rows);
  return html`<details class="many" open><summary>${caption}: ${rows.length} properties</summary>
    <div class="box" tabindex="0" role="region" aria-label="${label}">${propertyTable(caption, rows)}</div></details>`;
};

const methodBadge = (method: string) => html`<span class="method ${method.toLowerCase()}">${method}</span>`;

const labelText = ({ name, required }: Field) =>
  html`<code>${name}</code>${required ? html` <span class="required">required</span>` : ""}`;

const checkboxGroup = (field: Field) =>
  html`<fieldset class="field"><legend>${labelText(field)}</legend>${field.choices.map(
    (choice) =>
      html`<label class="check"><input type="checkbox" name="${field.location}:${field.name}" value="${choice}"> <code>${choice}</code></label>`,
  )}</fieldset>`;

const fieldInput = (operation: Operation, field: Field) => {
  const { location, name, required, kind, choices, value, example, idOf } = field;
  if (kind === "checkboxes") return checkboxGroup(field);
  const id = `${operation.id}-${location}-${name}`;
  const common = html`id="${id}" name="${location}:${name}" data-example="${example}"${idOf && html` data-id-of="${idOf}"`}${required ? raw(" required") : ""}`;
  const input =
    kind === "select"
      ? html`<select ${common}>${choices.map((each) => html`<option${each === value ? raw(" selected") : ""}>${each}</option>`)}</select>`
      : html`<input ${common} type="${kind}" value="${value}" placeholder="${kind === "text" && !required ? example : ""}" autocomplete="off" spellcheck="false">`;
  return html`<div class="field"><label for="${id}">${labelText(field)}</label>${input}</div>`;
};

/** Chooses the file that the body describes. The browser fills in its name, type, length and hash. */
const describedFileInput = ({ id }: Operation, maxBytes: number) => html`<div class="field wide">
  <label for="${id}-file">File</label>
  <input id="${id}-file" type="file" class="described" data-max-bytes="${String(maxBytes)}" aria-describedby="${id}-file-note">
  <p class="note" id="${id}-file-note" role="status">Fills in its name, type, length and SHA-256 below. Does not send the file yet.</p>
</div>`;

const jsonInput = (operation: Operation, { json = "", idOf, maxFileBytes }: Body) => html`${
  maxFileBytes === undefined ? "" : describedFileInput(operation, maxFileBytes)
}<div class="field wide">
  <label for="${operation.id}-json">JSON body</label>
  <textarea id="${operation.id}-json" name="json" rows="${Math.min(json.split("\n").length + 1, 16)}"${idOf && html` data-id-of="${idOf}"`} spellcheck="false">${json}</textarea>
</div>`;

/** Marks content that belongs to one media type of the body. Initially, only that of the first media type is visible. */
const forMediaType = ({ bodies }: Operation, { mediaType }: Body) =>
  html`data-media="${mediaType}"${mediaType === bodies[0]?.mediaType ? "" : raw(" hidden")}`;

/** Buttons for choosing the media type of the body, if there are several. */
const mediaTypeButtons = ({ bodies }: Operation) =>
  bodies.length < 2
    ? ""
    : html`<div class="media" role="group" aria-label="Media type of the body">${bodies.map(
        ({ mediaType }, index) =>
          html`<button type="button" data-choose="${mediaType}" aria-pressed="${String(index === 0)}">${mediaType}</button>`,
      )}</div>`;

const bodyInput = (operation: Operation, body: Body) => html`<div class="fields" ${forMediaType(operation, body)}>
  ${body.parts.map((field) => fieldInput(operation, field))}
  ${body.json === undefined ? "" : jsonInput(operation, body)}
</div>`;

/** Hidden until the script has checked that the page can call the service. */
const tryIt = (operation: Operation) => html`<details class="try" hidden>
  <summary>Try it</summary>
  <form novalidate data-method="${operation.method}" data-path="${operation.path}">
    <div class="fields">${operation.fields.map((field) => fieldInput(operation, field))}</div>
    ${operation.bodies.map((body) => bodyInput(operation, body))}
    <div class="mistakes" role="alert"></div>
    <button type="submit" class="send">Send ${operation.method} request</button>
  </form>
  <div class="answer" aria-live="polite"></div>
</details>`;

const exampleParts = ({ parts }: Body) =>
  parts
    .filter(({ kind, value }) => kind === "file" || value !== "")
    .map(({ name, kind, value, example }) =>
      kind === "file" ? { name, file: "loa.pdf" } : { name, value: value || example },
    );

/** The request in the samples before any field is filled in. */
const exampleRequest = ({ method, path, fields }: Operation, server: string, body?: Body): SampleRequest => {
  const values = new Map(
    fields.filter(({ location }) => location === "path").map(({ name, example }) => [name, example]),
  );
  return {
    method,
    url: server + path.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => encodeURIComponent(values.get(name) ?? name)),
    headers: [],
    json: body?.json,
    form: body && body.json === undefined ? exampleParts(body) : undefined,
  };
};

const samplesOf = (label: string, request: SampleRequest, className = "samples") => html`<div class="${className}">
  <div class="bar"><div role="group" aria-label="Language of ${label}">${languages.map(
    ({ id, label }, index) =>
      html`<button type="button" data-language="${id}" aria-pressed="${String(index === 0)}">${label}</button>`,
  )}</div><button type="button" class="copy">Copy</button></div>
  ${languages.map(
    ({ id, render }, index) =>
      html`<pre tabindex="0" data-language="${id}"${index === 0 ? "" : raw(" hidden")}><code>${raw(
        highlight(render(request)),
      )}</code></pre>`,
  )}
</div>`;

const samples = (operation: Operation, server: string) =>
  samplesOf(operation.id, exampleRequest(operation, server, operation.bodies[0]));

/** Samples for sending the file of a direct upload, with the URL and headers from the response. */
const storageSamples = ({ id, bodies, success }: Operation) => {
  const request = storageRequest(JSON.parse(success.examples[0]?.json ?? "null"));
  if (!request || bodies.every(({ maxFileBytes }) => maxFileBytes === undefined)) return "";
  return html`<p class="then" id="${id}-send">Then send the file to storage:</p>${samplesOf(`sending the file of ${id}`, request, "samples sending")}`;
};

const exampleBlock = ({ title, json }: Example) => html`<p>${title}</p>${codeBlock(json)}`;

const errorRow = ({ status, description, examples }: Response) => html`<details class="error">
  <summary><span class="status">${status}</span> ${inline(description)}</summary>
  ${examples.map(exampleBlock)}
</details>`;

/** Only the first one is open. The others are variants. */
const exampleResponse = ({ title, json }: Example, index: number) =>
  index === 0
    ? html`<details class="example" open><summary>Example response</summary>${codeBlock(json)}</details>`
    : html`<details class="example"><summary>${title}</summary>${codeBlock(json)}</details>`;

const operationSection = (operation: Operation, server: string) => {
  const { id, method, path, summary, description, parameters, bodies, success, errors } = operation;
  return html`<section class="operation" id="${id}" aria-labelledby="${id}-title">
  <div class="text">
    <h3 id="${id}-title"><a href="#${id}">${summary}</a></h3>
    <p class="endpoint">${methodBadge(method)} <code>${breakable(path)}</code></p>
    ${markdown(description)}
    ${tableOf("Parameters", `Parameters of ${id}`, parameters)}
    ${mediaTypeButtons(operation)}
    ${bodies.map(
      (body) =>
        html`<div ${forMediaType(operation, body)}>${tableOf(
          body.json === undefined ? "Form parts" : "Body",
          `${body.mediaType} of ${id}`,
          body.properties,
        )}</div>`,
    )}
    <details class="returns"><summary><span class="status">${success.status}</span> ${inline(success.description)}</summary>
      ${propertyTable("Response", success.properties)}</details>
    <details class="errors"><summary>Other responses ${errors.map(({ status }) => html`<span class="status">${status}</span> `)}</summary>
      ${errors.map(errorRow)}</details>
  </div>
  <div class="code">
    ${mediaTypeButtons(operation)}
    ${samples(operation, server)}
    ${storageSamples(operation)}
    ${tryIt(operation)}
    ${success.examples.map(exampleResponse)}
  </div>
</section>`;
};

/** The text in which the search looks for an operation. */
const searchText = ({ summary, path, method, id, parameters, bodies, errors }: Operation) =>
  [
    summary,
    method,
    path,
    id,
    ...new Set([...parameters, ...bodies.flatMap(({ properties }) => properties)].map((each) => each.path.at(-1))),
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
  <p id="key-note">Used for the requests that you send from this page. It is stored in this tab only.</p>
</form>`;

/**
 * The page may load from its own origin only. Direct uploads may also go to the origin of the bucket, if it is given. The
 * policy is in the page as well as in a header, because a static web server may not send the header.
 */
export const contentSecurityPolicy = (storage: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'${storage && ` ${storage}`}; base-uri 'none'; form-action 'none'`;

export const pageHtml = async (site: Site): Promise<string> => {
  const { title, version, description, groups, server, storage, assets } = site;
  const page = await html`<!doctype html>
<html lang="en" data-server="${server}" data-storage="${storage}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy(storage)}">
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
    ${group.operations.map((operation) => operationSection(operation, server || defaultServer))}
  </section>`,
  )}
</main>
</body>
</html>
`;
  return page.toString();
};

/** The base address in the samples until the script replaces it with the page's own origin. */
const defaultServer = "http://127.0.0.1:3000";
