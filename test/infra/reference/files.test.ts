import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");
const folder = mkdtempSync(join(tmpdir(), "patchbay-docs-"));
afterAll(() => rmSync(folder, { recursive: true }));

const docs = (...args: readonly string[]) =>
  promisify(execFile)(process.execPath, ["infra/reference/write.ts", ...args], { cwd: root });

describe("npm run docs", () => {
  it("prints its usage", async () => {
    expect((await docs("--help")).stdout).toContain("--server <url>");
  });

  it("writes the page, its assets and the document for the given address, and allows the page to send files to the given storage only", async () => {
    const bucket = "https://files.s3.us-east-1.amazonaws.com";
    const addresses = ["--server", "https://api.example.com/production/", "--storage", `${bucket}/`];
    const { stdout } = await docs("--out", folder, ...addresses);
    expect(stdout).toContain("https://api.example.com/production.");
    const names = readdirSync(folder).map((name) => name.replace(/\.[0-9a-f]{12}\./, "."));
    expect(names.sort()).toEqual(["icon.svg", "index.html", "openapi.json", "page.css", "page.js"]);
    const page = readFileSync(join(folder, "index.html"), "utf8");
    const links = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => !readdirSync(folder).includes(link))).toEqual([]);
    expect(page).toContain("https://api.example.com/production/api/v1/requests/");
    expect(page).toContain('http-equiv="Content-Security-Policy"');
    expect(page).toContain(`connect-src &#39;self&#39; ${bucket};`);
    expect(page).toContain(`data-storage="${bucket}"`);
    expect(JSON.parse(readFileSync(join(folder, "openapi.json"), "utf8")).servers).toEqual([
      { url: "https://api.example.com/production" },
    ]);
  });

  it("shows the webhooks of a document as events", async () => {
    const document = join(folder, "webhooks.json");
    const payload = {
      schema: { type: "object", required: ["id"], properties: { id: { type: "string", description: "A **ULID**." } } },
      examples: { created: { summary: "An event", value: { id: "01K9" } } },
    };
    const post = {
      summary: "A switch has been created",
      description: "Sent once *at least*.",
      requestBody: { content: { "application/json": payload } },
    };
    const webhooks = { "switch.created": { post } };
    writeFileSync(document, JSON.stringify({ ...JSON.parse(readFileSync("openapi.json", "utf8")), webhooks }));
    await docs("--out", join(folder, "new/events"), "--document", document);
    const page = readFileSync(join(folder, "new/events/index.html"), "utf8");
    expect(page).toContain('<a class="group" href="#events">Events</a>');
    const [, section] = page.split('id="event-switch-created"');
    for (const shown of [
      '<a href="#event-switch-created">A switch has been created</a></h3>',
      "<code>switch.created</code>",
      "Sent once <em>at least</em>.",
      '<span class="type">string</span> <span class="required">required</span>',
      "A <strong>ULID</strong>.",
      '<span class="name">&quot;id&quot;</span>: <span class="string">&quot;01K9&quot;</span>',
    ])
      expect(section).toContain(shown);
  });

  it.each(["server", "storage"])("refuses a --%s that is not a URL, in one line", async (option) => {
    await expect(docs(`--${option}`, "ftp://x")).rejects.toMatchObject({
      code: 1,
      stderr: `--${option} must be an http or https URL, not ftp://x.\n`,
    });
  });
});
