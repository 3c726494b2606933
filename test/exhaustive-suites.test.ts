import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/** The command `npm run test:faults`. */

const root = join(import.meta.dirname, "..");
const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, ["test/faults/run.ts", ...args], { cwd: root, encoding: "utf8" });

it("npm run test:faults runs every file of which npm test runs a sample, and no file that does not exist", () => {
  const { status, stdout } = run("--help");
  const named = [...stdout.matchAll(/\((test\/[^)\s]+)\)/g)].map(([, file = ""]) => file);
  const sampled = globSync("test/**/*.test.ts", { cwd: root, exclude: ["**/node_modules/**"] }).filter((file) =>
    /import \{.*\b(byExtent|sampledParentTypes)\b.*\} from/.test(readFileSync(join(root, file), "utf8")),
  );
  expect([status, sampled.filter((file) => !named.some((suite) => file.startsWith(suite)))]).toEqual([0, []]);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(sampled.length).toBeGreaterThan(8);
});

it("npm run test:faults refuses an unknown suite", () => {
  const { status, stderr } = run("typo");
  expect([status, stderr]).toEqual([1, "There is no suite typo. To list them, run with --help.\n"]);
});
