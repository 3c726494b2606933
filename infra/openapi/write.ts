import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArguments } from "../local/command.ts";
import { openapi } from "./document.ts";

/** `npm run openapi`, which writes `openapi.json` to the root of the repository. */

parseArguments("Usage: npm run openapi\n\nWrites openapi.json from the routes, the schemas and the errors.", {});
writeFileSync(join(import.meta.dirname, "../../openapi.json"), `${JSON.stringify(openapi(), null, 2)}\n`);
