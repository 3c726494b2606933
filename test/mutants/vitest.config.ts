import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { keptThread } from "./kept-thread.ts";

/** The tests that `run.ts` has chosen, for one mutant after the other. */
const served = process.env.MUTANTS_SERVED !== "pure";

const pool = {
  name: "kept threads",
  configureVitest: ({ project }: { project: { config: object } }) => {
    const poolRunner = { name: "kept thread", createPoolWorker: keptThread };
    Object.assign(project.config, { pool: poolRunner.name, poolRunner });
  },
};

export default defineConfig({
  plugins: [pool],
  test: {
    include: (process.env.MUTANTS_TESTS ?? "").split(","),
    globalSetup: served ? ["test/support/servers/stack.ts"] : [],
    setupFiles: ["test/mutants/setup.ts"],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/compile") },
  },
});
