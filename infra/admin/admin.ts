import { setLogOutput } from "../../shared/log.ts";
import { safeLines } from "./output.ts";
import { runCommand } from "./program.ts";

/** The operators' CLI: `npm run admin -- <command>`. */

// EPIPE means that the reader of the pipe, such as `head`, has read enough.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });

// The log goes to stderr, so that stdout contains only the command's output.
setLogOutput((line) => process.stderr.write(safeLines(`${JSON.stringify(line)}\n`)));
await runCommand(process.argv.slice(2));
