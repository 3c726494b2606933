import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const isExecutable = (file: string) => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const names = ["chromium", "chromium-browser", "google-chrome"];
const onPath = (process.env.PATH ?? "").split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));

/** The path of Chromium, if it is installed: the one in CHROMIUM, else the first on the PATH. */
export const chromiumPath = (process.env.CHROMIUM ? [process.env.CHROMIUM] : ["/usr/bin/chromium", ...onPath]).find(
  isExecutable,
);

/** Headless, and without background requests. */
const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ ...(chromiumPath && { executablePath: chromiumPath }), args: flags });
