import { inject } from "vitest";
import * as z from "zod/mini";

const before = { ...process.env };

/**
 * Files take turns in one process: what one has set in the environment, the next one does not see, nor the messages of zod:
 * who imports the classic `zod` instead of `zod/mini` changes them for the whole process.
 */
export const resetEnvironment = () => {
  z.config({ localeError: undefined });
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, before, inject("environment"));
};
