import { destroyAssembly, readArguments, synthesize } from "./cdk.ts";
import { emulatorContext, emulatorEndpoint, emulatorEnvironment, forgetEndpoint } from "./emulator.ts";

/** `npm run destroy`: deletes a stack, from AWS or from an emulator. */

const help = `Usage: npm run destroy -- [-c stage=<stage>] [-c name=<name>] [options of cdk destroy]

Deletes a stack, by default the sandbox, with its files. If AWS_ENDPOINT_URL is set, deletes the stack on that emulator.
A stage that retains its data is protected: see infra/README.md.`;

const given = readArguments(process.argv.slice(2));
const endpoint = emulatorEndpoint();
if (given.profile) process.env.AWS_PROFILE = given.profile;

const destroy = () => {
  const environment = endpoint ? emulatorEnvironment(endpoint) : process.env;
  const context = { stage: "sandbox", ...(endpoint && emulatorContext(endpoint)), ...given.context };
  const { stackName } = synthesize(context, environment);
  console.log(`Deleting ${stackName} from ${endpoint ?? "AWS"}.`);
  destroyAssembly(given.rest, environment);
  forgetEndpoint(stackName);
};

if (given.help) console.log(help);
else destroy();
