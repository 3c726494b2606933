import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { byExtent, exhaustive, sampleOf } from "../support/setup/extent.ts";
import { mistakes, withMistake } from "./mistakes.ts";

const root = join(import.meta.dirname, "../..");

/** Runs schedules in a separate process, because they replace its clock. */
const simulate = async (...args: readonly string[]): Promise<string> => {
  const command = ["--import", "./infra/node.js", "test/simulation/run.ts", ...args];
  const run = promisify(execFile)(process.execPath, command, { cwd: root, maxBuffer: 1e8 });
  return run.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) => stdout + stderr,
  );
};

describe("the simulation", { timeout: 2_400_000 }, () => {
  const seeds = { sample: ["--seeds", "1-40"], most: ["--seconds", "30"], all: ["--seconds", "1800"] };
  it("breaks no promise in any schedule", async () => {
    const output = await simulate(...byExtent(seeds));
    expect(output).toMatch(/^\d+ schedules, none broken; .*\n$/);
  });

  it.runIf(exhaustive)(
    "prints the trace of a schedule that breaks a promise, with few ingredients and the lines of each call",
    async () => {
      const output = await simulate("--mistake", "metadata before their file", "--seeds", "1-10", "--jobs", "1");
      expect(output).toMatch(/^files, seed \d+, breaks (a promise|promises):\n {2}metadata have their file: /m);
      expect(output).toMatch(/^Repeat it: npm run simulate -- --mix "files" --seeds \d+ --trace$/m);
      expect(output).toMatch(/^Of \d+ ingredients, 1 is needed \(found in \d+ runs\):\n {2}upload \d at /m);
      expect(output).toMatch(/ Transact \S*ATTACHMENT\+.* {2}\[shared\/attachments\/attachments\.ts:\d+\]\n/);
      expect(output).toMatch(/, 1 broken; /);
    },
  );
});

it.each(Object.values(mistakes))("the code has the text of each mistake: $file, $code", (mistake) => {
  const source = readFileSync(join(root, mistake.file), "utf8");
  const mistaken = withMistake(source, mistake);
  expect(mistaken).not.toBe(source);
  expect(stripTypeScriptTypes(mistaken)).not.toBe("");
});

const tried = byExtent({ sample: [], most: sampleOf(Object.entries(mistakes), 35), all: Object.entries(mistakes) });

describe.runIf(tried.length > 0)("a mistake that is put into the code", { timeout: 600_000 }, () => {
  it.each(tried)("is found: %s", async (name, { within }) => {
    const output = await simulate("--mistake", name, "--seeds", `1-${within}`, "--shrink", "0");
    expect(output).toContain(" breaks ");
  });
});
