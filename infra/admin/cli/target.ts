import type { Command } from "commander";
import project from "../../../package.json" with { type: "json" };
import type { describeStack } from "../../aws/deployed-stack.ts";
import { emulatorVariables, recordedEndpoint } from "../../aws/emulator.ts";
import { directTo } from "../../local/environment.ts";
import { runningStacks, type State } from "../../local/state.ts";
import { CommandError, UsageError } from "./command-errors.ts";
import { type Format, printJson, safe } from "./output.ts";

export type TargetOptions = { readonly stack?: string; readonly port?: string; readonly anyVersion?: boolean };

/**
 * Chooses the target by option, then by environment (PATCHBAY_STACK, TABLE_NAME, PORT). If nothing is chosen, it is the only
 * running local stack. A chosen target that does not exist is an error. `environment` directs the AWS SDK to the target.
 */
const chooseTarget = async ({ stack, port }: TargetOptions): Promise<Target> => {
  if (stack && port) throw new UsageError("--stack is a deployed stack and --port a local one: choose one of them.");
  const stackName = stack || process.env.PATCHBAY_STACK;
  if (!port && stackName) return stackTarget(stackName);
  if (!port && process.env.TABLE_NAME) return tableTarget(process.env.TABLE_NAME);
  const { url, environment } = chooseLocalStack(port);
  return { description: `local stack at ${url}`, environment };
};

type Target = {
  readonly description: string;
  readonly environment: Readonly<Record<string, string>>;
  /** A deployed stack. `endpoint` is that of its emulator. */
  readonly stack?: NonNullable<Awaited<ReturnType<typeof describeStack>>> & {
    readonly name: string;
    readonly endpoint: string | undefined;
  };
};
export type DeployedStack = NonNullable<Target["stack"]>;

let deployedStack: DeployedStack | undefined;

/** The deployed stack that this process is directed to, if its target is one. */
export const targetStack = (): DeployedStack | undefined => deployedStack;

/**
 * Directs this process to its target and prints it on stderr. Call it before any call to AWS. Only a command that `writes` refuses a
 * stack of another version, whose items it may not know. Others say it.
 */
export const useTarget = async (options: TargetOptions, { writes = false } = {}): Promise<Target> => {
  const target = await chooseTarget(options);
  directTo(target.environment);
  deployedStack = target.stack;
  console.error(safe(`Target: ${target.description}`));
  const other = otherVersion(target);
  if (other !== undefined && writes && !options.anyVersion)
    throw new CommandError(`${other} Or pass --any-version, if you know that both store the same.`);
  if (other !== undefined) console.error(safe(other));
  return target;
};

const otherVersion = ({ stack }: Target): string | undefined => {
  if (!stack || stack.outputs.Version === project.version) return undefined;
  const { Version: version } = stack.outputs;
  const tag = version === undefined ? "the release that deployed it" : `v${version}`;
  return `The stack ${stack.name} has version ${version ?? "unknown"}, and this clone ${project.version}. To change anything, use a clone of ${tag}${version === undefined ? "" : `: git switch --detach ${tag} && npm ci`}.`;
};

/** The local stack on the given port, or on PORT, or the only running one. */
const chooseLocalStack = (port = process.env.PORT || undefined): State => {
  const running = runningStacks();
  const [found, ...others] = running.filter((one) => !port || String(one.port) === port);
  if (found && others.length === 0) return found;
  const list = running.map((one) => `  --port ${one.port}  ${one.url}, started ${one.startedAt}`).join("\n");
  if (found) throw new CommandError(`Several local stacks are running. Choose one of them:\n${list}`);
  const none = `There is no local stack running${port ? ` on port ${port}` : ""}`;
  throw new CommandError(
    running.length > 0
      ? `${none}. These are running:\n${list}`
      : `${none}: start one with \`npm start\`, choose a deployed one with --stack, or a table with TABLE_NAME (and BUCKET_NAME, AWS_REGION).`,
  );
};

const tableTarget = (table: string) => {
  const endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB || process.env.AWS_ENDPOINT_URL;
  const region = process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION;
  const place = endpoint ? ` at ${endpoint}` : region ? ` in ${region}` : "";
  return { description: `table ${table}${place} (from TABLE_NAME)`, environment: {} };
};

