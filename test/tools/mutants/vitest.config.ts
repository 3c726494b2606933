import { join, matchesGlob, relative } from "node:path";
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

const root = join(import.meta.dirname, "../../..");
// run.ts chooses the tests and their setup.
const { MUTANTS_TESTS = "", MUTANTS_SETUP } = process.env;
const tests = MUTANTS_TESTS.split(" ");
const setup = MUTANTS_SETUP ? [`test/support/setup/${MUTANTS_SETUP}.ts`] : [];

/** Runs the tests in the order of their area, fast ones first. The first test that fails ends the run of a mutant. */
class AsListed extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const place = ({ moduleId }: TestSpecification) =>
      tests.findIndex((pattern) => matchesGlob(relative(root, moduleId), pattern));
    return files.toSorted((one, other) => place(one) - place(other));
  }
}

export default defineConfig({
  plugins: [pool],
  test: {
    include: tests,
    globalSetup: ["test/support/servers/stack.ts"],
    setupFiles: ["test/tools/mutants/setup.ts", ...setup],
    // They run in turn, so that the mutant is chosen before the setup loads the mutated code.
    sequence: { sequencer: AsListed, setupFiles: "list" },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile") },
  },
});
