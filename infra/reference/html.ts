import { html, raw } from "hono/html";
import { Marked } from "marked";
import { highlight } from "./highlight.ts";
import type { Body, Event, Example, Field, Operation, Page, Response } from "./operations.ts";
import { languages, parsed, type SampleRequest, storageRequest } from "./samples.ts";
import type { Property } from "./schema.ts";

/** Renders the page as HTML. The template escapes everything except the output of Markdown and of the highlighter. */

export type Site = Page & {
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
  html`<fieldset><legend>${labelText(field)}</legend>${field.choices.map(
    (choice) =>
      html`<label class="check"><input type="checkbox" name="${field.location}:${field.name}" value="${choice}"> <code>${choice}</code></label>`,
  )}</fieldset>`;

const hintOf = ({ kind, required, example, idOf }: Field) =>
  idOf ? "create one, or paste its id" : kind === "text" && !required ? example : "";

const fieldInput = (operation: Operation, field: Field) => {
  const { location, name, required, kind, choices, value, example, idOf } = field;
  if (kind === "checkboxes") return checkboxGroup(field);
  const id = `${operation.id}-${location}-${name}`;
  const common = html`id="${id}" name="${location}:${name}"${required ? raw(" required") : ""}`;
  const input =
    kind === "select"
      ? html`<select ${common}>${choices.map((each) => html`<option${each === value ? raw(" selected") : ""}>${each}</option>`)}</select>`
      : html`<input ${common}${required ? raw(' pattern=".*\\S.*"') : ""} type="${kind}" value="${value}" data-example="${example}" data-id-of="${idOf}" placeholder="${hintOf(field)}" autocomplete="off" spellcheck="false">`;
  return html`<div><label for="${id}">${labelText(field)}</label>${input}</div>`;
};

/** Chooses the file that the body describes. The browser fills in its name, type, length and hash. */
const describedFileInput = ({ id }: Operation, maxBytes: number) => html`<div class="wide">
  <label for="${id}-file">File</label>
  <input id="${id}-file" type="file" class="described" data-max-bytes="${String(maxBytes)}" aria-describedby="${id}-file-note">
  <p class="note" id="${id}-file-note" role="status">Fills in its name, type, length and SHA-256 below. Does not send the file yet.</p>
</div>`;

const jsonInput = ({ id }: Operation, json: string) => html`<div class="wide">
  <label for="${id}-json">JSON body</label>
  <textarea id="${id}-json" name="json" rows="${Math.min(json.split("\n").length + 1, 16)}" spellcheck="false">${json}</textarea>
</div>`;

const bodyInput = (operation: Operation, { parts, json, maxFileBytes }: Body) => html`
  ${parts.map((field) => fieldInput(operation, field))}
  ${maxFileBytes === undefined ? "" : describedFileInput(operation, maxFileBytes)}
  ${json === undefined ? "" : jsonInput(operation, json)}`;

/** Hidden if the page may be served from another origin than the service, until the script has compared the two. */
const hiddenFor = (server: string) => (server ? raw(" hidden") : "");

const tryIt = (operation: Operation, server: string) => {
  const { id, method, path, fields, body } = operation;
  return html`<details class="try"${hiddenFor(server)}>
  <summary>Try it</summary>
  <form id="${id}-form" data-method="${method}" data-path="${path}" data-media="${body?.mediaType ?? ""}">
    <div class="fields">
      ${fields.map((field) => fieldInput(operation, field))}
      ${body ? bodyInput(operation, body) : ""}
    </div>
    <button type="submit" class="send">Send ${method} request</button>
  </form>
  <div class="answer" aria-live="polite"></div>
</details>`;
};

const exampleParts = ({ parts }: Body) =>
  parts
    .map(({ name, kind, value }) => (kind === "file" ? { name, file: "loa.pdf" } : { name, value }))
    .filter((part) => part.value !== "");

/** The request in the samples before any field is filled in. */
const exampleRequest = ({ method, path, fields, body }: Operation, server: string): SampleRequest => {
  const idOf = (parameter: string) => fields.find(({ name }) => name === parameter)?.example || parameter;
  return {
    method,
    url: server + path.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => encodeURIComponent(idOf(name))),
    headers: [],
    json: body?.json,
    form: body && body.json === undefined ? exampleParts(body) : undefined,
  };
};

