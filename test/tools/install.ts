import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Installs a folder's own packages. The first command that needs them calls it, but `npm ci` at the root does not. */
export const install = (folder: string) => {
  const lockFile = join(folder, "package-lock.json");
  /** A copy of the lock file, written once all of it is installed. */
  const installed = join(folder, "node_modules/.installed-lock.json");
  if (existsSync(installed) && readFileSync(installed).equals(readFileSync(lockFile))) return;
  const name = relative(root, folder);
  console.error(`Installing the packages of ${name} …`);
  const { status } = spawnSync("npm ci --loglevel=error --no-audit --no-fund", {
    cwd: folder,
    shell: true,
    stdio: ["ignore", "ignore", "inherit"],
  });
  if (status !== 0)
    throw new Error(
      `The packages of ${name} cannot be installed, as above. npm run tools tries again; it needs the network once.`,
    );
  copyFileSync(lockFile, installed);
};

/** Vitest calls this function before the tests of this folder. */
export const setup = () => install(import.meta.dirname);
