import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { securityHeaders } from "../../shared/errors.ts";
import {
  contentSecurityPolicy,
  documentOf,
  type Prefill,
  pageDocument,
  referencePage,
  scalar,
} from "../openapi/reference.ts";
import { isLocalRequest, namesLoopback } from "./listen.ts";
import type { Target } from "./match.ts";

const headers = {
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Content-Security-Policy": `${contentSecurityPolicy}; frame-ancestors 'none'`,
  // The page's document has an API key.
  "Cache-Control": "no-store",
};

/**
 * Serves GET and HEAD requests for `/docs/` and `/openapi.json`, and redirects browsers from `/` to `/docs/`. Resolves with false for
 * any other request.
 */
export const docs = (prefill: () => Prefill | undefined) => {
  let script: Promise<string> | undefined;
  const find = async (incoming: IncomingMessage, pathname: string): Promise<[type: string, body: string]> => {
    const server = `http://${incoming.headers.host ?? "127.0.0.1"}`;
    const known = isLocalRequest(incoming) && namesLoopback(incoming) ? prefill() : undefined;
    if (pathname === "/openapi.json") return ["application/json", JSON.stringify(documentOf(server))];
    if (pathname === "/docs/openapi.json") return ["application/json", pageDocument(server, known)];
    if (pathname === "/docs/") return ["text/html; charset=utf-8", referencePage];
    script ??= scalar();
    return ["text/javascript", await script];
  };
  return async (incoming: IncomingMessage, outgoing: ServerResponse, { pathname }: Target): Promise<boolean> => {
    const reads = incoming.method === "GET" || incoming.method === "HEAD";
    const redirects = pathname === "/docs" || (pathname === "/" && incoming.headers.accept?.includes("text/html"));
    if (!reads || !(redirects || /^(\/docs\/(scalar\.js)?|(\/docs)?\/openapi\.json)$/.test(pathname))) return false;
    for (const [name, value] of Object.entries({ "X-Request-Id": randomUUID(), ...securityHeaders }))
      outgoing.setHeader(name, value);
    const [type, body] = redirects ? [] : await find(incoming, pathname);
    if (body === undefined) outgoing.writeHead(302, { Location: "/docs/" }).end();
    else
      outgoing
        .writeHead(200, { ...headers, "Content-Type": type, "Content-Length": Buffer.byteLength(body) })
        .end(body);
    return true;
  };
};
