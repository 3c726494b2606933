import { steps } from "../../shared/checkout/steps.ts";
import { routes } from "../../shared/routes.ts";

/** The sweep, by its file below `functions/`. */
export const sweepName = "sweep-orphan-files";

/** Every function, by its file below `functions/`: the endpoints, the steps of the checkout, the sweep. */
export const functionNames: readonly string[] = [...[...routes, ...steps].map(({ name }) => name), sweepName];
