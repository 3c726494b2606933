import { steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";

/** The sweep, by its file below `functions/`. */
export const sweepName = "sweep-orphan-files";

/** Settles the lock of a checkout that ended without doing so, by its file below `functions/`. */
export const settleName = "checkout/settle";

/** Every function, by its file below `functions/`: the endpoints, the steps of the checkout, and those that events call. */
export const functionNames: readonly string[] = [
  ...[...routes, ...steps].map(({ name }) => name),
  settleName,
  sweepName,
];
