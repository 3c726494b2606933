import type { Command } from "commander";
import { CommandError } from "./command-error.ts";
import type { Output } from "./options.ts";
import { printRecord, safe } from "./output.ts";
import { chooseLocalStack, type TargetOptions } from "./target.ts";

/** `env`: prints shell variables for trying the running local stack. */
export const addEnvCommand = (program: Command): void => {
  program
    .command("env")
    .description("print the local stack's addresses, and the demo's key and ids, as shell variables")
    .addHelpText("after", '\nExample: eval "$(npm run -s admin -- env)" && curl -s $URL/openapi.json')
    .action((_: Output, command: Command) => {
      const { stack, port, json } = command.optsWithGlobals<TargetOptions & Output>();
      if (stack) throw new CommandError("`env` works on local stacks only: choose one with --port.");
      const running = chooseLocalStack(port);
      console.error(`Target: local stack at ${running.url}`);
      const { CARRIER_URL: CARRIER = "", EVENTS = "" } = running.environment;
      const variables = { URL: running.url, CARRIER, EVENTS, ...running.demo };
      if (json) return printRecord(variables, { json });
      for (const [name, value] of Object.entries(variables)) console.log(safe(`export ${name}=${value}`));
    });
};
