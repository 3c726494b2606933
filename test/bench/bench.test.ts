import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { exhaustive, extent } from "../support/setup/extent.ts";

const program = join(import.meta.dirname, "run.ts");
const numberOfRows = { checkout: 3, upload: 2, warm: 10, cold: 20 };
const tried = Object.entries(numberOfRows).slice(0, extent === "all" ? 4 : 2);

it.runIf(exhaustive).each(tried)("the benchmark %s still runs", async (name, least) => {
  const passed = ["--only", name, "--repetitions", "1", "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...passed], { maxBuffer: 1e8 });
  const [{ rows }] = JSON.parse(stdout);
  expect(rows.length).toBeGreaterThanOrEqual(least);
});
