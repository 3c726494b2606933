import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, inject, it } from "vitest";
import * as z from "zod/mini";
import { openapi } from "../../../../infra/openapi/document.ts";

/** Asks for exactly this path: fetch would tidy it up. */
const ask = async (path: string) => {
  const [response]: IncomingMessage[] = await once(get({ ...addressOf(inject("baseUrl")), path }), "response");
  if (!response) throw new Error("no answer");
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
};

const addressOf = (url: string) => ({ hostname: new URL(url).hostname, port: new URL(url).port });

describe("the local gateway", () => {
  it("serves the document with its own address first", async () => {
    const { status, headers, body } = await ask("/openapi.json");
    expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
    const Served = z.looseObject({ servers: z.array(z.looseObject({ url: z.string() })) });
    const { servers, ...rest } = z.parse(Served, JSON.parse(body));
    expect(servers.map(({ url }) => url)).toEqual([inject("baseUrl"), "{base_url}"]);
    expect(rest.paths).toEqual(openapi().paths);
  });

  it("serves the page and all that it asks for, each as what it is", async () => {
    const { status, headers, body } = await ask("/docs");
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(body).toContain("<title>Patchbay API reference</title>");
    const assets = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
    const types = await Promise.all(assets.map(async (path) => [path, (await ask(path)).headers["content-type"]]));
    expect(Object.fromEntries(types)).toEqual({
      "/docs/icon.svg": "image/svg+xml",
      "/docs/swagger-ui.css": "text/css; charset=utf-8",
      "/docs/page.css": "text/css; charset=utf-8",
      "/openapi.json": "application/json",
      "/docs/swagger-ui-bundle.js": "text/javascript; charset=utf-8",
      "/docs/page.js": "text/javascript; charset=utf-8",
    });
  });

  it.each([
    "/docs/../package.json",
    "/docs/%2e%2e/%2e%2e/package.json",
    "/docs/..%2f..%2fpackage.json",
    "/docs/swagger-ui-bundle.js.map",
    "/docs//etc/passwd",
    "/docs/page.html",
    "/docs/constructor",
    "/__proto__",
  ])("has nothing at %s", async (path) => {
    const { status, body } = await ask(path);
    expect([status, JSON.parse(body)]).toEqual([
      404,
      expect.objectContaining({ errors: [expect.objectContaining({ code: "not_found" })] }),
    ]);
  });

  it("answers only GET with the page", async () => {
    const { status } = await fetch(`${inject("baseUrl")}/docs`, { method: "POST" });
    expect(status).toBe(404);
  });
});
