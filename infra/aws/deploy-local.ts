import { bootstrapAssembly, deployAssembly, readArguments, synthesize } from "./cdk.ts";
import { emulatorContext, emulatorEndpoint, emulatorEnvironment, isAnswering, noteEndpoint } from "./emulator.ts";

/** `npm run deploy:local`: a sandbox on a LocalStack-compatible endpoint. */

const help = `Usage: npm run deploy:local -- [-c <setting>=<value>] [options of cdk deploy]

Deploys a sandbox to a LocalStack-compatible endpoint, LocalStack or MiniStack, on port 4566 or where AWS_ENDPOINT_URL
says. Notes the endpoint in .patchbay, so that npm run admin -- --stack finds it.

  -c name=<name>        a stack of its own: Patchbay-sandbox-<name>
  -c carrierUrl=<url>   where the carrier answers (default http://127.0.0.1:4567, where test:e2e starts its stand-in)
  --outputs-file <file> writes the stack's outputs as JSON`;

const next = (stackName: string, endpoint: string) => `
${stackName} is deployed to ${endpoint}. Next:
  npm run admin -- --stack ${stackName} doctor
  npm run test:e2e -- --stack ${stackName} --base-url <the output BaseUrl>
  AWS_ENDPOINT_URL=${endpoint} npm run destroy   # deletes it again`;

const deployLocal = async (given: ReturnType<typeof readArguments>) => {
  const endpoint = emulatorEndpoint() ?? "http://127.0.0.1:4566";
  if (!(await isAnswering(endpoint)))
    throw new Error(`Nothing answers at ${endpoint}: start LocalStack or MiniStack, or set AWS_ENDPOINT_URL.`);
  const context = { ...emulatorContext(endpoint), ...given.context };
  const environment = emulatorEnvironment(endpoint);
  const { stackName } = synthesize(context, environment);
  console.log(`Deploying ${stackName} to ${endpoint}.`);
  bootstrapAssembly(environment);
  deployAssembly(["--method=direct", "--require-approval=never", ...given.rest], environment);
  noteEndpoint(stackName, endpoint);
  console.log(next(stackName, endpoint));
};

const given = readArguments(process.argv.slice(2));
if (given.help) console.log(help);
else
  await deployLocal(given).catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
