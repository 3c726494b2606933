import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../package.json" with { type: "json" };

/**
 * Runs before tests and checks. Explains what to do if a package that they need is missing or does not have package.json's version.
 */

/** Prefixes of the optional dependencies that contain a tool's program for this platform. */
const programs = { Vitest: "@rolldown/binding-", esbuild: "@esbuild/" };

const packages = join(process.argv[2] ?? join(import.meta.dirname, ".."), "node_modules");

const isInstalled = ([name, version]: [string, string]) => {
  const file = join(packages, name, "package.json");
  return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === version;
};
const pinned = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
const missing = [
  ...pinned.filter((each) => !isInstalled(each)).map((each) => each.join(" ")),
  ...Object.entries(programs)
    .filter(([, start]) => globSync(`${start}*`, { cwd: packages }).length === 0)
    .map(([name]) => `the program of ${name}`),
];

if (missing.length > 0) {
  console.error(`Not installed: ${missing.join(", ")}.
Install what tests and checks need: npm ci --include=dev --include=optional`);
  process.exitCode = 1;
}
