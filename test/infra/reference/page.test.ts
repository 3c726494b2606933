import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import * as z from "zod/mini";
import { listen } from "../../../infra/local/listen.ts";
import { operationId } from "../../../infra/openapi/names.ts";
import { routes } from "../../../shared/routes.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { chromiumPath, launchChromium } from "../../support/processes/chromium.ts";
import { byExtent, extent } from "../../support/setup/extent.ts";

const artefacts = join(import.meta.dirname, "../../../test-artifacts");
const Created = z.object({ data: z.looseObject({ id: z.string() }) });
const Violations = z.array(z.looseObject({ id: z.string(), impact: z.nullish(z.string()) }));

if (!chromiumPath)
  console.warn("The API reference is not tested in a browser: no Chromium found (CHROMIUM names one).");

type View = {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme?: "light" | "dark";
};

const desktop = { viewport: { width: 1280, height: 900 } };
const phone = { viewport: { width: 390, height: 844 } };
const letter = { name: "loa.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7 signed") };

const exhaustive = extent !== "sample";

/** axe takes seconds for each. */
const views = byExtent({
  sample: [],
  most: ["1280 px, light", "390 px, dark"],
  all: ["1280 px, light", "1280 px, dark", "390 px, light", "390 px, dark"],
}).map((name) => ({
  name,
  ...(name.startsWith("1280") ? desktop : phone),
  colorScheme: name.endsWith("dark") ? ("dark" as const) : ("light" as const),
}));

/** The layout shifts since the page was loaded, in the unit of Cumulative Layout Shift. */
const shifts = `new Promise((resolve) => {
  const entries = [];
  new PerformanceObserver((list) => entries.push(...list.getEntries())).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(entries.reduce((sum, { value }) => sum + value, 0)), 200);
})`;

const idOf = (answer: unknown) => ({ id: z.parse(Created, answer).data.id });

/** A file that is too large for a form. */
const scan = Buffer.alloc(5_000_000, "scan");

