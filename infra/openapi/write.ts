import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openapi } from "./document.ts";

/** `npm run openapi`: writes `openapi.json` to the root of the repository. */
writeFileSync(join(import.meta.dirname, "../../openapi.json"), `${JSON.stringify(openapi(), null, 2)}\n`);
