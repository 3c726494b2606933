import { enableCompileCache } from "node:module";
import { join } from "node:path";

/** The operators' CLI: `npm run admin -- <command>`. Compiled modules are kept: that halves the time of each start. */
enableCompileCache(join(import.meta.dirname, "../../node_modules/.cache/admin"));
const { logToStderr } = await import("./output.ts");
const { runCommand } = await import("./program.ts");

logToStderr();
// The process began at 0.
await runCommand(process.argv.slice(2), 0);
