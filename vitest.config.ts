import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

/** Files that inject faults, count calls, read all items or move the clock: each has a table and a bucket of its own. */
const ownTable = [
  "test/cost/*.test.ts",
  "test/faults/*.test.ts",
  "test/functions/tenants/*.test.ts",
  "test/infra/admin/{apply,commands,erase,export,find,output,restore,target,today}.test.ts",
  "test/infra/console/console.test.ts",
  "test/shared/checkout/metrics.test.ts",
  "test/shared/stored-items.test.ts",
];

/** Tests that need packages that are installed only in test/tools: `npm run test:tools` runs them, and `npm test` does not. */
const tools = ["test/tools/*.test.ts"];

type Options = {
  readonly include: string[];
  readonly exclude?: string[];
  readonly setup: string;
  readonly globalSetup?: string;
};

const project = (name: string, { setup, ...options }: Options): TestProjectInlineConfiguration => ({
  test: {
    name,
    // The files take turns in a few processes, which load the AWS SDK once.
    isolate: false,
    setupFiles: [`test/support/setup/${setup}.ts`],
    // These end tests that hang. They are long, because machines may be busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Each process loads the AWS SDK, which need not be compiled again.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/compile") },
    ...options,
  },
});

export default defineConfig({
  test: {
    // All processes share one embedded DynamoDB and S3. Each process has its own gateway, because one here would keep them waiting.
    globalSetup: ["test/support/servers/stack.ts"],
    // By default, Vitest leaves one core free, so a machine with two would run one file after another. Two more processes than cores
    // work while others wait for timeouts and for processes that they start. Each takes three seconds to load the AWS SDK. The number
    // holds for each project. With it for both together, the tests take 0.91 of the processor time, and 1.12 of the time.
    maxWorkers: availableParallelism() + 2,
    projects: [
      project("service", {
        include: ["test/**/*.test.ts"],
        exclude: [...ownTable, "test/tools/**"],
        setup: "service",
      }),
      project("own table", { include: ownTable, setup: "own-table" }),
      project("tools", { include: tools, setup: "service", globalSetup: "test/tools/install.ts" }),
    ],
  },
});
