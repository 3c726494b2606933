import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startStack } from "../../../infra/local/stack.ts";

declare module "vitest" {
  interface ProvidedContext {
    baseUrl: string;
    environment: Record<string, string>;
  }
}

/**
 * Starts the whole local service once for all tests, on free ports, and creates a folder for their temporary files. At the end,
 * stops the service and deletes the folder with everything in it.
 */
export default async (project: TestProject) => {
  process.env.LOG_LEVEL = "SILENT";
  const stack = await startStack({ port: 0 });
  const temporary = mkdtempSync(join(tmpdir(), "patchbay-tests-"));
  project.provide("baseUrl", stack.url);
  project.provide("environment", {
    ...stack.environment,
    // Avoids the proxy in front of the table, as the functions in npm start do.
    AWS_ENDPOINT_URL_DYNAMODB: process.env.AWS_ENDPOINT_URL_DYNAMODB ?? "",
    // TMPDIR applies on POSIX systems, TEMP on Windows.
    TMPDIR: temporary,
    TEMP: temporary,
    LOG_LEVEL: "SILENT",
    // Commands run in separate processes, which share the compiled code.
    NODE_COMPILE_CACHE: join(import.meta.dirname, "../../../node_modules/.cache/compile"),
  });
  return async () => {
    await stack.stop();
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  };
};
