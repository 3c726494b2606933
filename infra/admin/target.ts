import { emulatorVariables, recordedEndpoint } from "../aws/emulator.ts";
import { runningStacks, type State } from "../local/state.ts";
import { CommandError, UsageError } from "./command-errors.ts";
import { safe } from "./output.ts";

export type TargetOptions = { readonly stack?: string; readonly port?: string };

/**
 * Chooses the target: the deployed stack or the local port in an option, then the one in the environment (PATCHBAY_STACK,
 * TABLE_NAME, PORT), then the only running local stack. If that target does not exist, there is no fallback. `environment`
 * directs the AWS SDK to it.
 */
const chooseTarget = async ({ stack, port }: TargetOptions) => {
  if (stack && port) throw new UsageError("--stack is a deployed stack and --port a local one: choose one of them.");
  const stackName = stack || process.env.PATCHBAY_STACK;
  if (!port && stackName) return stackTarget(stackName);
  if (!port && process.env.TABLE_NAME) return tableTarget(process.env.TABLE_NAME);
  const { url, environment } = chooseLocalStack(port);
  return { description: `local stack at ${url}`, environment };
};

/** Directs this process to its target and prints it on stderr. Returns the description. Call it before any call to AWS. */
export const useTarget = async (options: TargetOptions): Promise<string> => {
  const { description, environment } = await chooseTarget(options);
  Object.assign(process.env, environment);
  console.error(safe(`Target: ${description}`));
  return description;
};

/** The local stack on the given port, or on PORT, or the only running one. */
export const chooseLocalStack = (port = process.env.PORT || undefined): State => {
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
  // For the call to CloudFormation.
  Object.assign(process.env, emulator);
  const { describeStack } = await import("../aws/deployed-stack.ts");
  const stack = await describeStack(stackName);
  const { TableName, BucketName, StateMachineArn } = stack?.outputs ?? {};
  if (!stack || !TableName || !BucketName || !StateMachineArn)
    throw new CommandError(
      `There is no Patchbay stack ${stackName} ${endpoint ? `at ${endpoint}` : "in this account and region"}: deploy it, or correct --stack, AWS_PROFILE or AWS_REGION.`,
    );
  return {
    description: `stack ${stackName} ${endpoint ? `at ${endpoint}` : `in ${stack.region}, account ${stack.account}`}`,
    environment: { ...emulator, TABLE_NAME: TableName, BUCKET_NAME: BucketName, STATE_MACHINE_ARN: StateMachineArn },
  };
};
