import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { listen } from "../../../infra/local/listen.ts";
import { pageDocument } from "../../../infra/openapi/reference.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { chromiumPath, launchChromium } from "../../support/processes/chromium.ts";
import { extent } from "../../support/setup/extent.ts";

const url = inject("baseUrl");
const exhaustive = extent !== "sample";

/** Requests exactly this path, which fetch would normalize. */
const ask = async (path: string) => {
  const { hostname, port } = new URL(url);
  const [response]: IncomingMessage[] = await once(get({ hostname, port, path }), "response");
  if (!response) throw new Error("no response");
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
};

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

describe("npm run docs", () => {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-docs-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("writes the same page as static files, with the document for the given address", async () => {
    const server = "https://api.example.com/production";
    const args = ["infra/openapi/write-reference.ts", "--out", join(folder, "new"), "--server", server];
    await promisify(execFile)(process.execPath, args);
    const written = (name: string) => readFileSync(join(folder, "new", name), "utf8");
    expect(written("openapi.json")).toBe(pageDocument(server));
    for (const [name, path] of [
      ["index.html", "/docs/"],
      ["scalar.js", "/docs/scalar.js"],
    ] as const)
      expect(written(name) === (await ask(path)).body, name).toBe(true);
  });
});

if (!chromiumPath)
  console.warn("The API reference is not tested in a browser: no Chromium found (CHROMIUM names one).");

describe.skipIf(!chromiumPath)("the API reference in Chromium", () => {
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(60_000);
    const t = await tenants();
    const ids = { account_id: t.account("east"), order_id: t.order("acme"), request_id: t.request("acme") };
    // As npm start returns it for its demo customer.
    const body = pageDocument(url, { key: t.key("acme"), ids });
    await page.route(`${url}/docs/openapi.json`, (route) => route.fulfill({ contentType: "application/json", body }));
    page.on("request", (request) => {
      if (!request.url().startsWith(`${url}/`)) problems.push(`elsewhere: ${request.url()}`);
    });
    page.on("console", (message) => {
      // Chromium reports what the policy blocks here, and not as a request.
      if (/https?:/.test(message.text())) problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(error.message));
  });

  afterAll(async () => {
    await browser?.close();
  });

  /** Opens the form of an operation. */
  const open = async (tag: string, operation: string) => {
    await page.goto("about:blank");
    await page.goto(`${url}/docs/#tag/${tag}/${operation}`);
    await page.locator(`section[id$="${operation}"]`).getByRole("button", { name: "Test Request" }).click();
    const form = page.getByRole("dialog");
    const send = () => form.getByRole("button", { name: /^Send/ }).first().click();
    return { form, send };
  };

  it("sends a form with a file, shows the 201 and then the 422 of its reference_id, and asks no other host", async () => {
    const { form, send } = await open("request-attachments", "POST/api/v1/requests/{request_id}/attachments");
    const chosen = page.waitForEvent("filechooser");
    await form.locator('[id="data[file]"]').getByRole("button", { name: "Select File" }).click();
    await (await chosen).setFiles({ name: "loa.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7") });
    await form.locator('[id="data[reference_id]"]').getByRole("checkbox").check();
    await send();
    await form.getByText("201 Created").waitFor();
    await form.getByText('"loa.pdf"').waitFor();
    await send();
    await form.getByText("422 Unprocessable").waitFor();
    await form.getByText("has already been taken").first().waitFor();
    expect(problems).toEqual([]);
  });

  it.runIf(exhaustive)("sends a JSON body, lists the events, and is 390 px wide at 390 px", async () => {
    const { form, send } = await open("switches", "POST/api/v1/switches");
    await send();
    await form.getByText("201 Created").waitFor();
    await form.getByRole("button", { name: "Close Client" }).click();
    await page.getByRole("button", { name: "Open Group - Webhooks" }).click();
    await page.getByText("A switch was created").first().waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    expect(problems).toEqual([]);
  });

  it("is the only page that reads what npm start serves: one of another origin reads nothing", async () => {
    const cors = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
    const evil = await listen(createServer((_request, response) => response.writeHead(200, cors).end("hunter2")));
    const other = await browser.newPage();
    await other.goto(evil.url.replace("127.0.0.1", "localhost"));
    const read = (address: string) =>
      other.evaluate(async (target) => {
        const headers = {
          "content-type": "application/x-amz-json-1.0",
          "x-amz-target": "DynamoDB_20120810.ListTables",
        };
        const response = await fetch(target, { method: "POST", headers, body: "{}" }).catch(String);
        return typeof response === "string" ? response : response.text();
      }, address);
    expect(await read(evil.url)).toBe("hunter2");
    const addresses = Object.entries(inject("environment")).filter(([, value]) => value.startsWith("http://"));
    expect(addresses.map(([name]) => name).sort()).toEqual([
      "AWS_ENDPOINT_URL_DYNAMODB",
      "AWS_ENDPOINT_URL_LAMBDA",
      "AWS_ENDPOINT_URL_S3",
      "AWS_ENDPOINT_URL_SFN",
      "CARRIER_URL",
    ]);
    for (const [name, address] of addresses) expect(await read(address), name).toBe("TypeError: Failed to fetch");
    await evil.close();
  });
});
