import { explain, UsageError } from "../admin/cli/command-errors.ts";
import { useTarget } from "../admin/cli/target.ts";
import { ArgumentError, parseArguments, portOf } from "../local/command.ts";
import { sessionOf } from "../local/state.ts";
import { startConsole } from "./server.ts";

const help = `Usage: ./patchbay console [--stack <name> | --port <port>] [--serve <port>]

Shows orders, letters, accounts and switches in a browser on this machine, with your permissions. It changes nothing. Ctrl-C ends it.

  --stack <name>  a deployed stack (default: PATCHBAY_STACK, or the running local stack)
  --port <port>   the local stack on this port
  --serve <port>  the port of the page, where a bookmark outlives a restart (default: any free port)`;

const text = { type: "string" } as const;
const options = { stack: text, port: text, serve: { ...text, default: "0" } } as const;
const { values } = parseArguments(help, { args: process.argv.slice(3), options });
const { stack = process.env.PATCHBAY_STACK, port, serve } = values;
try {
  const { description } = await useTarget({ ...(stack && { stack }), ...(port && { port }) });
  const chosen = stack ? `--stack ${stack} ` : port ? `--port ${port} ` : "";
  const served = portOf(serve);
  console.log(`console ${(await startConsole(description, chosen, served, sessionOf(served))).url}`);
} catch (error) {
  console.error(explain(error));
  process.exitCode = error instanceof ArgumentError || error instanceof UsageError ? 2 : 1;
}
