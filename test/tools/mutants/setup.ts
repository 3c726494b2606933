import { inject } from "vitest";
import { resetEnvironment } from "../../support/servers/environment.ts";

declare module "vitest" {
  interface ProvidedContext {
    mutantActivation: "static" | "runtime" | undefined;
  }
}

declare global {
  var __stryker__: { activeMutant?: string | undefined } | undefined;
}

// A kept thread still has the mutant of its last run. It must not be active while modules load.
if (inject("mutantActivation") !== "static" && globalThis.__stryker__) globalThis.__stryker__.activeMutant = undefined;

// Without a setup, tests send requests to the service of another process, whose code is never mutated.
resetEnvironment();
process.env.PATCHBAY_URL = inject("baseUrl");
