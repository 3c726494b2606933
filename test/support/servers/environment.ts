import { inject } from "vitest";

const before = { ...process.env };

/** Files take turns in one process: what one has set in the environment, the next one does not see. */
export const resetEnvironment = () => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, before, inject("environment"));
};
