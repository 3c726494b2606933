import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

/** Files that replace a module of ours, or whose clients call a proxy: each needs modules that nobody has loaded. */
const ownModules = [
  "test/cost/*.test.ts",
  "test/shared/checkout/{interleaving,storage,start,kill}.test.ts",
  "test/infra/aws/secrets.test.ts",
];

/** Files that spoil their calls, count all items or move the clock: each has a table and a bucket of its own. */
const ownStack = ["test/faults/*.test.ts"];

const project = (
  name: string,
  { setup, ...options }: { setup: string; include: string[]; exclude?: string[]; isolate: boolean },
): TestProjectInlineConfiguration => ({
  test: { name, setupFiles: [`test/support/servers/${setup}.ts`], testTimeout: 30_000, hookTimeout: 30_000, ...options },
});

export default defineConfig({
  test: {
    globalSetup: ["test/support/servers/stack.ts"],
    // By default Vitest leaves one core alone: on a machine with two, files would run one after another.
    maxWorkers: Math.max(2, availableParallelism()),
    projects: [
      project("service", {
        include: ["test/**/*.test.ts"],
        exclude: [...ownModules, ...ownStack],
        // Files take turns in few processes, which load the AWS SDK once.
        isolate: false,
        setup: "environment",
      }),
      project("own modules", { include: ownModules, isolate: true, setup: "environment" }),
      project("own stack", { include: ownStack, isolate: true, setup: "own-stack" }),
    ],
  },
});
