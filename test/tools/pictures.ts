import { join } from "node:path";
import { parseArgs } from "node:util";
import { fail } from "../../infra/local/command.ts";
import { localServices } from "../support/processes/local-service.ts";
import { setup } from "./install.ts";

/** `npm run pictures`: takes the pictures of the API reference from the current service. */

const help = `Usage: npm run pictures

Takes the pictures of the API reference, light and dark, again: docs/images/reference-*.png. It needs Chromium, which
CHROMIUM may name. The plots beside them come from npm run bench -- --plot.`;

const folder = join(import.meta.dirname, "../../docs/images");

const takePictures = async () => {
  if (parseArgs({ options: { help: { type: "boolean" } } }).values.help) return console.log(help);
  setup();
  const { chromiumPath, launchChromium } = await import("./chromium.ts");
  if (!chromiumPath) throw new Error("The pictures of the API reference need Chromium: set CHROMIUM to its path.");
  const services = localServices();
  const [demo, browser] = await Promise.all([services.start([]), launchChromium()]);
  try {
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.newPage({
        viewport: { width: 1280, height: 800 },
        colorScheme,
        reducedMotion: "reduce",
      });
      const operation = "POST/api/v1/requests/{request_id}/attachments";
      await page.goto(`${demo.url}/docs/#tag/request-attachments/${operation}`);
      await page.locator(`section[id$="${operation}"]`).getByRole("button", { name: "Test Request" }).waitFor();
      // Scalar scrolls to the operation once what is above it has its height.
      await page.waitForTimeout(2_000);
      await page.screenshot({ path: join(folder, `reference-${colorScheme}.png`) });
      await page.close();
    }
  } finally {
    await browser.close();
    await services.remove();
  }
};

takePictures().catch(fail);
