import { html, raw } from "hono/html";
import { Marked } from "marked";
import { highlight } from "./highlight.ts";
import type { Body, Example, Field, Group, Operation, Response } from "./operations.ts";
import { type Call, languages, sendingCall } from "./samples.ts";
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
  /** The origin of the storage that direct uploads go to; empty where the page may not send files there. */
  readonly storage: string;
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

/** A long path breaks at its slashes. */
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

/** More rows than this scroll in a box of their own, and are folded away on a narrow screen. */
const manyRows = 8;

const tableOf = (caption: string, label: string, rows: readonly Property[]): Html | "" => {
  if (rows.length === 0) return "";
  if (rows.length <= manyRows) return propertyTable(caption, rows);
  return html`<details class="many" open><summary>${caption}: ${rows.length} properties</summary>
    <div class="box" tabindex="0" role="region" aria-label="${label}">${propertyTable(caption, rows)}</div></details>`;
};

const methodBadge = (method: string) => html`<span class="method ${method.toLowerCase()}">${method}</span>`;

const labelText = ({ name, required }: Field) =>
  html`<code>${name}</code>${required ? html` <span class="required">required</span>` : ""}`;

const severalInput = (field: Field) =>
  html`<fieldset class="field"><legend>${labelText(field)}</legend>${field.choices.map(
    (choice) =>
      html`<label class="check"><input type="checkbox" name="${field.place}:${field.name}" value="${choice}"> <code>${choice}</code></label>`,
  )}</fieldset>`;

const fieldInput = (operation: Operation, field: Field) => {
  const { place, name, required, kind, choices, value, example, idOf } = field;
  if (kind === "several") return severalInput(field);
  const id = `${operation.id}-${place}-${name}`;
  const common = html`id="${id}" name="${place}:${name}" data-example="${example}"${idOf && html` data-id-of="${idOf}"`}${required ? raw(" required") : ""}`;
  const input =
    kind === "choice"
      ? html`<select ${common}>${choices.map((each) => html`<option${each === value ? raw(" selected") : ""}>${each}</option>`)}</select>`
      : html`<input ${common} type="${kind}" value="${value}" placeholder="${kind === "text" && !required ? example : ""}" autocomplete="off" spellcheck="false">`;
  return html`<div class="field"><label for="${id}">${labelText(field)}</label>${input}</div>`;
};

/** The file that the body describes. Its name, type, length and hash are filled in by the browser. */
const describedFile = ({ id }: Operation, longest: number) => html`<div class="field wide">
  <label for="${id}-file">File</label>
  <input id="${id}-file" type="file" class="described" data-longest="${String(longest)}" aria-describedby="${id}-file-note">
  <p class="note" id="${id}-file-note" role="status">Its name, type, length and SHA-256 are filled in below. It is not sent yet.</p>
</div>`;

const jsonInput = (operation: Operation, { json = "", idOf, longestFile }: Body) => html`${
  longestFile === undefined ? "" : describedFile(operation, longestFile)
}<div class="field wide">
  <label for="${operation.id}-json">JSON body</label>
  <textarea id="${operation.id}-json" name="json" rows="${Math.min(json.split("\n").length + 1, 16)}"${idOf && html` data-takes="${idOf}"`} spellcheck="false">${json}</textarea>
</div>`;

/** Marks what belongs to one media type of the body; only what belongs to the first is shown at first. */
const forMediaType = ({ bodies }: Operation, { mediaType }: Body) =>
  html`data-media="${mediaType}"${mediaType === bodies[0]?.mediaType ? "" : raw(" hidden")}`;

/** Chooses the media type of the body, where there are several. */
const mediaChoice = ({ bodies }: Operation) =>
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

/** Hidden until the script has found that the page may call the service. */
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

/** The call that the samples show before anything is filled in. */
const exampleCall = ({ method, path, fields }: Operation, server: string, body?: Body): Call => {
  const values = new Map(fields.filter(({ place }) => place === "path").map(({ name, example }) => [name, example]));
  return {
    method,
    url: server + path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(values.get(name) ?? name)),
    headers: [],
    json: body?.json,
    form: body && body.json === undefined ? exampleParts(body) : undefined,
  };
};

const samplesOf = (label: string, call: Call, className = "samples") => html`<div class="${className}">
  <div class="bar"><div role="group" aria-label="Language of ${label}">${languages.map(
    ({ id, label }, index) =>
      html`<button type="button" data-language="${id}" aria-pressed="${String(index === 0)}">${label}</button>`,
  )}</div><button type="button" class="copy">Copy</button></div>
  ${languages.map(
    ({ id, render }, index) =>
      html`<pre tabindex="0" data-language="${id}"${index === 0 ? "" : raw(" hidden")}><code>${raw(
        highlight(render(call)),
      )}</code></pre>`,
  )}
</div>`;

const samples = (operation: Operation, server: string) =>
  samplesOf(`${operation.id}`, exampleCall(operation, server, operation.bodies[0]));

/** The second call of a direct upload goes to storage, by what the first one has returned. */
const sendingSamples = ({ id, bodies, success }: Operation) => {
  const call = sendingCall(JSON.parse(success.examples[0]?.json ?? "null"));
  if (!call || bodies.every(({ longestFile }) => longestFile === undefined)) return "";
  return html`<p class="then" id="${id}-send">Then send the file to storage:</p>${samplesOf(`the second call of ${id}`, call, "samples sending")}`;
};

const exampleBlock = ({ title, json }: Example) => html`<p>${title}</p>${codeBlock(json)}`;

const errorRow = ({ status, description, examples }: Response) => html`<details class="error">
  <summary><span class="status">${status}</span> ${inline(description)}</summary>
  ${examples.map(exampleBlock)}
</details>`;

/** Only the first one is open: the others are variants of it. */
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
    ${mediaChoice(operation)}
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
    ${mediaChoice(operation)}
    ${samples(operation, server)}
    ${sendingSamples(operation)}
    ${tryIt(operation)}
    ${success.examples.map(exampleResponse)}
  </div>
</section>`;
};

/** Words that the search finds an operation by. */
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
  <p id="key-note">Sent with every request that you try here. It stays in this tab.</p>
</form>`;

/**
 * Everything comes from where the page comes from, and only direct uploads go elsewhere: to the storage's origin, if one
 * is given. It stands in the page as well, for hosts that send no headers.
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
