import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromiumPath, launchChromium } from "../support/processes/chromium.ts";
import { localServices } from "../support/processes/local-service.ts";
import { recordSession } from "./session.ts";
import { terminalSvg } from "./terminal.ts";

/** `npm run pictures`: recreates the pictures of the README from the current service. */

const help = `Usage: npm run pictures -- [options]

Writes the README's pictures to docs/images: the API reference, light and dark (reference-*.png; needs Chromium), and a
recording of npm start and the tour (start.svg). The plots come from npm run bench -- --plot.

  --only <names>  some of: reference, start (with commas between them)
  --help          show this`;

const folder = join(import.meta.dirname, "../../docs/images");

const reference = async () => {
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

const start = async () => {
  const lines = await recordSession();
  writeFileSync(join(folder, "start.svg"), terminalSvg("npm start, and the tour in a second terminal", lines));
};

const pictures: Readonly<Record<string, () => Promise<void>>> = { reference, start };

const main = async () => {
  const options = { only: { type: "string" }, help: { type: "boolean", default: false } } as const;
  const { values } = parseArgs({ options });
  if (values.help) return console.log(help);
  mkdirSync(folder, { recursive: true });
  for (const name of values.only?.split(",") ?? Object.keys(pictures)) {
    const make = pictures[name];
    if (!make) throw new Error(`There is no picture ${name}. To list them, run with --help.`);
    console.error(`${name} …`);
    await make();
  }
};

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
