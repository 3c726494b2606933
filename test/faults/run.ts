import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ArgumentError, fail, parseArguments } from "../../infra/local/command.ts";

/** `npm run test:faults` runs more of each file of which `npm test` runs a sample. */

const root = join(import.meta.dirname, "../..");
const takesSample = /import \{.*\} from ".*\/setup\/extent\.ts"|import \{.*\bsampledParentTypes\b/;
const suites = globSync("test/**/*.test.ts", { cwd: root, exclude: ["**/node_modules/**"] })
  .filter((file) => takesSample.test(readFileSync(join(root, file), "utf8")))
  .sort();

const help = `Usage: npm run test:faults -- [part of a file's name ...] [--full]

Runs the exhaustive suites, of which \`npm test\` runs a sample: most of each in a few minutes, all of each with --full
in about half an hour.

${suites.map((file) => `  ${file}`).join("\n")}

  --full     all of it
  --help     show this`;

const run = () => {
  const options = { full: { type: "boolean" } } as const;
  const { values, positionals } = parseArguments(help, { options, allowPositionals: true });
  const unknown = positionals.filter((part) => !suites.some((file) => file.includes(part)));
  if (unknown.length > 0)
    throw new ArgumentError(`There is no suite ${unknown.join(", ")}. To list them, run with --help.`);
  const files = suites.filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)));
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const env = { ...process.env, TEST_EXTENT: values.full ? "all" : "most" };
  const { status } = spawnSync(process.execPath, [vitest, "run", ...files], { stdio: "inherit", env });
  process.exitCode = status ?? 1;
};

try {
  run();
} catch (error) {
  fail(error);
}