const stackTarget = async (stackName: string) => {
  // An empty AWS_ENDPOINT_URL means AWS, even if a stack of this name has been deployed to an emulator.
  const endpoint = process.env.AWS_ENDPOINT_URL ?? recordedEndpoint(stackName);
  const emulator = endpoint ? emulatorVariables(endpoint) : {};
  // The call to CloudFormation needs them.
  directTo(emulator);
  const deployed = await import("../../aws/deployed-stack.ts");
  const stack = await deployed.describeStack(stackName);
  const { TableName, BucketName, StateMachineArn } = stack?.outputs ?? {};
  if (!stack || !TableName || !BucketName || !StateMachineArn)
    throw new CommandError(
      `There is no Patchbay stack ${stackName} ${endpoint ? `at ${endpoint}` : "in this account and region"}: deploy it, or correct --stack, AWS_PROFILE or AWS_REGION.`,
    );
  return {
    description: `stack ${stackName} ${endpoint ? `at ${endpoint}` : `in ${stack.region}, account ${stack.account}`}`,
    stack: { ...stack, name: stackName, endpoint: endpoint || undefined },
    environment: {
      ...emulator,
      TABLE_NAME: TableName,
      BUCKET_NAME: BucketName,
      STATE_MACHINE_ARN: StateMachineArn,
      CARRIER_URL: stack.outputs.CarrierUrl ?? "",
      CARRIER_FUNCTION: stack.outputs.CarrierFunctionName ?? "",
      CARRIER_NAME: stack.outputs.CarrierName ?? "",
      CARRIER_SECRET_ARN: stack.outputs.CarrierTokenArn ?? "",
    },
  };
};

/** Quotes a text for a shell, which then runs and expands nothing in it. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The variables that other systems need for the AWS SDK (see docs/systems.md). */
const forSystems = [
  "AWS_REGION",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_ENDPOINT_URL_LAMBDA",
  "AWS_ENDPOINT_URL_SFN",
  "APPLY_FUNCTION_NAME",
  "ORDERING_FUNCTION_NAME",
  "STATE_MACHINE_ARN",
  "AWS_USE_FIPS_ENDPOINT",
  "AWS_USE_DUALSTACK_ENDPOINT",
  "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
];

export const addEnvCommand = (program: Command): void => {
  program
    .command("env")
    .description("print the local stack's addresses, and the demo's key and ids, as shell variables")
    .option(
      "--no-aws",
      "leave out what makes the AWS SDK call the local stack, so that the shell still calls your account",
    )
    .addHelpText("after", '\nExample: eval "$(./patchbay env --no-aws)" && curl -s $URL/openapi.json')
    .action(({ json, aws }: Format & { readonly aws: boolean }, command: Command) => {
      const { stack, port } = command.optsWithGlobals<TargetOptions>();
      if (stack) throw new UsageError("`env` works on local stacks only: choose one with --port.");
      const running = chooseLocalStack(port);
      console.error(`Target: local stack at ${running.url}`);
      const { url, environment, demo } = running;
      const { CARRIER_URL: CARRIER = "", EVENTS = "" } = environment;
      const shared = Object.entries(environment).filter(([name]) => forSystems.includes(name));
      // boto3 and version 1 of the AWS CLI read the region from AWS_DEFAULT_REGION only.
      const region = { AWS_DEFAULT_REGION: environment.AWS_REGION ?? "" };
      const forSdk = aws && { ...Object.fromEntries(shared), ...region };
      const variables = { URL: url, CARRIER, EVENTS, ...demo, ...forSdk };
      if (json) return printJson(variables);
      for (const [name, value] of Object.entries(variables)) console.log(`export ${name}=${quoted(safe(value))}`);
      if (!aws) return;
      // The SDK would prefer them to the credentials above, and boto3 looks for a profile without a name.
      for (const name of ["AWS_PROFILE", "AWS_SESSION_TOKEN"])
        if (process.env[name] !== undefined && !environment[name]) console.log(`unset ${name}`);
    });
};
