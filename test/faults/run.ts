import { spawnSync } from "node:child_process";

/** `npm run test:faults`: the tests of faults alone; with `--full` all of what `npm test` tries a part of. */
const rest = process.argv.slice(2);
const full = rest.includes("--full");
const vitest = new URL("../../node_modules/vitest/vitest.mjs", import.meta.url).pathname;
const { status } = spawnSync(
  process.execPath,
  [vitest, "run", "test/faults", ...rest.filter((argument) => argument !== "--full")],
  { stdio: "inherit", env: { ...process.env, ...(full && { FULL: "1" }) } },
);
process.exitCode = status ?? 1;
