import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/** `npm run test:faults` itself: what it runs, and what it says. */

const root = join(import.meta.dirname, "..");
const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, ["test/faults/run.ts", ...args], { cwd: root, encoding: "utf8" });

/** They run whole in `npm test` as well, and belong to the faults all the same. */
const whole = ["test/faults/late-commit.test.ts", "test/shared/checkout/duplicates.test.ts"];

it("npm run test:faults names every file of which npm test runs a sample, and no other but those it runs whole", () => {
  const { status, stdout } = run("--help");
  const named = [...stdout.matchAll(/\((test\/\S+\.test\.ts)\)/g)].map(([, file = ""]) => file);
  const sampled = globSync("test/**/*.test.ts", { cwd: root }).filter((file) =>
    /import \{.*\bbyExtent\b.*\} from/.test(readFileSync(join(root, file), "utf8")),
  );
  expect([status, named.toSorted()]).toEqual([0, [...sampled, ...whole].toSorted()]);
});

it("npm run test:faults refuses a suite that it does not have", () => {
  const { status, stderr } = run("typo");
  expect([status, stderr]).toEqual([1, "There is no suite typo: run with --help.\n"]);
});
