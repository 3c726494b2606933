import type { Command } from "commander";
import { UsageError } from "./command-errors.ts";
import { format, printRecord, safe } from "./output.ts";
import { chooseLocalStack, type TargetOptions } from "./target.ts";

/** What other systems need for the AWS SDK: see docs/systems.md. */
const forSystems = [
  "AWS_REGION",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_ENDPOINT_URL_LAMBDA",
  "AWS_ENDPOINT_URL_SFN",
  "APPLY_FUNCTION_NAME",
  "ORDERING_FUNCTION_NAME",
  "STATE_MACHINE_ARN",
];

export const addEnvCommand = (program: Command): void => {
  program
    .command("env")
    .description(
      "print the local stack's addresses, the demo's key and ids, and what the AWS SDK needs, as shell variables",
    )
    .addHelpText("after", '\nExample: eval "$(npm run -s admin -- env)" && curl -s $URL/openapi.json')
    .action((_: unknown, command: Command) => {
      const { stack, port } = command.optsWithGlobals<TargetOptions>();
      if (stack) throw new UsageError("`env` works on local stacks only: choose one with --port.");
      const running = chooseLocalStack(port);
      console.error(`Target: local stack at ${running.url}`);
      const { url, environment, demo } = running;
      const { CARRIER_URL: CARRIER = "", EVENTS = "" } = environment;
      const shared = Object.entries(environment).filter(([name]) => forSystems.includes(name));
      // boto3 and version 1 of the AWS CLI read the region from AWS_DEFAULT_REGION only.
      const region = { AWS_DEFAULT_REGION: environment.AWS_REGION ?? "" };
      const variables = { URL: url, CARRIER, EVENTS, ...demo, ...Object.fromEntries(shared), ...region };
      if (format.json) return printRecord(variables);
      for (const [name, value] of Object.entries(variables)) console.log(safe(`export ${name}=${value}`));
      // The SDK would prefer them to the credentials above, and boto3 looks for a profile without a name.
      for (const name of ["AWS_PROFILE", "AWS_SESSION_TOKEN"])
        if (process.env[name] !== undefined && !environment[name]) console.log(`unset ${name}`);
    });
};
