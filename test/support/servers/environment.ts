import { inject, vi } from "vitest";
import * as z from "zod/mini";

const before = { ...process.env };

/**
 * Resets the environment, its stubs and zod's messages, since test files take turns in one process. A stub that an earlier file has
 * left would otherwise bring back that file's values when a later one ends its own. Importing the classic `zod` instead of
 * `zod/mini` changes the messages for the whole process.
 */
export const resetEnvironment = () => {
  vi.unstubAllEnvs();
  z.config({ localeError: undefined });
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, before, inject("environment"));
};
