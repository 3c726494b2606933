import { globSync } from "node:fs";
import { join } from "node:path";

/** Runs before the tests: says what to do if npm left out dependencies that they need. */

/** Prefixes of the packages that have a tool's program for this platform, as an optional dependency. */
const programs = { Vitest: "@rolldown/binding-", esbuild: "@esbuild/" };

const root = process.argv[2] ?? join(import.meta.dirname, "..");
const installed = (start: string) => globSync(`node_modules/${start}*`, { cwd: root }).length > 0;
const missing = Object.entries(programs).filter(([, start]) => !installed(start));

if (missing.length > 0) {
  const names = missing.map(([name]) => name).join(", ");
  console.error(`The tests need dependencies that are not installed: the programs of ${names}.
Install them: npm ci --include=dev --include=optional`);
  process.exitCode = 1;
}
