import { inject } from "vitest";

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

if (process.env.MUTANTS_SERVED !== "pure") {
  const { resetEnvironment } = await import("../support/servers/environment.ts");
  resetEnvironment();
  process.env.PATCHBAY_URL = inject("baseUrl");
}
