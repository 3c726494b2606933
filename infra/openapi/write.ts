import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openapi } from "./document.ts";

/** `npm run openapi`, which writes `openapi.json` to the root of the repository. */

const { values } = parseArgs({ options: { help: { type: "boolean" } } });
if (values.help)
  console.log("Usage: npm run openapi\n\nWrites openapi.json from the routes, the schemas and the errors.");
else writeFileSync(join(import.meta.dirname, "../../openapi.json"), `${JSON.stringify(openapi(), null, 2)}\n`);
