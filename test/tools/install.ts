import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What single checks use is installed in this folder by the first command that needs it, and not by `npm ci` at the root. */

const lockFile = join(import.meta.dirname, "package-lock.json");
/** A copy of the lock file, written once all of it is installed. */
const installed = join(import.meta.dirname, "node_modules/.installed-lock.json");

const isInstalled = () => existsSync(installed) && readFileSync(installed).equals(readFileSync(lockFile));

/** Vitest calls it before the tests of this folder. */
export const setup = () => {
  if (isInstalled()) return;
  console.error("Installing the tools of the checks into test/tools …");
  const { status } = spawnSync("npm ci --loglevel=error --no-audit --no-fund", {
    cwd: import.meta.dirname,
    shell: true,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0)
    throw new Error(
      "The tools of the checks cannot be installed, as above. npm run tools tries again; it needs the network once.",
    );
  copyFileSync(lockFile, installed);
};
