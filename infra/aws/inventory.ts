import { existsSync } from "node:fs";
import { routes } from "../../shared/routes.ts";
import { steps } from "../../shared/steps.ts";

/** Its file below `functions/`; undefined until there is one. */
export const sweepName = existsSync(new URL("../../functions/sweep-orphan-files.ts", import.meta.url))
  ? "sweep-orphan-files"
  : undefined;

/** Every function, by its file below `functions/`: the endpoints, the steps of the checkout, the sweep. */
export const functionNames: readonly string[] = [
  ...[...routes, ...steps].map(({ name }) => name),
  ...(sweepName ? [sweepName] : []),
];
