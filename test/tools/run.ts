import { join } from "node:path";
import { fail } from "../../infra/local/command.ts";
import { install } from "./install.ts";

/** `npm run tools`: installs what single checks use, and what the benchmarks compare with, whose types are checked as well. */

try {
  for (const folder of [".", "../bench"]) install(join(import.meta.dirname, folder));
} catch (error) {
  fail(error);
}
