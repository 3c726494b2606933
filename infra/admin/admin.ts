import { setLogOutput } from "../../shared/log.ts";
import { safeLines } from "./cli/output.ts";
import { runCommand } from "./program.ts";

/** The operators' CLI, which `./patchbay <command>` runs. */

// EPIPE means that the reader of the pipe, such as `head`, has read enough. Any other error means, for example, that the disk is
// full.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") process.exit();
    if (stream === process.stdout)
      console.error(`The output cannot be written (${message}). What the command has changed stays changed.`);
    process.exit(1);
  });

// The log goes to stderr, so that stdout contains only the command's output.
setLogOutput((line) => process.stderr.write(safeLines(`${JSON.stringify(line)}\n`)));
await runCommand(process.argv.slice(2));
