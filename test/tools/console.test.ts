import { once } from "node:events";
import { createServer } from "node:http";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { startConsole } from "../../infra/console/server.ts";
import { newOrder } from "../support/fixtures/orders.ts";
import { newSwitch } from "../support/fixtures/switches.ts";
import { addMessagingNumbers } from "../support/fixtures/tenants.ts";
import { admin, adminJson } from "../support/requests/admin.ts";
import { chromiumPath, launchChromium } from "./chromium.ts";

if (!chromiumPath) console.warn("The console is not tested in a browser: no Chromium found (CHROMIUM names one).");

const faultsUrl = () => `${inject("environment").CARRIER_URL}/faults`;
const misbehave = (fault: object) => fetch(faultsUrl(), { method: "POST", body: JSON.stringify(fault) });
const checkOut = (id: string) => admin(["order", "checkout", id, "--wait"]);

/** Starts a checkout that finds its carrier unavailable, and returns once the run is stored. An earlier page shows no run. */
const startRun = async (id: string, unavailable: object) => {
  await misbehave({ method: "PUT", path: id, action: "status", status: 503, ...unavailable });
  await admin(["order", "checkout", id]);
  await vi.waitUntil(async () => (await adminJson(["order", "show", id])).checkout !== null, 60_000);
};

const reason = "The signature on page 2 is missing.";
const refusal = { method: "PUT", action: "status", status: 422, body: { reason } };

