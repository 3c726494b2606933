import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { type ApiError, internalError, notFound } from "../../shared/errors.ts";
import { contentSecurityPolicy } from "./docs/html.ts";
import { documentFor, type SiteFile, siteFiles } from "./docs/site.ts";

/** The values that the page fills in: an API key, and ids by the names of path parameters. */
export type Prefill = { readonly key: string; readonly ids: Readonly<Record<string, string>> };

type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

const security = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};

const reply = (incoming: IncomingMessage, file: SiteFile, storage: string): Reply => {
  const etag = `"${createHash("sha256").update(file.body).digest("base64url").slice(0, 22)}"`;
  const headers = {
    ...security,
    "Content-Security-Policy": `${contentSecurityPolicy(storage)}; frame-ancestors 'none'`,
    "Content-Type": file.contentType,
    "Cache-Control": file.immutable ? "public, max-age=31536000, immutable" : "no-cache",
    Vary: "Accept-Encoding",
    ETag: etag,
  };
  if (incoming.headers["if-none-match"] === etag) return { status: 304, headers, body: Buffer.of() };
  if (!/\bgzip\b/.test(String(incoming.headers["accept-encoding"]))) return { status: 200, headers, body: file.body };
  return { status: 200, headers: { ...headers, "Content-Encoding": "gzip" }, body: gzipSync(file.body) };
};

const json = (value: unknown): SiteFile => ({
  contentType: "application/json",
  body: Buffer.from(JSON.stringify(value, null, 2)),
  immutable: false,
});

/** Contains an API key: stack.ts lets only requests from this machine through. */
const demo = (prefill: Prefill | undefined): Reply => ({
  status: 200,
  headers: { ...security, "Content-Type": "application/json", "Cache-Control": "no-store" },
  body: json({ ...prefill }).body,
});

const failed = (error: unknown): Reply => {
  console.error(`The API reference could not be built: ${error instanceof Error ? error.message : error}`);
  return errorReply(internalError());
};

const errorReply = ({ status, body }: ApiError): Reply => ({
  status,
  headers: { ...security, "Content-Type": "application/json", "Cache-Control": "no-store" },
  body: Buffer.from(JSON.stringify(body)),
});

const write = (outgoing: ServerResponse, { status, headers, body }: Reply) => {
  const length = status === 304 ? {} : { "Content-Length": body.byteLength };
  outgoing.writeHead(status, { ...headers, ...length }).end(body);
};

const redirect = (outgoing: ServerResponse) => outgoing.writeHead(302, { ...security, Location: "/docs/" }).end();

type Site = ReturnType<typeof siteFiles>;

const isDocument = (pathname: string) => pathname === "/openapi.json" || pathname === "/docs/openapi.json";

type Options = {
  readonly prefill: () => Prefill | undefined;
  /** The origin that direct uploads go to. */
  readonly storage: string;
};

/** The reply to a path under /docs/. */
const replyTo = async (site: Site, storage: string, incoming: IncomingMessage, pathname: string): Promise<Reply> => {
  const document = () => json(documentFor(`http://${incoming.headers.host ?? "127.0.0.1"}`));
  if (isDocument(pathname)) return reply(incoming, document(), storage);
  const file = (await site).get(pathname === "/docs/" ? "index.html" : pathname.slice("/docs/".length));
  return file ? reply(incoming, file, storage) : errorReply(notFound());
};

/** Serves GET and HEAD requests for `/docs/` and `/openapi.json` in the local gateway. Returns false for any other request. */
export const docs = ({ prefill, storage }: Options) => {
  // Built before the gateway listens. Later, the process may have run out of file descriptors.
  const built = siteFiles({ storage });
  built.catch(() => {});
  return (incoming: IncomingMessage, outgoing: ServerResponse, { pathname }: URL): boolean => {
    if (incoming.method !== "GET" && incoming.method !== "HEAD") return false;
    if (pathname === "/docs") redirect(outgoing);
    else if (pathname === "/docs/demo.json") write(outgoing, demo(prefill()));
    else if (pathname.startsWith("/docs/") || isDocument(pathname))
      replyTo(built, storage, incoming, pathname)
        .catch(failed)
        .then((found) => write(outgoing, found));
    else return false;
    return true;
  };
};