describe.skipIf(!chromiumPath)("the API reference in Chromium", () => {
  const url = inject("baseUrl");
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
    // One tab for all tests: a context for each would take seconds of processor time more.
    page = await browser.newPage();
    const t = await tenants();
    const ids = { account_id: t.account("east"), order_id: t.order("acme"), request_id: t.request("acme") };
    // As npm start returns it for its demo customer.
    await page.route(`${url}/docs/demo.json`, (route) => route.fulfill({ json: { key: t.key("acme"), ids } }));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("request", (request) => {
      const isDirectUpload = request.method() === "PUT" && request.url().includes("X-Amz-Signature");
      if (!isDirectUpload && !request.url().startsWith(`${url}/`)) problems.push(`elsewhere: ${request.url()}`);
    });
  });

  /** Chromium reports responses with 4xx as errors, which some tests cause. */
  afterEach(() => expect(problems.splice(0).filter((text) => !/status of 4\d\d/.test(text))).toEqual([]));

  afterAll(async () => {
    await browser?.close();
  });

  /** Loads the page in a window of this size, with nothing stored from earlier visits. */
  const visit = async ({ viewport, colorScheme = "light" }: View, hash = "") => {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // Every page but the first has a storage to empty. Without another page between, a changed hash would not load it again.
    if (page.url() !== "about:blank") await page.evaluate("localStorage.clear(); sessionStorage.clear()");
    await page.goto("about:blank");
    await page.goto(`${url}/docs${hash}`);
    await page.locator("html[data-ready]").waitFor();
  };

  const open = async (id: string) => {
    const operation = page.locator(`#${id}`);
    await operation.locator(".try > summary").click();
    return operation;
  };

  const send = async (id: string) => {
    const operation = page.locator(`#${id}`);
    await operation.locator("form .send").click();
    await operation.locator("form .send:enabled").waitFor();
    const outcome = await operation.locator(".outcome strong").textContent();
    const answer: unknown = JSON.parse((await operation.locator(".answer > pre").textContent()) ?? "");
    return { status: outcome, answer };
  };

  /** The field that keeps the form from being sent, and what the browser says. */
  const refused = () => page.evaluate("[document.activeElement.name, document.activeElement.validationMessage]");

  const violations = async () => {
    await page.evaluate(axe.source);
    const found = z.parse(
      Violations,
      await page.evaluate(`axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)`),
    );
    return found.filter(({ impact }) => impact === "critical" || impact === "serious");
  };

  it("has every operation of the route table, without errors and without requests to other hosts", async () => {
    await visit(desktop);
    const ids = await page.locator(".operation").evaluateAll((sections) => sections.map(({ id }) => id));
    expect(ids.sort()).toEqual(routes.map(operationId).sort());
    await page.screenshot({ path: join(artefacts, "reference.png") });
    expect(problems).toEqual([]);
  });

  it.each(views)(
    "is accessible, fits its width, does not shift and keeps operations short at $name",
    async ({ name: _, ...options }) => {
      await visit(options);
      expect(await page.evaluate(shifts)).toBe(0);
      const heights = await page
        .locator(".operation")
        .evaluateAll((sections) => sections.map((section) => section.getBoundingClientRect().height));
      expect(Math.max(...heights)).toBeLessThan(2_000);
      const create = await open("createRequestAttachment");
      await create.locator("input[type=file]").setInputFiles(letter);
      expect((await send("createRequestAttachment")).status).toBe("201 Created");
      await page.locator("details").evaluateAll((all) => {
        for (const details of all) details.setAttribute("open", "");
      });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(options.viewport.width);
      expect(await violations()).toEqual([]);
    },
  );

  it("asks for a missing file, uploads one, and fills in its id until it is deleted", async () => {
    await visit(desktop);
    const create = await open("createRequestAttachment");
    await create.locator(".send").click();
    expect(await refused()).toEqual(["part:data[file]", "Please select a file."]);
    await create.locator("input[type=file]").setInputFiles(letter);
    const { status, answer } = await send("createRequestAttachment");
    expect([status, answer]).toEqual([
      "201 Created",
      expect.objectContaining({
        data: expect.objectContaining({ filename: "loa.pdf", name: "Letter of authorization" }),
      }),
    ]);
    for (const id of ["showRequestAttachment", "deleteRequestAttachment"]) {
      await open(id);
      expect([id, await send(id)]).toEqual([id, { status: "200 OK", answer }]);
    }
    await page.locator("#showRequestAttachment .send").click();
    expect(await refused()).toEqual(["path:attachment_id", "Please fill out this field."]);
  });

  it.runIf(exhaustive)("uploads a file directly in three calls, also if it is sent twice", async () => {
    await visit(desktop);
    const prepare = await open("createOrderAttachmentUpload");
    await prepare.locator("input[type=file]").setInputFiles({ ...letter, buffer: scan });
    await prepare.getByText("The body describes loa.pdf: 5,000,000 bytes. The file has not been sent yet.").waitFor();
    const described = {
      filename: "loa.pdf",
      content_type: "application/pdf",
      bytes: 5_000_000,
      sha256: createHash("sha256").update(scan).digest("hex"),
    };
    const body = await prepare.locator("textarea").inputValue();
    expect(JSON.parse(body)).toEqual({ type: "upload", data: described });
    const { status, answer } = await send("createOrderAttachmentUpload");
    expect([status, answer]).toEqual([
      "201 Created",
      { type: "upload", data: expect.objectContaining({ ...described, method: "PUT" }) },
    ]);
    expect(await prepare.locator(".sending pre:not([hidden])").textContent()).toMatch(/-g -T 'loa.pdf'/);
    const put = prepare.getByRole("button", { name: "PUT loa.pdf to storage" });
    await put.click();
    await prepare.getByText(/^200 from storage in \d+ ms/).waitFor();
    await put.click();
    await prepare.getByText(/^412 from storage: the file is there already/).waitFor();
    await prepare.getByRole("link", { name: "Create the attachment with this id" }).click();
    expect(await send("completeOrderAttachmentUpload")).toEqual({
      status: "201 Created",
      answer: { type: "order_attachment", data: expect.objectContaining(idOf(answer)) },
    });
    const show = await open("showOrderAttachment");
    await show.getByLabel("file").check();
    expect(await send("showOrderAttachment")).toMatchObject({
      answer: { associations: { file: { data: { bytes: 5_000_000, sha256: described.sha256 } } } },
    });
    expect(await show.locator(".samples pre:not([hidden])").textContent()).toContain("?include=file'");
  });

  it.runIf(exhaustive)("sends JSON bodies, and reports invalid JSON", async () => {
    await visit(desktop);
    const create = await open("createSwitch");
    await create.locator("textarea").fill('{"type": ');
    await create.locator(".send").click();
    expect(await refused()).toEqual(["json", expect.stringMatching(/^The body is not JSON\. .*JSON/)]);
    await create.locator("textarea").fill('{"type": "switch", "data": {"name": "From the page"}}');
    expect((await send("createSwitch")).status).toBe("201 Created");
    await open("updateSwitch");
    expect((await send("updateSwitch")).status).toBe("200 OK");
  });

  it.runIf(exhaustive)(
    "shows samples in three languages for the current input, and its curl sample works",
    async () => {
      await visit(desktop);
      const list = await open("listRequestAttachments");
      await list.getByLabel("first").fill("7");
      for (const language of ["TypeScript", "Python", "curl"]) {
        await list.getByRole("button", { name: language }).click();
        expect([language, await list.locator(".samples pre:not([hidden])").textContent()]).toEqual([
          language,
          expect.stringContaining("/attachments?first=7"),
        ]);
      }
      const curl = (await list.locator(".samples pre:not([hidden])").textContent()) ?? "";
      const { stdout } = await promisify(execFile)("bash", ["-c", curl.replace(/^curl/, "curl -sS")]);
      expect(JSON.parse(stdout)).toMatchObject({ type: "list", data: { page_info: { limit: 7 } } });
    },
  );

  it.runIf(exhaustive)("uses the visitor's own key, even after a reload, and does not show it in samples", async () => {
    await visit(desktop, "/#listSwitches");
    await page.locator("#key").fill("apik_mine");
    await page.reload();
    await page.locator("html[data-ready]").waitFor();
    expect(await page.locator("#listSwitches .samples").textContent()).not.toContain("apik_");
    await open("listSwitches");
    expect((await send("listSwitches")).status).toBe("401 Unauthorized");
  });

  it.runIf(exhaustive)("finds operations by their parameters, and keeps the selected theme", async () => {
    await visit(phone);
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByLabel("Search").fill("reference_id");
    const found = await page
      .locator("#side li[data-search]:not([hidden]) a")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    expect(found).toEqual([
      "#createRequestAttachment",
      "#listRequestAttachments",
      "#completeRequestAttachmentUpload",
      "#createOrderAttachment",
      "#listOrderAttachments",
      "#completeOrderAttachmentUpload",
    ]);
    await page.getByRole("button", { name: "Theme: system" }).click();
    await page.getByRole("button", { name: "Theme: light" }).click();
    await page.reload();
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
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
