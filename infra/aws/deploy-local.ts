import { fail, requireSeparator } from "../local/command.ts";
import { cdk, readArguments } from "./cdk.ts";
import { describeStack } from "./deployed-stack.ts";
import { recordEndpoint, useEmulator } from "./emulator.ts";

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
  const endpoint = await useEmulator(process.env.AWS_ENDPOINT_URL ?? "http://127.0.0.1:4566");
  // Loading CDK takes a second.
  const { readSettings } = await import("./settings.ts");
  const { stackName } = readSettings({ stage: "local", ...given.context }, endpoint);
  // Outside a project, cdk needs no app to bootstrap an account that is named. Emulators have this one.
  cdk(["bootstrap", `aws://000000000000/${process.env.AWS_REGION}`], import.meta.dirname);
  cdk(["deploy", "-c", "stage=local", "--method=direct", "--require-approval=never", ...args]);
  recordEndpoint(stackName, endpoint);
  const url = (await describeStack(stackName))?.outputs.BaseUrl;
  const chosen = Object.entries(given.context).map(([name, value]) => ` -c ${name}=${value}`);
  console.log(`
${stackName} is deployed to ${endpoint}. Next:
  npm run admin -- --stack ${stackName} doctor
  npm run test:e2e -- --stack ${stackName} --base-url ${url}
  AWS_ENDPOINT_URL=${endpoint} npm run destroy${chosen.length > 0 ? ` --${chosen.join("")}` : ""}   # deletes the stack`);
  const problem = await tryRequest(`${url}/api/v1/switches`).catch(String);
  if (problem)
    console.error(`
The stack is deployed, but its functions do not work. ${problem}
The functions need Node 24. MiniStack runs them with the \`node\` on its PATH: see "Emulators" in infra/README.md.`);
};

/** Makes a request with an unknown API key, which reads the table and must be a 401. Returns what is wrong. */
const tryRequest = async (url: string) => {
  const headers = { authorization: `Bearer apik_${"0".repeat(43)}` };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
  if (response.status !== 401) return `GET ${url} returns ${response.status}: ${await response.text()}`;
};

await deployLocal().catch(fail);
