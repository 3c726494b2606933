import { steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";

/** The sweep: its path below `functions/`. */
export const sweepName = "sweep-orphan-files";

/** Releases the lock of a checkout that ended without releasing it: its path below `functions/`. */
export const releaseLockName = "checkout/release-lock";

/** The paths of all functions below `functions/`: endpoints, steps of the checkout, and functions that events invoke. */
export const functionNames: readonly string[] = [
  ...[...routes, ...steps].map(({ name }) => name),
  releaseLockName,
  sweepName,
];
