import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { internalError } from "../../shared/errors.ts";
import { contentSecurityPolicy } from "../reference/html.ts";
import { documentFile, jsonFile, readDocument, type SiteFile, siteFiles } from "../reference/site.ts";
import { isLocalRequest } from "./listen.ts";

/** The values that the page fills in: an API key, and ids by the names of path parameters. */
export type Prefill = { readonly key: string; readonly ids: Readonly<Record<string, string>> };

type Options = {
  readonly prefill: () => Prefill | undefined;
  /** The origin that direct uploads go to. */
  readonly storage: string;
};

/** Sends a file, compressed if the client accepts that. An API key is not stored in any cache. */
const write = (incoming: IncomingMessage, outgoing: ServerResponse, file: SiteFile, storage: string) => {
  const etag = `"${createHash("sha256").update(file.body).digest("base64url").slice(0, 22)}"`;
  const isPrivate = incoming.url?.startsWith("/docs/demo.json");
  outgoing.setHeaders(
    new Map([
      ["X-Content-Type-Options", "nosniff"],
      ["Referrer-Policy", "no-referrer"],
      ["Cross-Origin-Resource-Policy", "same-origin"],
      ["Content-Security-Policy", `${contentSecurityPolicy(storage)}; frame-ancestors 'none'`],
      ["Content-Type", file.contentType],
      ["Cache-Control", isPrivate ? "no-store" : file.immutable ? "public, max-age=31536000, immutable" : "no-cache"],
      ["Vary", "Accept-Encoding"],
      ["ETag", etag],
    ]),
  );
  if (incoming.headers["if-none-match"] === etag) return outgoing.writeHead(304).end();
  const zips = /\bgzip\b/.test(String(incoming.headers["accept-encoding"]));
  if (zips) outgoing.setHeader("Content-Encoding", "gzip");
  const body = zips ? gzipSync(file.body) : file.body;
  return outgoing.writeHead(200, { "Content-Length": body.byteLength }).end(body);
};

/** Serves GET and HEAD requests for `/docs/` and `/openapi.json`. Resolves with false for any other request. */
export const docs = ({ prefill, storage }: Options) => {
  const document = readDocument();
  // Built before the gateway listens. Later, the process may have run out of file descriptors.
  const site = siteFiles({ document, storage });
  site.catch(() => {});
  const find = async (incoming: IncomingMessage, pathname: string): Promise<SiteFile | undefined> => {
    if (pathname === "/openapi.json" || pathname === "/docs/openapi.json")
      return documentFile(document, `http://${incoming.headers.host ?? "127.0.0.1"}`);
    if (pathname === "/docs/demo.json") return isLocalRequest(incoming) ? jsonFile({ ...prefill() }) : undefined;
    return (await site).get(pathname === "/docs/" ? "index.html" : pathname.slice("/docs/".length));
  };
  return async (incoming: IncomingMessage, outgoing: ServerResponse, { pathname }: URL): Promise<boolean> => {
    const reads = incoming.method === "GET" || incoming.method === "HEAD";
    if (!reads || !/^\/(docs$|docs\/|openapi\.json$)/.test(pathname)) return false;
    try {
      if (pathname === "/docs") outgoing.writeHead(302, { Location: "/docs/" }).end();
      const file = pathname === "/docs" ? undefined : await find(incoming, pathname);
      if (file) write(incoming, outgoing, file, storage);
      return outgoing.writableEnded;
    } catch (error) {
      console.error(`The API reference could not be built: ${error instanceof Error ? error.message : error}`);
      const { status, body } = internalError();
      outgoing.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
      return true;
    }
  };
};
