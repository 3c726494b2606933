import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { operationId } from "../../../../infra/openapi/names.ts";
import { routes } from "../../../../shared/routes.ts";
import { chromiumPath, launchChromium } from "../../../support/processes/chromium.ts";
import { startDemo } from "../../../support/processes/npm-start.ts";

const artefacts = join(import.meta.dirname, "../../../../test-artifacts");

if (!chromiumPath)
  console.warn("The API reference is not tested in a browser: no Chromium found (CHROMIUM names one).");

describe.skipIf(!chromiumPath)("the API reference in Chromium", () => {
  let demo: Awaited<ReturnType<typeof startDemo>>;
  let browser: Browser;
  let page: Page;
  const troubles: string[] = [];

  beforeAll(async () => {
    demo = await startDemo();
    browser = await launchChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    page.setDefaultTimeout(15_000);
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) troubles.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
    page.on("requestfailed", (request) => troubles.push(`failed: ${request.url()}`));
    page.on("request", (request) => {
      if (!/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(`${demo.url}/`))
        troubles.push(`elsewhere: ${request.url()}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) troubles.push(`${response.status()}: ${response.url()}`);
    });
    await page.goto(`${demo.url}/docs`);
    await page.locator(".opblock").first().waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await demo?.stop();
  });

  const operation = (id: string) => page.locator(`.opblock[id$="-${id}"]`);

  /** Opens an operation, executes it as the page has filled it in, and returns the answer that the page shows. */
  const execute = async (id: string, prepare?: (block: ReturnType<typeof operation>) => Promise<void>) => {
    const block = operation(id);
    await block.locator(".opblock-summary-control").click();
    await block.locator(".btn.execute").waitFor();
    await prepare?.(block);
    await block.locator(".btn.execute").click();
    const answer = block.locator(".live-responses-table tbody .response");
    await answer.waitFor();
    return {
      status: await answer.locator(".response-col_status").first().textContent(),
      body: await answer
        .locator(".response-col_description .microlight, .response-col_description pre")
        .first()
        .textContent(),
    };
  };

  it("loads without errors, and asks nobody but this server", async () => {
    expect(await page.title()).toBe("Patchbay API reference");
    expect(troubles).toEqual([]);
    await page.screenshot({ path: join(artefacts, "reference.png"), fullPage: true });
  });

  it("lists every operation of the table of routes, and no other", async () => {
    const shown = await page.locator(".opblock").evaluateAll((blocks) => blocks.map(({ id }) => id.split("-").at(-1)));
    expect(shown.sort()).toEqual(routes.map(operationId).sort());
  });

  it("names the running server, and has nothing of Swagger's own demo", async () => {
    expect(await page.locator(".servers select").inputValue()).toBe(demo.url);
    expect((await page.content()).toLowerCase()).not.toContain("petstore");
    expect(await page.locator("img[src*='validator']").count()).toBe(0);
  });

  it("uploads a file with the demo's key and request, and lists it", async () => {
    const upload = await execute("createRequestAttachment", async (block) => {
      const file = { name: "loa.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7 signed") };
      await block.locator("input[type=file]").setInputFiles(file);
    });
    expect(upload.status).toMatch(/^201/);
    const id = /"id": "([0-9A-Z]{26})"/.exec(upload.body ?? "")?.[1] ?? "no id";
    const list = await execute("listRequestAttachments");
    expect(list.status).toMatch(/^200/);
    expect(list.body).toContain(id);
    expect(list.body).toContain("loa.pdf");
    await page.screenshot({ path: join(artefacts, "reference-list.png") });
    expect(troubles).toEqual([]);
  });

  it("uses a key of the visitor's own, over a reload too, and opens at a deep link", async () => {
    await page.locator(".auth-wrapper .authorize").click();
    await page.locator(".modal-ux .btn", { hasText: "Logout" }).click();
    await page.locator(".modal-ux input").fill("apik_mine");
    await page.locator(".modal-ux .btn.authorize").click();
    await page.goto(`${demo.url}/docs#/Request%20attachments/listRequestAttachments`);
    await page.reload();
    await operation("listRequestAttachments").locator(".btn.execute").click();
    const answer = operation("listRequestAttachments").locator(".live-responses-table .response-col_status");
    await answer.filter({ hasText: "401" }).waitFor();
  });
});
