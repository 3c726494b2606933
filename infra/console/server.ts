import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { CommandError, explain } from "../admin/cli/command-errors.ts";
import { isLocalRequest, listen, namesLoopback } from "../local/listen.ts";
import { newSecret, sessionMs } from "../local/state.ts";
import { type Html, html, prose, sourceOf } from "./html.ts";
import { type Page, pageAt } from "./pages.ts";

/** The console has its operator's permissions. So it serves only this machine, and only a browser that has opened its secret address. */

const policy =
  "default-src 'none'; img-src data:; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'";
const headers = {
  "Content-Security-Policy": `${policy}; base-uri 'none'; frame-ancestors 'none'`,
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "same-origin",
  "Cache-Control": "no-store",
};

const asset = (name: "style.css" | "console.js", type: string): readonly [string, { type: string; text: Buffer }] => [
  `/${name}`,
  { type, text: readFileSync(join(import.meta.dirname, name)) },
];
const assets = new Map([asset("style.css", "text/css"), asset("console.js", "text/javascript")]);

const digest = (text: string) => createHash("sha256").update(text).digest();
const isSame = (given: string, secret: string): boolean => timingSafeEqual(digest(given), digest(secret));

/**
 * Serves the console of a target. `options` directs commands to it. Returns the address, with the secret, and a function that
 * closes it. The cookie of a `session` of before is still good.
 */
export const startConsole = async (description: string, options: string, port: number, session = newSecret()) => {
  const secret = newSecret();
  const code = (command: string): Html => html`<code>./patchbay ${options}${command}</code>`;

  const layout = ({ title, about, body, live, commands = ["--help"] }: Page, isOpen: boolean) => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · Patchbay</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"><script src="/console.js" defer></script></head>
<body><header><nav><b>Patchbay</b>${isOpen && html` <a href="/">Today</a> <a href="/accounts">Customers</a>`}</nav>
${
  isOpen &&
  html`<form action="/find" method="post" role="search"><input name="text" aria-label="Find"
placeholder="id, key, run, reference_id, X-Request-Id, customer"><button>Find</button></form><p class="quiet">${description}</p>`
}</header>
<p id="old" class="yellow" role="status" hidden>This page is no longer current: the stack or the console does not respond.</p>
<main${live && html` data-live`}><h1>${title}</h1>${about && html`<p class="quiet">${about}</p>`}${body}
<h2>Commands</h2><ul>${commands.map((one) => html`<li>${code(one)}</li>`)}</ul></main></body></html>`;

  const reply = (outgoing: ServerResponse, status: number, page: Page, isOpen = true) =>
    outgoing.writeHead(status, { "Content-Type": "text/html; charset=utf-8" }).end(sourceOf(layout(page, isOpen)));
  const move = (outgoing: ServerResponse, Location: string, more: object = {}) =>
    outgoing.writeHead(303, { Location, ...more }).end();

  /** A link in a ticket leads here, because a browser sends the cookie only for links of the console itself. */
  const closed = (outgoing: ServerResponse, path: string) => {
    const body = html`<p>A link on another page does not open the console by itself. <a href="${path}">Open ${path.slice(0, 100)}</a></p>
<p>If that leads here again, this browser has not opened the console: open the address that it printed, which contains a secret, and then the link above.</p>`;
    const commands = [`console --serve ${new URL(url).port}`];
    return reply(outgoing, 403, { title: "Open the console", body, commands }, false);
  };

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
    if (!namesLoopback(incoming)) return outgoing.writeHead(403).end();
    const { host = "", cookie = "", "content-length": length = "0" } = incoming.headers;
    if (!/^(GET|HEAD|POST)$/.test(incoming.method ?? "")) return outgoing.writeHead(405).end();
    const address = new URL(`http://127.0.0.1${incoming.url}`);
    // Two slashes at the beginning would lead to another host.
    const path = address.pathname.replace(/^\/+/, "/") + address.search;
    if (!isLocalRequest(incoming)) return closed(outgoing, path);
    const asset = assets.get(address.pathname);
    if (asset) return outgoing.writeHead(200, { "Content-Type": asset.type }).end(asset.text);
    // A cookie does not depend on the port, and several consoles may run.
    const name = `console-${host.replace(/^.*:/, "")}`;
    const kept = `${name}=${session}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${sessionMs / 1_000}`;
    if (address.pathname === "/" && isSame(address.searchParams.get("secret") ?? "", secret))
      return move(outgoing, "/", { "Set-Cookie": kept });
    const sent = cookie.split("; ").find((one) => one.startsWith(`${name}=`));
    if (!isSame(sent?.slice(name.length + 1) ?? "", session)) return closed(outgoing, path);
    if (incoming.method === "POST") {
      const form = Number(length) > 65_536 ? "" : await text(incoming);
      // The form posts, so that an API key stays out of the browser's history. Back returns to any other search by its address.
      if (!form.includes("apik_") && form.length < 4_000) return move(outgoing, `/find?${form}`);
      address.search = form;
    }
    try {
      const page = await pageAt(address, code);
      return typeof page === "string" ? move(outgoing, page) : reply(outgoing, page.status ?? 200, page);
    } catch (error) {
      const isMissing = error instanceof CommandError;
      const title = isMissing ? "Not found" : "This cannot be read";
      const body = html`<p>${prose(explain(error))}</p>${!isMissing && html`<p><a href="${path}">Try again</a></p>`}`;
      reply(outgoing, isMissing ? 404 : 503, { title, body, commands: [isMissing ? "find <text>" : "doctor"] });
    }
  };

  // A search of 10,000 characters is in the address, percent-encoded.
  const server = createServer({ maxHeaderSize: 262_144 }, (incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  const { url, close } = await listen(server, port);
  return { url: `${url}/?secret=${secret}`, close };
};
