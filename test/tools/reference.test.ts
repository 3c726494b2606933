import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { pageDocument } from "../../infra/openapi/reference.ts";
import { tenants } from "../support/fixtures/tenants.ts";
import { exhaustive } from "../support/setup/extent.ts";
import { chromiumPath, launchChromium } from "./chromium.ts";

const url = inject("baseUrl");

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
    // npm start returns such a document for its demo customer.
    const body = pageDocument(url, { key: t.key("acme"), ids });
    await page.route(`${url}/docs/openapi.json`, (route) => route.fulfill({ contentType: "application/json", body }));
    page.on("request", (request) => {
      if (!request.url().startsWith(`${url}/`)) problems.push(`elsewhere: ${request.url()}`);
    });
    page.on("console", (message) => {
      // Chromium reports requests that the policy blocks here, and each 4xx.
      if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(error.message));
  });

  afterAll(async () => {
    await browser?.close();
  });

  const open = async (tag: string, operation: string) => {
    await page.goto("about:blank");
    await page.goto(`${url}/docs/#tag/${tag}/${operation}`);
    await page.locator(`section[id$="${operation}"]`).getByRole("button", { name: "Test Request" }).click();
    const form = page.getByRole("dialog");
    const send = () => form.getByRole("button", { name: /^Send/ }).first().click();
    return { form, send };
  };

  it("sends a form, shows the 422 for no file, the 201 with one and the 422 of its reference_id, and asks no other host", async () => {
    const { form, send } = await open("request-attachments", "POST/api/v1/requests/{request_id}/attachments");
    await send();
    await form.getByText("must be a file: a part with a filename").first().waitFor();
    expect(await form.getByRole("button", { name: "Select File" }).count()).toBe(1);
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

  it.runIf(exhaustive)(
    "sends a JSON body and a query without a mark of an error, lists the events, and fits 390 px",
    async () => {
      const list = await open("switches", "GET/api/v1/switches");
      await list.send();
      await list.form.getByText("200 OK").waitFor();
      expect(await list.form.locator(".alert, .error").count()).toBe(0);
      const { form, send } = await open("switches", "POST/api/v1/switches");
      await send();
      await form.getByText("201 Created").waitFor();
      await form.getByRole("button", { name: "Close Client" }).click();
      await page.getByRole("button", { name: "Open Group - Webhooks" }).click();
      await page.getByText("A switch was created").first().waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
      const narrow = await open("switches", "GET/api/v1/switches");
      await narrow.send();
      const { y = Number.NaN } = (await narrow.form.getByText("200 OK").boundingBox()) ?? {};
      expect(y).toBeLessThan(844 * 0.6);
      await page.goto("about:blank");
      await page.goto(`${url}/docs/`);
      await page.getByRole("heading", { name: "Patchbay", exact: true }).waitFor();
      // For a contact or a licence, Scalar would show icons without text.
      expect(await page.locator(".icons-only").count()).toBe(0);
      expect(problems).toEqual([]);
    },
  );
});
