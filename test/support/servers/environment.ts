import { inject } from "vitest";
import * as z from "zod/mini";

const before = { ...process.env };

/**
 * Resets the environment and zod's messages, since test files take turns in one process. Importing the classic `zod` instead of
 * `zod/mini` changes the messages for the whole process.
 */
export const resetEnvironment = () => {
  z.config({ localeError: undefined });
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, before, inject("environment"));
};
