import { enableCompileCache } from "node:module";
import { join } from "node:path";

/** The operators' CLI: `npm run admin -- <command>`. The compile cache halves its start-up time. */
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/admin"));
const { logToStderr } = await import("./output.ts");
const { runCommand } = await import("./program.ts");

logToStderr();
// `performance.now()` is 0 at the start of the process.
await runCommand(process.argv.slice(2), 0);
