import type { Command } from "commander";
import { CommandError } from "./command-error.ts";
import type { Output } from "./options.ts";
import { printThing, safe } from "./output.ts";
import { chooseLocalStack, type TargetOptions } from "./target.ts";

/** `env`: what a shell needs to try the local stack that is running. */
export const addEnvCommand = (program: Command): void => {
  program
    .command("env")
    .description("print the local stack's addresses, and its demo's key and ids, for a shell to eval")
    .addHelpText("after", '\nExample: eval "$(npm run -s admin -- env)" && curl -s $URL/openapi.json')
    .action((_: Output, command: Command) => {
      const { stack, port, json } = command.optsWithGlobals<TargetOptions & Output>();
      if (stack) throw new CommandError("`env` is about local stacks: choose one with --port, not --stack.");
      const running = chooseLocalStack(port);
      console.error(`Target: local stack at ${running.url}`);
      const variables = { URL: running.url, CARRIER: running.environment.CARRIER_URL ?? "", ...running.demo };
      if (json) return printThing(variables, { json });
      for (const [name, value] of Object.entries(variables)) console.log(safe(`export ${name}=${value}`));
    });
};
