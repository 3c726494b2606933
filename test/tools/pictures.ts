import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Browser } from "playwright-core";
import { fail } from "../../infra/local/command.ts";
import { form, pdf } from "../support/fixtures/attachments.ts";
import { type LocalService, localServices } from "../support/processes/local-service.ts";
import { setup } from "./install.ts";

/** `npm run pictures` takes the README's pictures from a running service. */

const help = `Usage: npm run pictures

Takes the pictures of the README again: of the API reference, light and dark (docs/images/reference-*.png), of
the console's first page with a refused letter (docs/images/today.png), and of its order (docs/images/console.png). It needs Chromium, which CHROMIUM may name.`;

const folder = join(import.meta.dirname, "../../docs/images");

const pictureReference = async (browser: Browser, { url }: LocalService) => {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.newPage({
      viewport: { width: 1280, height: 800 },
      colorScheme,
      reducedMotion: "reduce",
    });
    const operation = "POST/api/v1/requests/{request_id}/attachments";
    await page.goto(`${url}/docs/#tag/request-attachments/${operation}`);
    await page.locator(`section[id$="${operation}"]`).getByRole("button", { name: "Test Request" }).waitFor();
    // Scalar scrolls to the operation once the elements above it have their height.
    await page.waitForTimeout(2_000);
    await page.screenshot({ path: join(folder, `reference-${colorScheme}.png`) });
    await page.close();
  }
};

const letters = Array.from({ length: 40 }, (_, nth) => `Letter of authorization, +49 30 5550 ${100 + nth}`);
const upload = (name: string) => form({ "data[name]": name, "data[file_hint]": "LOA" }, pdf());

/** Takes a picture of a page of the console. */
const pictureConsole = async (browser: Browser, { output }: LocalService, path: string, file: string) => {
  const address = /^console (.*)$/m.exec(output.stdout)?.[1] ?? "";
  const page = await browser.newPage({ viewport: { width: 1100, height: 720 }, deviceScaleFactor: 2 });
  await page.goto(address);
  await page.goto(new URL(path, address).href);
  await page.locator("h1").waitFor();
  await page.screenshot({ path: join(folder, file) });
  await page.close();
};

/** Lets the carrier refuse a letter of forty, and takes a picture of Today, and of the order. */
const pictureRefusal = async (browser: Browser, service: LocalService) => {
  const { call, attachments, environment, demo, admin } = service;
  for (const name of letters) await call("POST", attachments, upload(name));
  const body = { code: "E42", reason: "The signature on page 2 is missing." };
  const fault = { method: "PUT", path: "attachments", action: "status", status: 422, body };
  await fetch(`${environment.CARRIER_URL}/faults`, { method: "POST", body: JSON.stringify(fault) });
  const { ORDER: order = "" } = demo;
  await admin("order", "checkout", order, "--wait");
  await pictureConsole(browser, service, "/", "today.png");
  await pictureConsole(browser, service, `/order/${order}`, "console.png");
};

const takePictures = async () => {
  if (parseArgs({ options: { help: { type: "boolean" } } }).values.help) return console.log(help);
  setup();
  const { chromiumPath, launchChromium } = await import("./chromium.ts");
  if (!chromiumPath) throw new Error("The pictures need Chromium: set CHROMIUM to its path.");
  const services = localServices();
  const [service, browser] = await Promise.all([services.start([]), launchChromium()]);
  try {
    await pictureReference(browser, service);
    await pictureRefusal(browser, service);
  } finally {
    await browser.close();
    await services.remove();
  }
};

takePictures().catch(fail);
