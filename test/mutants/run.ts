import { Stryker } from "@stryker-mutator/core";

process.env.MUTANTS_TESTS = process.argv[3];
process.env.MUTANTS_SERVED = process.argv[4];
await new Stryker({
  mutate: (process.argv[2] ?? "").split(","),
  plugins: ["@stryker-mutator/vitest-runner", new URL("./texts.ts", import.meta.url).href],
  ignorers: ["texts"],
  testRunner: "vitest",
  vitest: { configFile: "test/mutants/vitest.config.ts", related: false },
  coverageAnalysis: "perTest",
  concurrency: 2,
  tempDirName: "/tmp/patchbay-mutants",
  reporters: ["clear-text", "progress-append-only", "json"],
  jsonReporter: { fileName: process.argv[5] ?? "/tmp/mutants.json" },
  ignorePatterns: ["docs", ".ci", "test/bench"],
  timeoutMS: 3_000,
  ignoreStatic: process.argv[6] === "ignore-static",
  allowEmpty: true,
}).runMutationTest();
