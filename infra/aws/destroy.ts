import { explain } from "../admin/explain.ts";
import { requireSeparator } from "../local/npm-options.ts";
import { contextOptions, destroyAssembly, readArguments, synthesize } from "./cdk.ts";
import { describeStack } from "./deployed-stack.ts";
import { emulatorContext, emulatorEndpoint, emulatorVariables, forgetEndpoint, requireEmulator } from "./emulator.ts";
import { readStage, stackNameOf } from "./stages.ts";

/** `npm run destroy`: deletes a stack, from AWS or from an emulator. */

const help = `Usage: npm run destroy -- [-c stage=<stage>] [-c name=<name>] [--force] [options of cdk destroy]

Deletes a stack, by default the sandbox, with its files. If AWS_ENDPOINT_URL is set, deletes the stack on that emulator.
A stage that retains its data is protected: see infra/README.md.

  --force   do not ask for confirmation`;

const isConfirmed = (args: readonly string[]) => args.some((arg) => /^(-f|--force)$/.test(arg));

const destroy = async ({ context: given, rest }: ReturnType<typeof readArguments>) => {
  requireSeparator("destroy", contextOptions);
  const endpoint = emulatorEndpoint();
  if (endpoint) {
    await requireEmulator(endpoint);
    Object.assign(process.env, emulatorVariables(endpoint));
  }
  const context = { stage: "sandbox", ...(endpoint && emulatorContext(endpoint)), ...given };
  readStage(context.stage);
  const stackName = stackNameOf(context.stage, given.name);
  const place = endpoint ?? "AWS";
  if (!(await describeStack(stackName))) {
    forgetEndpoint(stackName);
    return console.log(`There is no stack ${stackName} at ${place}: nothing to delete.`);
  }
  if (!isConfirmed(rest) && !(process.stdin.isTTY && process.stdout.isTTY))
    throw new Error(`There is no terminal to ask on whether to delete ${stackName}: confirm with --force.`);
  console.log(`Deleting ${stackName} from ${place}.`);
  synthesize(context, process.env);
  destroyAssembly(rest, process.env);
  forgetEndpoint(stackName);
};

const given = readArguments(process.argv.slice(2));
if (given.profile) process.env.AWS_PROFILE = given.profile;
if (given.help) console.log(help);
else
  await destroy(given).catch((error: unknown) => {
    console.error(explain(error));
    process.exitCode = 1;
  });
