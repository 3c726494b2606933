import { globSync } from "node:fs";
import { join } from "node:path";

/** Runs before the tests: says what to do where npm was told to leave out what they cannot run without. */

/** How the folders of packages begin that have a program for this platform, as optional dependencies of the tools. */
const programs = { Vitest: "@rolldown/binding-", esbuild: "@esbuild/", Biome: "@biomejs/cli-" };

const root = process.argv[2] ?? join(import.meta.dirname, "..");
const installed = (start: string) => globSync(`node_modules/${start}*`, { cwd: root }).length > 0;
const missing = Object.entries(programs).filter(([, start]) => !installed(start));

if (missing.length > 0) {
  const names = missing.map(([name]) => name).join(", ");
  console.error(`The tests need optional dependencies, which are not installed: the programs of ${names}.
Install them: npm ci --include=optional`);
  process.exitCode = 1;
}
