import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";

/** The dependencies: the lock file is complete, install scripts are approved, and every licence is known. */

const root = join(import.meta.dirname, "..");
const readJson = (file: string): unknown => JSON.parse(readFileSync(join(root, file), "utf8"));

const Package = z.looseObject({
  version: z.optional(z.string()),
  resolved: z.optional(z.string()),
  integrity: z.optional(z.string()),
  dev: z.optional(z.boolean()),
  link: z.optional(z.boolean()),
  inBundle: z.optional(z.boolean()),
  license: z.optional(z.string()),
  hasInstallScript: z.optional(z.boolean()),
  dependencies: z.optional(z.record(z.string(), z.string())),
  optionalDependencies: z.optional(z.record(z.string(), z.string())),
});
const { packages } = z.parse(z.object({ packages: z.record(z.string(), Package) }), readJson("package-lock.json"));
const project = z.parse(
  z.looseObject({
    dependencies: z.record(z.string(), z.string()),
    devDependencies: z.record(z.string(), z.string()),
    optionalDependencies: z.record(z.string(), z.string()),
    allowScripts: z.record(z.string(), z.boolean()),
    scripts: z.record(z.string(), z.string()),
  }),
  readJson("package.json"),
);

const Sbom = z.object({ components: z.array(z.object({ "bom-ref": z.string() })) });

const all = Object.entries(packages).filter(([path]) => path !== "");
const nameOf = (path: string) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/** The path at which Node finds a package that is imported from `from`. */
const resolve = (from: string, name: string) => {
  for (let folder = from; ; folder = folder.slice(0, folder.lastIndexOf("node_modules/")).replace(/\/$/, "")) {
    const found = packages[`${folder && `${folder}/`}node_modules/${name}`];
    if (found || folder === "") return found;
  }
};

describe("the dependencies", () => {
  /** They are run, not imported, but for `constructs`: aws-cdk-lib loads it. */
  const programs = ["aws-cdk", "constructs", "node"];
  const sources = globSync("{functions,infra,shared}/**/*.ts", { cwd: root });
  const imported = sources.flatMap((file) =>
    Array.from(
      readFileSync(join(root, file), "utf8").matchAll(
        /^(?:import (?!type)|\} )[^;]*?from "((?:@[^/"]+\/)?[^"./:]+)["/]|await import\("((?:@[^/"]+\/)?[^"./:]+)"\)/gm,
      ),
      ([, name, later]) => name ?? later ?? "",
    ),
  );

  it("are exactly what the functions, npm start, the CLI and deployments use; the rest is for development", () => {
    expect(Object.keys(project.dependencies).sort()).toEqual([...new Set([...imported, ...programs])].sort());
  });
});

describe("the lock file", () => {
  it("has every package of package.json at exactly that version", () => {
    const named = { ...project.dependencies, ...project.devDependencies, ...project.optionalDependencies };
    for (const [name, version] of Object.entries(named))
      expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
  });

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
});

describe("an install", () => {
  it("runs only scripts that were approved by name", () => {
    const scripted = all.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path));
    const undecided = scripted.filter((name) => !(name in project.allowScripts));
    expect([undecided, project.allowScripts.node]).toEqual([[], true]);
    const approved = Object.entries(project.allowScripts).filter(([, allowed]) => allowed);
    expect(approved.map(([name]) => name)).toEqual(["node"]);
  });

  it("without optional dependencies makes the tests say what to do", () => {
    const empty = mkdtempSync(join(tmpdir(), "patchbay-"));
    const run = (folder: string) => {
      const { status, stderr } = spawnSync(process.execPath, ["test/installed.ts", folder], {
        cwd: root,
        encoding: "utf8",
      });
      return [status, stderr];
    };
    expect(run(root)).toEqual([0, ""]);
    expect(run(empty)).toEqual([
      1,
      "The tests need dependencies that are not installed: the programs of Vitest, esbuild, Biome.\nInstall them: npm ci --include=dev --include=optional\n",
    ]);
    rmSync(empty, { recursive: true });
    for (const name of ["pretest", "pretest:faults"]) expect(project.scripts[name]).toBe("node test/installed.ts");
  });

  it("on Node 20 prints no warnings about packages that run on the Node in node_modules", () => {
    expect(readFileSync(join(root, ".npmrc"), "utf8")).toMatch(/^loglevel=error$/m);
    expect(project.dependencies.node).toMatch(/^24\./);
  });

  it("includes no package that reports installations", () => {
    expect(all.map(([path]) => nameOf(path)).filter((name) => name.includes("scarf"))).toEqual([]);
  });
});

describe("the tools", () => {
  it("report nothing about their use", () => {
    const cdk = [join(root, "node_modules/aws-cdk/bin/cdk"), "cli-telemetry", "--status"];
    const { stdout, stderr } = spawnSync(process.execPath, cdk, { cwd: root, encoding: "utf8" });
    expect(stdout + stderr).toContain("CLI Telemetry is disabled.");
    expect(readFileSync(join(root, "redocly.yaml"), "utf8")).toMatch(/^telemetry: "off"$/m);
  });
});

describe("what runs", () => {
  const licences = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "(MIT OR Apache-2.0)",
    "(MIT OR GPL-3.0-or-later)",
    "ISC",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "BlueOak-1.0.0",
  ];
  const production = all.filter(([, { dev }]) => !dev);

  it("has only known licences", () => {
    const unknown = production.filter(([, { license }]) => !licences.includes(license ?? "none"));
    expect(production.length).toBeGreaterThan(20);
    expect(unknown.map(([path, { license }]) => `${nameOf(path)}: ${license}`)).toEqual([]);
  });

  it("has the project's licence", () => {
    expect(existsSync(join(root, "LICENSE"))).toBe(true);
  });
});

describe("the SBOM", () => {
  it("lists every package of the lock file", () => {
    const { stdout } = spawnSync("npm", ["run", "--silent", "sbom"], { cwd: root, encoding: "utf8" });
    const { components } = z.parse(Sbom, JSON.parse(stdout));
    const locked = all.map(([path, { version }]) => `${nameOf(path)}@${version}`);
    expect(components.map((component) => component["bom-ref"]).sort()).toEqual([...new Set(locked)].sort());
  });
});
