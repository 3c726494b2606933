import type { Command } from "commander";
import { findRunning } from "../local/state.ts";
import { CommandError } from "./environment.ts";
import type { Output } from "./make.ts";
import { printThing } from "./output.ts";

/** `env`: what a shell needs to try the local stack that is running. */
export const addEnvCommand = (program: Command): void => {
  program
    .command("env")
    .description("print the local stack's addresses, and its demo's key and ids, for a shell to eval")
    .option("--json", "print JSON")
    .addHelpText("after", '\nExample: eval "$(npm run -s admin -- env)" && curl -s $URL/openapi.json')
    .action(({ json }: Output) => {
      const running = findRunning();
      if (!running) throw new CommandError("There is no local stack running: start one with `npm start`.");
      const variables = { URL: running.url, CARRIER: running.environment.CARRIER_URL ?? "", ...running.demo };
      if (json) return printThing(variables, { json });
      for (const [name, value] of Object.entries(variables)) console.log(`export ${name}=${value}`);
    });
};
