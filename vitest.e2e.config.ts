import { defineConfig } from "vitest/config";

/** The suite that `npm run test:e2e` runs against a deployment. */
export default defineConfig({
  test: {
    include: ["test/e2e/**/*.e2e.ts"],
    globalSetup: ["test/e2e/setup.ts"],
    setupFiles: ["test/support/setup/deployment.ts"],
    // All files share a deployment, whose cold functions allow one file at a time.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
