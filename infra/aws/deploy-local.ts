import { fail } from "../local/fail.ts";
import { requireSeparator } from "../local/npm-options.ts";
import { cdk, readArguments } from "./cdk.ts";
import { describeStack } from "./deployed-stack.ts";
import { recordEndpoint, useEmulator } from "./emulator.ts";
import { readSettings } from "./settings.ts";

/** `npm run deploy:local`: deploys to a LocalStack-compatible endpoint. */

const help = `Usage: npm run deploy:local -- [-c stage=<stage>] [-c name=<name>] [options of cdk deploy]

Deploys to a LocalStack-compatible emulator (LocalStack or MiniStack) at AWS_ENDPOINT_URL, by default
http://127.0.0.1:4566. Stores the endpoint in .patchbay, where npm run admin -- --stack finds it.

  -c stage=<stage>      a stage in infra/aws/stages, or the path of a JSON file (default: local)
  -c name=<name>        a stack of its own: Patchbay-<stage>-<name>
  --outputs-file <file> write the stack's outputs as JSON`;

const deployLocal = async () => {
  const args = process.argv.slice(2);
  const given = readArguments(args);
  if (given.help) return console.log(help);
  requireSeparator("deploy:local", ["call", "context"]);
  const endpoint = process.env.AWS_ENDPOINT_URL?.replace(/\/$/, "") ?? "http://127.0.0.1:4566";
  const { stackName } = readSettings({ stage: "local", ...given.context }, endpoint);
  await useEmulator(endpoint);
  // Outside a project, cdk needs no app to bootstrap an account that is named. Emulators have this one.
  cdk(["bootstrap", `aws://000000000000/${process.env.AWS_REGION}`], import.meta.dirname);
  cdk(["deploy", "-c", "stage=local", "--method=direct", "--require-approval=never", ...args]);
  recordEndpoint(stackName, endpoint);
  const url = (await describeStack(stackName))?.outputs.BaseUrl;
  await requireResponse(`${url}/api/v1/switches`);
  console.log(`
${stackName} is deployed to ${endpoint}. Next:
  npm run admin -- --stack ${stackName} doctor
  npm run test:e2e -- --stack ${stackName} --base-url ${url}
  AWS_ENDPOINT_URL=${endpoint} npm run destroy   # deletes the stack`);
};

/** Makes a request without an API key, which a function must refuse. */
const requireResponse = async (url: string) => {
  const response = await fetch(url);
  const body = await response.text();
  if (response.status !== 401)
    throw new Error(`The stack is deployed, but GET ${url} returns ${response.status} instead of 401:
${body}
MiniStack runs the functions with the \`node\` of its PATH, which must be Node 24: see infra/README.md, "Emulators".`);
};

await deployLocal().catch(fail);