/** The script renders the other languages of `samples`, but knows the request to storage only later. */
const samplesOf = (label: string, request: SampleRequest, className = "samples") => html`<div class="${className}">
  <div class="bar"><div role="group" aria-label="Language of ${label}">${languages.map(
    ({ id, label }, index) =>
      html`<button type="button" data-language="${id}" aria-pressed="${String(index === 0)}">${label}</button>`,
  )}</div><button type="button">Copy</button></div>
  ${languages.map(
    ({ id, render }, index) =>
      html`<pre tabindex="0" data-language="${id}"${index === 0 ? "" : raw(" hidden")}><code>${raw(
        index === 0 || className !== "samples" ? highlight(render(request)) : "",
      )}</code></pre>`,
  )}
</div>`;

/** Samples for sending the file of a direct upload, with the URL and headers from the response. */
const storageSamples = ({ id, body, success }: Operation) => {
  const request = storageRequest(parsed(success.examples[0]?.json ?? ""));
  if (!request || body?.maxFileBytes === undefined) return "";
  return html`<p>Then send the file to storage:</p>
    ${samplesOf(`sending the file of ${id}`, request, "samples sending")}`;
};

const errorRow = ({ status, description, examples }: Response) => html`<details class="error">
  <summary><span class="status">${status}</span> ${inline(description)}</summary>
  ${examples.map(({ title, json }) => html`<p>${title}</p>${codeBlock(json)}`)}
</details>`;

/** Only the first one is open. The others are variants. */
const exampleDetails = (label: string, examples: readonly Example[]) =>
  examples.map(
    ({ title, json }, index) =>
      html`<details class="example"${index === 0 ? raw(" open") : ""}><summary>${index === 0 ? label : title}</summary>${codeBlock(json)}</details>`,
  );

const bodyTable = (caption: string, id: string, body: Body | undefined) =>
  body ? tableOf(caption, `${body.mediaType} of ${id}`, body.properties) : "";

const operationSection = (operation: Operation, server: string) => {
  const { id, method, path, summary, description, parameters, body, success, errors } = operation;
  return html`<section class="entry operation" id="${id}" aria-labelledby="${id}-title">
  <div class="text">
    <h3 id="${id}-title"><a href="#${id}">${summary}</a></h3>
    <p>${methodBadge(method)} <code>${breakable(path)}</code></p>
    ${markdown(description)}
    ${tableOf("Parameters", `Parameters of ${id}`, parameters)}
    ${bodyTable(body?.json === undefined ? "Form parts" : "Body", id, body)}
    <details><summary><span class="status">${success.status}</span> ${inline(success.description)}</summary>
      ${propertyTable("Response", success.properties)}</details>
    <details><summary>Other responses ${errors.map(({ status }) => html`<span class="status">${status}</span> `)}</summary>
      ${errors.map(errorRow)}</details>
  </div>
  <div class="code">
    ${samplesOf(id, exampleRequest(operation, server || defaultServer))}
    ${storageSamples(operation)}
    ${tryIt(operation, server)}
    ${exampleDetails("Example response", success.examples)}
  </div>
</section>`;
};

const eventId = ({ name }: Event) => `event-${slug(name)}`;

const eventSection = (event: Event) => {
  const { name, summary, description, body } = event;
  const id = eventId(event);
  return html`<section class="entry" id="${id}" aria-labelledby="${id}-title">
  <div>
    <h3 id="${id}-title"><a href="#${id}">${summary}</a></h3>
    <p><code>${name}</code></p>
    ${markdown(description)}
    ${bodyTable("Payload", name, body)}
  </div>
  <div class="code">${exampleDetails("Example", body?.examples ?? [])}</div>
</section>`;
};

