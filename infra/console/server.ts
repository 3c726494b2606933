import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { CommandError, explain } from "../admin/cli/command-errors.ts";
import { serveLocally } from "../local/listen.ts";
import { html, sourceOf } from "./html.ts";
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
 * closes it.
 */
export const startConsole = async (description: string, options: string, port: number) => {
  const [secret, session] = [randomBytes(32).toString("base64url"), randomBytes(32).toString("base64url")];

  const layout = ({ title, body, live, commands = ["--help"] }: Page) => html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} · Patchbay</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"><script src="/console.js" defer></script></head>
<body><header><a href="/">Patchbay</a> <span>${description}</span><form action="/find" method="post" role="search">
<input name="text" aria-label="Find" placeholder="id, key, reference_id, X-Request-Id, account's name"><button>Find</button></form></header>
<main${live && html` data-live`}><h1>${title}</h1>${body}
<h2>Commands</h2><ul>${commands.map((one) => html`<li><code>./patchbay ${options}${one}</code></li>`)}</ul></main></body></html>`;

  const reply = (outgoing: ServerResponse, status: number, page: Page) =>
    outgoing.writeHead(status, { "Content-Type": "text/html; charset=utf-8" }).end(sourceOf(layout(page)));
  const move = (outgoing: ServerResponse, Location: string, more: object = {}) =>
    outgoing.writeHead(303, { Location, ...more }).end();

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
    const { host = "", cookie = "" } = incoming.headers;
    if (!/^(GET|HEAD|POST)$/.test(incoming.method ?? "")) return outgoing.writeHead(405).end();
    const address = new URL(incoming.url ?? "", "http://127.0.0.1");
    // A cookie does not depend on the port, and several consoles may run.
    const name = `console-${host.replace(/^.*:/, "")}`;
    if (address.pathname === "/" && isSame(address.searchParams.get("secret") ?? "", secret))
      return move(outgoing, "/", { "Set-Cookie": `${name}=${session}; HttpOnly; SameSite=Strict; Path=/` });
    const sent = cookie.split("; ").find((one) => one.startsWith(`${name}=`));
    const closed = html`<p>Open the address that the console printed when it started: it contains a secret.</p>`;
    if (!isSame(sent?.slice(name.length + 1) ?? "", session))
      return reply(outgoing, 403, { title: "Closed", body: closed });
    // The form posts, so that an API key that is searched stays out of the browser's history.
    if (incoming.method === "POST") address.search = await text(incoming);
    const asset = assets.get(address.pathname);
    if (asset) return outgoing.writeHead(200, { "Content-Type": asset.type }).end(asset.text);
    try {
      const page = await pageAt(address);
      return typeof page === "string" ? move(outgoing, page) : reply(outgoing, 200, page);
    } catch (error) {
      const body = html`<p>${explain(error)}</p>`;
      const isMissing = error instanceof CommandError;
      reply(outgoing, isMissing ? 404 : 503, { title: isMissing ? "Not found" : "This cannot be read", body });
    }
  };

  const { url, close } = await serveLocally(handle, port);
  return { url: `${url}/?secret=${secret}`, close };
};
