import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { docs } from "../../../infra/local/docs.ts";
import { startGateway } from "../../../infra/local/gateway.ts";
import { pageDocument } from "../../../infra/openapi/reference.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { sendPlain } from "../../support/requests/plain-request.ts";

const url = inject("baseUrl");
const ask = (path: string) => sendPlain(url, { path });

describe("the local gateway", () => {
  it("serves the OpenAPI document with its own address as the only server", async () => {
    const { status, headers, body } = await ask("/openapi.json");
    expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
    const document = JSON.parse(readFileSync("openapi.json", "utf8"));
    expect(JSON.parse(body)).toEqual({ ...document, servers: [{ url }] });
  });

  it("redirects /docs to /docs/, to which its links are relative", async () => {
    const { status, headers } = await ask("/docs");
    expect([status, headers.location]).toEqual([302, "/docs/"]);
  });

  it.each(["/docs", "/docs/", "/openapi.json"])(
    "gives each response of %s an X-Request-Id, and forbids browsers to guess its type",
    async (path) => {
      const ids = [await ask(path), await ask(path)].map(({ headers }) => headers["x-request-id"]);
      expect(ids[0]).toMatch(/^[\da-f-]{36}$/);
      expect(ids[1]).not.toBe(ids[0]);
      expect((await ask(path)).headers["x-content-type-options"]).toBe("nosniff");
    },
  );

  it.each([
    ["localhost:3000", true],
    ["127.0.0.1", true],
    ["[::1]:3000", true],
    ["host.docker.internal:3000", false],
    ["evil.example", false],
  ])("fills in the demo key for the host %s: %s", async (host, isFilledIn) => {
    const key = `apik_${"d".repeat(43)}`;
    const known = { key, ids: {} };
    const gateway = await startGateway({ routes: [], load: () => undefined, port: 0, extra: docs(() => known) });
    onTestFinished(() => gateway.close());
    const { status, body } = await sendPlain(gateway.url, { path: "/docs/openapi.json", headers: { host } });
    expect([status, body.includes(key)]).toEqual([200, isFilledIn]);
  });

  it.each([
    ["a browser's request for /", "GET", "text/html,application/xhtml+xml,*/*;q=0.8", 302],
    ["any other GET /", "GET", "*/*", 404],
    ["a form that a browser posts to /", "POST", "text/html", 404],
  ])("responds to %s: %s with Accept: %s returns %i", async (_, method, accept, expected) => {
    const { status, headers } = await sendPlain(url, { path: "/", method, headers: { accept } });
    expect([status, headers.location]).toEqual([expected, expected === 302 ? "/docs/" : undefined]);
  });

  it.each(["/docs/", "/docs/openapi.json", "/docs/scalar.js"])(
    "serves %s with a strict policy, stored in no cache",
    async (path) => {
      const { status, headers } = await ask(path);
      const policy =
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
      expect([status, headers["content-security-policy"], headers["cache-control"]]).toEqual([200, policy, "no-store"]);
      expect(headers["access-control-allow-origin"]).toBeUndefined();
    },
  );

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
    expect([status, JSON.parse(body)]).toEqual([
      404,
      expect.objectContaining({ errors: [expect.objectContaining({ code: "not_found" })] }),
    ]);
  });

  it("serves the page only for GET and HEAD", async () => {
    const statusOf = async (method: string) => (await fetch(`${url}/docs/`, { method })).status;
    expect(await Promise.all(["HEAD", "POST"].map(statusOf))).toEqual([200, 404]);
  });
});

it("./patchbay docs writes the same page as static files, with the document for the given address", async () => {
  const server = "https://api.example.com/production";
  const folder = join(newFolder(), "new");
  const args = ["infra/patchbay.ts", "docs", "--out", folder, "--server", server];
  await promisify(execFile)(process.execPath, args);
  const written = (name: string) => readFileSync(join(folder, name), "utf8");
  expect(written("openapi.json")).toBe(pageDocument(server));
  for (const [name, path] of [
    ["index.html", "/docs/"],
    ["scalar.js", "/docs/scalar.js"],
  ] as const)
    expect(written(name) === (await ask(path)).body, name).toBe(true);
});