/** A link in the sidebar, and the words by which the search finds it. */
const sidebarEntry = (id: string, label: string, words: readonly (string | undefined)[], badge: Html | "" = "") =>
  html`<li data-search="${[label, ...new Set(words)].join(" ").toLowerCase()}"><a href="#${id}"><span>${label}</span>${badge}</a></li>`;

const namesIn = (properties: readonly Property[] = []) => properties.map(({ path }) => path.at(-1));

const operationEntry = ({ summary, path, method, id, parameters, body, errors }: Operation) => {
  const names = [...namesIn(parameters), ...namesIn(body?.properties)];
  const words = [method, path, id, ...names, ...errors.map(({ description }) => description)];
  return sidebarEntry(id, summary, words, methodBadge(method));
};

const eventEntry = (event: Event) =>
  sidebarEntry(eventId(event), event.summary, [event.name, ...namesIn(event.body?.properties)]);

const chaptersOf = ({ groups, events, server }: Site) => [
  ...groups.map(({ name, description, operations }) => ({
    name,
    description,
    links: operations.map(operationEntry),
    sections: operations.map((operation) => operationSection(operation, server)),
  })),
  {
    name: "Events",
    description: "What the service sends when something has changed.",
    links: events.map(eventEntry),
    sections: events.map(eventSection),
  },
];

type Chapter = ReturnType<typeof chaptersOf>[number];

const sidebarChapter = ({ name, links }: Pick<Chapter, "name" | "links">) =>
  html`<li><a class="group" href="#${slug(name)}">${name}</a><ul>${links}</ul></li>`;

const chapter = ({ name, description, sections }: Chapter) =>
  html`<section aria-labelledby="${slug(name)}">
    <h2 id="${slug(name)}">${name}</h2>
    <p>${description}</p>
    ${sections}
  </section>`;

const introduction = (description: string) => ({
  name: "Introduction",
  links: [...description.matchAll(/^## (.+)$/gm)].map(([, heading = ""]) => sidebarEntry(slug(heading), heading, [])),
});

const sidebar = ({ title, description, assets }: Site, chapters: readonly Chapter[]) => html`<header>
  <div class="brand"><img src="${assets.icon}" alt="" width="28" height="28"><strong>${title}</strong><span>API reference</span>
    <button type="button" id="menu" popovertarget="side">Menu</button></div>
  <div id="side" popover>
    <input id="search" type="search" aria-label="Search" placeholder="Search ( / )" autocomplete="off">
    <p id="found" role="status"></p>
    <nav aria-label="Contents"><ul>
      ${[introduction(description), ...chapters].map(sidebarChapter)}
    </ul></nav>
    <p class="foot"><a href="openapi.json">openapi.json</a> <button type="button" id="theme">Theme: system</button></p>
  </div>
</header>`;

const keyCard = (server: string) => html`<div class="key"${hiddenFor(server)}>
  <label for="key">API key</label>
  <input id="key" type="password" placeholder="apik_…" autocomplete="off" spellcheck="false">
  <button type="button" id="show-key" aria-pressed="false">Show</button>
  <p>${server ? "" : "npm start provides the demo's key. "}Your own is sent from this page only, and stored in this tab only.</p>
</div>`;

/**
 * The page may load from its own origin only. Direct uploads may also go to the origin of the bucket, if it is given. The
 * policy is in the page as well as in a header, because a static web server may not send the header.
 */
export const contentSecurityPolicy = (storage: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'${storage && ` ${storage}`}; base-uri 'none'; form-action 'none'`;

export const pageHtml = async (site: Site): Promise<string> => {
  const { title, version, description, server, storage, assets } = site;
  const chapters = chaptersOf(site).filter(({ sections }) => sections.length > 0);
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
${sidebar(site, chapters)}
<main>
  <section class="intro" id="introduction">
    <h1>${title} API <small>version ${version}</small></h1>
    ${keyCard(server)}
    ${markdown(description)}
  </section>
  ${chapters.map(chapter)}
</main>
</body>
</html>
`;
  return page.toString();
};

/** The base address in the samples until the script replaces it with the page's own origin. */
const defaultServer = "http://127.0.0.1:3000";
