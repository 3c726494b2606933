import { resolve } from "node:path";
import { fail } from "../local/command.ts";
import { cdk, readArguments, requireKnownOptions } from "./cdk.ts";
import { describeStack } from "./deployed-stack.ts";
import { forgetEndpoint, recordEndpoint, useEmulator } from "./emulator.ts";

/** `./patchbay synth`, `deploy`, `deploy-local` and `destroy`. */

const usages: Readonly<Record<string, string>> = {
  "deploy-local": `Usage: ./patchbay deploy-local [-c stage=<stage>] [-c name=<name>] [options of cdk deploy]

Deploys to the emulator at AWS_ENDPOINT_URL, by default http://127.0.0.1:4566. Stores the endpoint in .patchbay, where
./patchbay --stack finds it.

  -c stage=<stage>      a stage in infra/aws/stages, or the path of a JSON file (default: localstack or ministack, whichever
                        responds). Their carrier is on port 4567: ./patchbay carrier starts a simulated one
  -c name=<name>        a stack of its own: Patchbay-<stage>-<name>
  --outputs-file <file> write the stack's outputs as JSON`,
  destroy: `Usage: ./patchbay destroy [-c stage=<stage>] [-c name=<name>] [--force] [options of cdk destroy]

Deletes a stack with its files, by default the sandbox. If AWS_ENDPOINT_URL is set, deletes a stack on that emulator, by
default that of deploy-local. A stage that retains its data is protected: see infra/runbook.md.

  --force   do not ask for confirmation`,
};

/** `cdk` runs in the project's folder, so paths from the caller's folder become absolute. A stage's name is no path. */
const withAbsolutePath = (argument: string, index: number, all: readonly string[]): string => {
  if (/^(-o|--output|-O|--outputs-file)$/.test(all[index - 1] ?? "")) return resolve(argument);
  const [, option, path] =
    /^(--outputs?(?:-file)?=)(.+)$/.exec(argument) ??
    /^((?:-c|--context=)?stage=)(.*[/\\].*|.*\.json)$/.exec(argument) ??
    [];
  return path === undefined ? argument : option + resolve(path);
};

const [script = "", ...sent] = process.argv.slice(2);
const args = sent.map(withAbsolutePath);
const given = readArguments(args);

/** Loads CDK, which takes a second, and which `--help` does not need. */
const stackNameOf = async (stage: string, endpoint: string | undefined) => {
  const { readSettings } = await import("./settings.ts");
  return readSettings({ stage, ...given.context }, endpoint).stackName;
};

const deployLocal = async () => {
  const { endpoint, stage } = await useEmulator(process.env.AWS_ENDPOINT_URL);
  const stackName = await stackNameOf(stage, endpoint);
  // Even if the deployment fails, `./patchbay --stack` must not look for the stack on AWS.
  recordEndpoint(stackName, endpoint);
  // Outside a project, cdk bootstraps a given account without an app. Emulators have this account.
  cdk(["bootstrap", `aws://000000000000/${process.env.AWS_REGION}`], import.meta.dirname);
  cdk(["deploy", "-c", `stage=${stage}`, "--method=direct", "--require-approval=never", ...args]);
  const url = (await describeStack(stackName))?.outputs.BaseUrl;
  const chosen = Object.entries(given.context).map(([name, value]) => ` -c ${name}=${value}`);
  // Functions in containers cannot reach a carrier that listens on 127.0.0.1 only.
  const host = stage === "localstack" ? " --host 0.0.0.0" : "";
  console.log(`
${stackName} is deployed to ${endpoint}. Next:
  ./patchbay --stack ${stackName} doctor
  ./patchbay carrier${host}   # for checkouts, in another terminal
  npm run test:e2e -- --stack ${stackName} --base-url ${url}
  AWS_ENDPOINT_URL=${endpoint} ./patchbay destroy${chosen.join("")}   # deletes the stack`);
  const problem = await tryRequest(`${url}/api/v1/switches`).catch(String);
  if (problem)
    console.error(`
The stack is deployed, but its functions do not work. ${problem}
The functions need Node 24. MiniStack runs them with the \`node\` on its PATH: see "On an emulator" in docs/rehearsal.md.`);
};

/** Sends a request with an unknown API key, which reads the table and must return 401. Describes any other response. */
const tryRequest = async (url: string) => {
  const headers = { authorization: `Bearer apik_${"0".repeat(43)}` };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
  if (response.status !== 401) return `GET ${url} returns ${response.status}: ${await response.text()}`;
};

const destroy = async () => {
  const url = process.env.AWS_ENDPOINT_URL;
  const { endpoint, stage } = url ? await useEmulator(url) : { stage: "sandbox" };
  const stackName = await stackNameOf(stage, endpoint);
  if (typeof given.profile === "string") process.env.AWS_PROFILE = given.profile;
  const stack = await describeStack(stackName).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : cause;
    const remedy = "set AWS_REGION and AWS_PROFILE, or AWS_ENDPOINT_URL for an emulator";
    throw new Error(`The stack ${stackName} cannot be looked up (${reason}): ${remedy}.`, { cause });
  });
  if (!stack) console.log(`There is no stack ${stackName} at ${endpoint ?? "AWS"}: nothing to delete.`);
  else if (!given.force && !process.stdin.isTTY)
    throw new Error(`Not a terminal: confirm the deletion of ${stackName} with --force.`);
  else cdk(["destroy", "-c", `stage=${stage}`, ...args]);
  forgetEndpoint(stackName);
};

const programs: Readonly<Record<string, () => Promise<void>>> = { "deploy-local": deployLocal, destroy };

const run = async () => {
  const [program, usage] = [programs[script], usages[script]];
  if (given.help && usage) return console.log(usage);
  requireKnownOptions(script, args);
  return program ? program() : cdk([script, ...args]);
};

await run().catch(fail);
