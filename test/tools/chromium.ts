import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const names = ["chromium", "chromium-browser", "google-chrome"];
const onPath = (process.env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));

/** The path of Chromium, if it is installed. CHROMIUM counts if it is set, or else the first of the usual places. */
export const chromiumPath = (process.env.CHROMIUM ? [process.env.CHROMIUM] : ["/usr/bin/chromium", ...onPath]).find(
  (file) => existsSync(file),
);

/** Playwright starts it headless and without background requests. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ ...(chromiumPath && { executablePath: chromiumPath }) });
