import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { openapi } from "../openapi/document.ts";
import { isJson, type Json } from "../openapi/json.ts";

/** What the page fills in: a key that works here, and ids by the names of the path's parameters. */
export type Prefill = { readonly key: string; readonly ids: Readonly<Record<string, string>> };

type Page = { readonly headers: Readonly<Record<string, string>>; readonly body: string | Uint8Array };

const own = join(import.meta.dirname, "docs");
const require = createRequire(import.meta.url);
const swagger = dirname(require.resolve("swagger-ui-dist/package.json"));

/** Every file that the page may ask for, by its path: nothing else is ever read. */
const files: Readonly<Record<string, readonly [folder: string, name: string, contentType: string]>> = {
  "/docs": [own, "page.html", "text/html; charset=utf-8"],
  "/docs/": [own, "page.html", "text/html; charset=utf-8"],
  "/docs/page.css": [own, "page.css", "text/css; charset=utf-8"],
  "/docs/page.js": [own, "page.js", "text/javascript; charset=utf-8"],
  "/docs/icon.svg": [own, "icon.svg", "image/svg+xml"],
  "/docs/swagger-ui.css": [swagger, "swagger-ui.css", "text/css; charset=utf-8"],
  "/docs/swagger-ui-bundle.js": [swagger, "swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
};

const headers = {
  "Cache-Control": "no-cache",
  "X-Content-Type-Options": "nosniff",
  // Everything comes from this server; Swagger UI sets styles of its own.
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
};

const json = (value: unknown): Page => ({
  headers: { ...headers, "Content-Type": "application/json" },
  body: JSON.stringify(value, null, 2),
});

/** Leaves the optional parts of forms empty: the page would fill in their examples, and a reference_id goes only once. */
const withEmptyParts = (schema: Json): Json => {
  const { properties, required } = schema;
  if (!isJson(properties) || !Object.hasOwn(properties, "data[file]") || !Array.isArray(required)) return schema;
  const parts = Object.entries(properties).map(([name, part]) => {
    const kept = required.includes(name) || !isJson(part) || "default" in part || "const" in part;
    return [name, kept ? part : { ...part, examples: [""] }];
  });
  return { ...schema, properties: Object.fromEntries(parts) };
};

/** The document for a server that runs: its address first, and ids that exist on it as the examples of its paths. */
const servedOpenapi = (baseUrl: string, prefill: Prefill | undefined) => {
  const { servers, components, ...rest } = openapi();
  const schemas = Object.entries(components.schemas).map(([name, schema]) => [name, withEmptyParts(schema)]);
  const parameters = Object.entries(components.parameters).map(([name, parameter]) => {
    if (!prefill || parameter.in !== "path") return [name, parameter];
    const { example: _example, ...other } = parameter;
    const id = prefill.ids[String(parameter.name)];
    return [name, id ? { ...other, example: id } : other];
  });
  return {
    ...rest,
    servers: [{ url: baseUrl, description: "This server" }, ...servers],
    components: {
      ...components,
      schemas: Object.fromEntries(schemas),
      parameters: Object.fromEntries(parameters),
    },
  };
};

const pageAt = (path: string, baseUrl: string, prefill: Prefill | undefined): Page | undefined => {
  if (path === "/openapi.json") return json(servedOpenapi(baseUrl, prefill));
  if (path === "/docs/demo.json") return json(prefill ? { key: prefill.key } : {});
  const file = Object.hasOwn(files, path) ? files[path] : undefined;
  if (!file) return undefined;
  const [folder, name, contentType] = file;
  return { headers: { ...headers, "Content-Type": contentType }, body: readFileSync(join(folder, name)) };
};

/** For the local gateway: answers `GET /docs`, its assets and `GET /openapi.json`, and leaves all else to it (false). */
export const docs =
  (prefill: () => Prefill | undefined) =>
  ({ method, headers: { host } }: IncomingMessage, outgoing: ServerResponse, { pathname }: URL): boolean => {
    const page = method === "GET" ? pageAt(pathname, `http://${host ?? "127.0.0.1"}`, prefill()) : undefined;
    if (!page) return false;
    outgoing.writeHead(200, { ...page.headers, "Content-Length": Buffer.byteLength(page.body) }).end(page.body);
    return true;
  };
