import { join } from "node:path";
import type { Browser } from "playwright-core";
import { fail, parseArguments } from "../../infra/local/command.ts";
import { form, pdf } from "../support/fixtures/attachments.ts";
import { type LocalService, localServices } from "../support/processes/local-service.ts";
import { setup } from "./install.ts";

/** `npm run pictures` takes the README's pictures from a running service. */

const help = `Usage: npm run pictures

Takes the pictures of the README again: of the API reference, light and dark (docs/images/reference-*.png), of a terminal that shows
a refused letter (docs/images/refusal.png), and of the console that shows its correction (docs/images/console.png). It needs Chromium, which CHROMIUM may name.`;

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

const columns = 116;
const style =
  "margin:0;padding:20px 24px;background:#16242a;color:#e3ecee;font:14px/1.45 monospace;display:inline-block";
const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Lets the carrier refuse a letter, and takes a picture of the order as the operators' CLI prints it. */
const pictureRefusal = async (browser: Browser, { call, attachments, environment, demo, admin }: LocalService) => {
  await call("POST", attachments, form({ "data[name]": "Letter of authorization", "data[file_hint]": "LOA" }, pdf()));
  const body = { code: "E42", reason: "The signature on page 2 is missing." };
  const fault = { method: "PUT", path: "attachments", action: "status", status: 422, body };
  await fetch(`${environment.CARRIER_URL}/faults`, { method: "POST", body: JSON.stringify(fault) });
  const { ORDER: order = "" } = demo;
  await admin("order", "checkout", order, "--wait");
  process.env.COLUMNS = String(columns);
  const { stdout } = await admin("order", "show", order);
  // The order's other request has no letter. It may come first.
  const [upToRefusal = ""] = stdout.replace(/\n\nRequest \w+ [^\n]*\nNothing found\./, "").split("\n\nLast events");
  if (!/carrier response[\s\S]*E42/.test(upToRefusal))
    throw new Error(`The picture would not show the refused letter:\n${stdout}`);
  const page = await browser.newPage({ deviceScaleFactor: 2 });
  const text = `$ ./patchbay order show ${order}\n${upToRefusal}`;
  await page.setContent(`<body style="margin:0"><pre style="${style};min-width:${columns}ch">${escaped(text)}</pre>`);
  await page.locator("pre").screenshot({ path: join(folder, "refusal.png") });
};

/** Corrects the refused letter, and takes a picture of the order in the console. */
const pictureConsole = async (browser: Browser, { call, attachments, demo, admin, output }: LocalService) => {
  const { ORDER: order = "" } = demo;
  const { data } = JSON.parse(await (await call("GET", attachments)).text());
  await call("DELETE", `${attachments}/${data.items[0].data.id}`);
  await call(
    "POST",
    attachments,
    form({ "data[name]": "Letter, with the signature", "data[file_hint]": "LOA" }, pdf()),
  );
  await admin("order", "checkout", order, "--wait");
  const address = /^console (.*)$/m.exec(output.stdout)?.[1] ?? "";
  const page = await browser.newPage({ viewport: { width: 1100, height: 720 }, deviceScaleFactor: 2 });
  await page.goto(address);
  await page.goto(new URL(`/order/${order}`, address).href);
  await page.locator(".mark.red").last().hover();
  await page.screenshot({ path: join(folder, "console.png") });
};

const takePictures = async () => {
  parseArguments(help, {});
  setup();
  const { chromiumPath, launchChromium } = await import("./chromium.ts");
  if (!chromiumPath) throw new Error("The pictures need Chromium: set CHROMIUM to its path.");
  const services = localServices();
  const [service, browser] = await Promise.all([services.start([]), launchChromium()]);
  try {
    await pictureReference(browser, service);
    await pictureRefusal(browser, service);
    await pictureConsole(browser, service);
  } finally {
    await browser.close();
    await services.remove();
  }
};

takePictures().catch(fail);
