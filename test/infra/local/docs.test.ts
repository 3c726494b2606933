import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { describe, expect, inject, it } from "vitest";

type Headers = Readonly<Record<string, string>>;

/** Requests exactly this path with exactly these headers, which fetch would normalize. */
const ask = async (path: string, headers: Headers = {}, baseUrl = inject("baseUrl")) => {
  const { hostname, port } = new URL(baseUrl);
  const [response]: IncomingMessage[] = await once(get({ hostname, port, path, headers }), "response");
  if (!response) throw new Error("no response");
  const body = await buffer(response);
  return { status: response.statusCode, headers: response.headers, bytes: body.length, body };
};

const assetsOf = (html: string) => [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map((match) => match[1] ?? "");

describe("the local gateway", () => {
  it("serves the OpenAPI document with its own address as the only server", async () => {
    const { status, headers, body } = await ask("/openapi.json");
    expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
    const document = JSON.parse(readFileSync("openapi.json", "utf8"));
    expect(JSON.parse(body.toString())).toEqual({ ...document, servers: [{ url: inject("baseUrl") }] });
  });

  it("redirects /docs to /docs/, to which its links are relative", async () => {
    const { status, headers } = await ask("/docs");
    expect([status, headers.location]).toEqual([302, "/docs/"]);
  });

  it("serves the page and its assets, compressed to less than 1.5 MB, cached, with a strict policy", async () => {
    const page = await ask("/docs/", { "Accept-Encoding": "gzip" });
    expect([page.status, page.headers["content-type"], page.headers["content-encoding"]]).toEqual([
      200,
      "text/html; charset=utf-8",
      "gzip",
    ]);
    const html = gunzipSync(page.body).toString();
    expect(html).toContain("<title>Patchbay API reference</title>");
    const assets = [...new Set(assetsOf(html))].filter((name) => name !== "openapi.json");
    expect(assets.map((name) => name.replace(/\.[0-9a-f]{12}\./, ".")).sort()).toEqual([
      "icon.svg",
      "page.css",
      "page.js",
    ]);
    const loaded = await Promise.all(assets.map((name) => ask(`/docs/${name}`, { "Accept-Encoding": "gzip" })));
    for (const { status, headers } of loaded)
      expect([status, headers["cache-control"]]).toEqual([200, "public, max-age=31536000, immutable"]);
    for (const { headers } of [page, ...loaded])
      expect(headers["content-security-policy"]).toBe(
        `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ${process.env.AWS_ENDPOINT_URL_S3}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      );
    expect([page, ...loaded].reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(1_500_000);
  });

  it("returns 304 for a cached page", async () => {
    const { headers } = await ask("/docs/");
    const again = await ask("/docs/", { "If-None-Match": headers.etag ?? "none" });
    expect([again.status, again.bytes, again.headers["content-length"]]).toEqual([304, 0, undefined]);
  });

  it.each([
    "/docs/../package.json",
    "/docs/%2e%2e/%2e%2e/package.json",
    "/docs/..%2f..%2fpackage.json",
    "/docs/page.js",
    "/docs//etc/passwd",
    "/docs/constructor",
    "/__proto__",
  ])("returns 404 for %s", async (path) => {
    const { status, body } = await ask(path);
    expect([status, JSON.parse(body.toString())]).toEqual([
      404,
      expect.objectContaining({ errors: [expect.objectContaining({ code: "not_found" })] }),
    ]);
  });

  it("serves the page only for GET and HEAD", async () => {
    const statusOf = async (method: string) => (await fetch(`${inject("baseUrl")}/docs/`, { method })).status;
    expect(await Promise.all(["HEAD", "POST"].map(statusOf))).toEqual([200, 404]);
  });
});
