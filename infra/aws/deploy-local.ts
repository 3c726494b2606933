import { requireSeparator } from "../local/npm-options.ts";
import { bootstrapAssembly, contextOptions, deployAssembly, readArguments, synthesize } from "./cdk.ts";
import { emulatorContext, emulatorEndpoint, emulatorEnvironment, recordEndpoint, requireEmulator } from "./emulator.ts";

/** `npm run deploy:local`: a sandbox on a LocalStack-compatible endpoint. */

const help = `Usage: npm run deploy:local -- [-c <setting>=<value>] [options of cdk deploy]

Deploys a sandbox to a LocalStack-compatible emulator (LocalStack or MiniStack) at AWS_ENDPOINT_URL, by default
http://127.0.0.1:4566. Stores the endpoint in .patchbay, where npm run admin -- --stack finds it.

  -c name=<name>        a stack of its own: Patchbay-sandbox-<name>
  -c carrierUrl=<url>   the carrier's base address (default: http://127.0.0.1:4567, the stand-in of test:e2e)
  --outputs-file <file> write the stack's outputs as JSON`;

const next = (stackName: string, endpoint: string) => `
${stackName} is deployed to ${endpoint}. Next:
  npm run admin -- --stack ${stackName} doctor
  npm run test:e2e -- --stack ${stackName} --base-url <the output BaseUrl>
  AWS_ENDPOINT_URL=${endpoint} npm run destroy   # deletes the stack`;

const deployLocal = async (given: ReturnType<typeof readArguments>) => {
  requireSeparator("deploy:local", contextOptions);
  const endpoint = emulatorEndpoint() ?? "http://127.0.0.1:4566";
  await requireEmulator(endpoint);
  const context = { ...emulatorContext(endpoint), ...given.context };
  const environment = emulatorEnvironment(endpoint);
  const { stackName } = synthesize(context, environment);
  console.log(`Deploying ${stackName} to ${endpoint}.`);
  bootstrapAssembly(environment);
  deployAssembly(["--method=direct", "--require-approval=never", ...given.rest], environment);
  recordEndpoint(stackName, endpoint);
  console.log(next(stackName, endpoint));
};

const given = readArguments(process.argv.slice(2));
if (given.help) console.log(help);
else
  await deployLocal(given).catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
