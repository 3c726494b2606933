import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { keptThread } from "./kept-thread.ts";

const pool = {
  name: "kept threads",
  configureVitest: ({ project }: { project: { config: object } }) => {
    const poolRunner = { name: "kept thread", createPoolWorker: keptThread };
    Object.assign(project.config, { pool: poolRunner.name, poolRunner });
  },
};

/** Tables of cases come first, since they take the least time. The first test that fails ends the run of a mutant. */
class CasesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    return files.toSorted((one, other) => rank(one) - rank(other));
  }
}

const rank = ({ moduleId }: TestSpecification) => (moduleId.endsWith(".cases.test.ts") ? 0 : 1);

// run.ts chooses the tests and their setup.
const { MUTANTS_TESTS = "", MUTANTS_SETUP } = process.env;
const setup = MUTANTS_SETUP ? [`test/support/setup/${MUTANTS_SETUP}.ts`] : [];

export default defineConfig({
  plugins: [pool],
  test: {
    include: MUTANTS_TESTS.split(" "),
    globalSetup: ["test/support/servers/stack.ts"],
    setupFiles: ["test/mutants/setup.ts", ...setup],
    // In turns: the mutant is chosen before the setup loads what is mutated.
    sequence: { sequencer: CasesFirst, setupFiles: "list" },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "../../node_modules/.cache/compile") },
  },
});
