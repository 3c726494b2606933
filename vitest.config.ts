import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/servers/stack.ts"],
    setupFiles: ["test/support/servers/environment.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