describe.skipIf(!chromiumPath)("the console in Chromium", () => {
  let browser: Browser;
  let served: Awaited<ReturnType<typeof startConsole>>;
  let context: BrowserContext;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    served = await startConsole("the tests' table", "", 0);
    browser = await launchChromium();
    context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("dialog", (dialog) => problems.push(`a dialog: ${dialog.message()}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(new URL("/", served.url).href) && !request.url().startsWith("data:"))
        problems.push(`elsewhere: ${request.url()}`);
    });
    await page.goto(served.url);
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  const home = async () => {
    await page.getByRole("link", { name: "Today" }).click();
    await page.getByRole("heading", { name: "Failed checkouts" }).waitFor();
  };
  const find = async (text: string) => {
    await page.getByRole("textbox", { name: "Find", exact: true }).fill(text);
    await page.getByRole("button", { name: "Find", exact: true }).click();
  };

  it("answers the five questions by clicks", async () => {
    const order = await newOrder(addMessagingNumbers);
    const letter = await order.attach(0, "Letter of authorization");
    await misbehave({ ...refusal, path: order.id });
    await checkOut(order.id);

    // What failed, and why?
    await home();
    const failed = page.locator("tbody", { hasText: order.id }).filter({ hasText: reason });
    await failed.getByRole("row", { name: /UTC refused/ }).waitFor();
    const lastHour = page.getByRole("region", { name: "The last hour" });
    await lastHour.locator("tr", { hasText: order.id }).getByText("checkout_failed").waitFor();
    await lastHour.getByRole("link", { name: "level0" }).first().waitFor();

    // What did the carrier say?
    await failed.getByRole("link").click();
    await page.getByRole("heading", { name: /: failed$/ }).waitFor();
    await page.getByText(`Order ${order.id} of`).waitFor();
    await page.locator(".mark.red").first().hover();
    await page.locator("#said").getByText("checkout failed").waitFor();
    await page.locator(".mark.red").last().focus();
    await page.locator("#said").getByText(reason).waitFor();

    // Where is this letter?
    await home();
    await find(letter);
    await page.getByRole("heading", { name: "Letter of authorization" }).waitFor();
    await page.getByText(`Letter ${letter} of`).waitFor();
    await page.getByRole("region", { name: "What the carrier says" }).getByText(reason).waitFor();
    await page.getByText("detected_type").waitFor();
    await page.getByRole("cell", { name: "request_attachment.refused" }).waitFor();

    // Who changed this switch?
    const { id } = await newSwitch(order.key, { name: "Inbound" });
    await home();
    await find(id);
    await page.getByRole("cell", { name: "switch.created" }).waitFor();
    await page.getByRole("cell", { name: /key \w{26}, user \w{26}/ }).waitFor();
  });

  it("shows hostile names and words as text", async () => {
    const order = await newOrder(addMessagingNumbers);
    const name = `<img src=x onerror=alert(1)>"'&<script>alert(2)</script>`;
    await order.attach(0, name);
    const said = `<script>alert(3)</script>\u001b]0;\u202e`;
    await misbehave({ ...refusal, path: order.id, body: { reason: said } });
    await checkOut(order.id);
    await page.goto(new URL(`/order/${order.id}`, served.url).href);
    await page.locator(".board a").getByText(name.slice(0, 20)).first().waitFor();
    await page.locator(".mark.red").last().hover();
    await page.locator("#said").getByText("<script>alert(3)</script>").waitFor();
    const shown = (await page.textContent("main")) ?? "";
    expect(["\u001b", "\u202e"].filter((character) => shown.includes(character))).toEqual([]);
    expect(await page.locator("main script, main img").count()).toBe(0);
  });

  it("shows a run as it goes on, without a reload by hand", async () => {
    const order = await newOrder(addMessagingNumbers);
    await order.attach(0, "LOA");
    await startRun(order.id, { times: 30 });
    await page.goto(new URL(`/order/${order.id}`, served.url).href);
    await page.locator("main[data-live]").waitFor();
    await fetch(faultsUrl(), { method: "DELETE" });
    const loaded = await page.evaluate(() => performance.timeOrigin);
    await page.getByRole("heading", { name: /: checked out$/ }).waitFor();
    await page.locator("main:not([data-live])").waitFor();
    await page.locator("tr.changed").first().waitFor();
    expect(await page.evaluate(() => performance.timeOrigin)).toBe(loaded);
  });

  it("leaves a reader alone, and says when it cannot read the page again", async () => {
    const order = await newOrder(addMessagingNumbers);
    await order.attach(0, "LOA");
    // The run outlasts the test.
    await startRun(order.id, { headers: { "retry-after": "600" } });
    const address = new URL(`/order/${order.id}`, served.url).href;
    await page.goto(address);
    await page.evaluate('getSelection().selectAllChildren(document.querySelector("h1"))');
    await page.locator("main").evaluate((main) => main.setAttribute("data-first", ""));
    for (let read = 0; read < 2; read += 1) await page.waitForResponse(address);
    await page.locator("main[data-first]").waitFor();
    await page.evaluate("getSelection().removeAllRanges()");
    await page.locator("main:not([data-first])").waitFor();
    await context.route(address, (route) => route.fulfill({ status: 503 }));
    await page.getByText("This page is no longer current").waitFor();
    problems.splice(0);
    await context.unroute(address);
    await page.locator("#old").waitFor({ state: "hidden" });
    expect(await page.title()).toContain("Patchbay");
  });

  it("lets no other page read it, frame it or lead to it", async () => {
    const other = createServer((_, outgoing) => outgoing.setHeader("content-type", "text/html").end("<p>other</p>"));
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const address = other.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const evil = await context.newPage();
    await evil.goto(`http://127.0.0.1:${port}/`);
    const target = new URL("/", served.url).href;
    const read = await evil.evaluate(`(async () => {
      const fetched = (mode) => fetch("${target}", { mode }).then(({ type }) => type, () => "refused");
      const frame = document.createElement("iframe");
      frame.src = "${target}";
      const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
      document.body.append(frame);
      await loaded;
      return [await fetched("cors"), await fetched("no-cors"), frame.contentDocument === null ? "hidden" : "read"];
    })()`);
    expect(read).toEqual(["refused", "refused", "hidden"]);
    await Promise.all([evil.waitForURL(target), evil.evaluate(`location.assign("${target}")`)]);
    expect(await evil.textContent("body")).not.toContain("Failed checkouts");
    await evil.getByRole("link", { name: "Open /" }).click();
    await evil.getByRole("heading", { name: "Failed checkouts" }).waitFor();
    await evil.close();
  });

  it.each([
    ["1,440 pixels, light", { colorScheme: "light", viewport: { width: 1440, height: 900 } }],
    ["1,024 pixels, dark", { colorScheme: "dark", viewport: { width: 1024, height: 800 } }],
    ["390 pixels, light", { colorScheme: "light", viewport: { width: 390, height: 844 } }],
    ["390 pixels, dark", { colorScheme: "dark", viewport: { width: 390, height: 844 } }],
  ] as const)("has no violation of axe's rules, and fits: %s", async (_, options) => {
    const order = await newOrder(addMessagingNumbers);
    const letter = await order.attach(0, "Letter of authorization of a customer with a long name");
    await misbehave({ ...refusal, path: order.id });
    await checkOut(order.id);
    // Axe is a script that the policy of the page forbids.
    const own = await browser.newContext({ ...options, bypassCSP: true });
    const tab = await own.newPage();
    await tab.goto(served.url);
    const ofOrder = [`/order/${order.id}`, `/attachment/request/${order.requests[0]}/${letter}`];
    for (const path of ["/", ...ofOrder, `/account/${order.account}`, "/accounts", "/find?text=nothing"]) {
      await tab.goto(new URL(path, served.url).href);
      await tab.evaluate(axe.source);
      const violations = await tab.evaluate(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes[0].html))`,
      );
      const width = await tab.evaluate("document.documentElement.scrollWidth");
      expect([path, violations, width]).toEqual([path, [], options.viewport.width]);
    }
    await own.close();
  });

  it("draws an order of 5,000 letters, those with a problem first, and counts the others", async () => {
    // Only the picture is measured, because reading 5,000 letters takes the table's time.
    const { board } = await import("../../infra/console/picture.ts");
    const { sourceOf } = await import("../../infra/console/html.ts");
    const attachments = Array.from({ length: 5_000 }, (_, nth) => ({
      of: "request" as const,
      id: String(nth),
      name: `Letter ${nth}`,
      receipt: { state: nth === 4_999 ? ("refused" as const) : ("forwarded" as const) },
    }));
    const request = { id: "r", account: "a", order: "o", type: addMessagingNumbers, attachments };
    const report = { id: "o", account: "a", state: "CART" as const, checkout: null, late_changes: null, seal: null };
    const source = sourceOf(board({ ...report, attachments: [], requests: [request] } as never));
    expect(source).toMatch(/1 refused.*Letter 4999.*4,999 forwarded.*and 4,700 more/s);
    expect(source.length).toBeLessThan(50_000);
  });

  it("causes no error in the browser's console, no dialog, and no request elsewhere", () => {
    expect(problems).toEqual([]);
  });
});
