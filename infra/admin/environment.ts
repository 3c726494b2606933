import { findRunning } from "../local/state.ts";

/** What a command cannot do, in one line that says what to do next; the CLI prints it and exits with 1. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/**
 * Points the process at a table, a bucket and a state machine before anything makes a client: those of the deployed
 * stack of that name, else those that the environment names, else those of the local stack that is running.
 */
export const useEnvironment = async (stackName = process.env.PATCHBAY_STACK): Promise<void> => {
  if (stackName) return useStack(stackName);
  if (process.env.TABLE_NAME) return;
  const running = findRunning();
  if (!running)
    throw new CommandError(
      "There is no local stack running: start one with `npm start`, name a deployed one with --stack, or a table with TABLE_NAME (and BUCKET_NAME, AWS_REGION).",
    );
  Object.assign(process.env, running.environment, {
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
  });
};

const useStack = async (stackName: string) => {
  if (process.env.AWS_ENDPOINT_URL) useEmulator(process.env.AWS_ENDPOINT_URL);
  const { outputsOf } = await import("./stack.ts");
  const outputs = await outputsOf(stackName);
  const { TableName, BucketName, StateMachineArn } = outputs ?? {};
  if (!TableName || !BucketName || !StateMachineArn)
    throw new CommandError(
      `There is no stack ${stackName} of Patchbay's in this account and region: deploy it, or correct --stack, AWS_PROFILE or AWS_REGION.`,
    );
  Object.assign(process.env, {
    TABLE_NAME: TableName,
    BUCKET_NAME: BucketName,
    STATE_MACHINE_ARN: StateMachineArn,
  });
};

/** A LocalStack-compatible endpoint takes any credentials, and has no host names for buckets. */
const useEmulator = (endpoint: string) => {
  process.env.AWS_REGION ??= "us-east-1";
  process.env.AWS_ACCESS_KEY_ID ??= "test";
  process.env.AWS_SECRET_ACCESS_KEY ??= "test";
  process.env.AWS_ENDPOINT_URL_S3 ??= endpoint;
};
