import {
  CloudFormationClient,
  CloudFormationServiceException,
  DescribeStacksCommand,
  type Output,
} from "@aws-sdk/client-cloudformation";

type DeployedStack = {
  readonly region: string;
  readonly account: string;
  /** CloudFormation's, such as `UPDATE_COMPLETE`. */
  readonly status: string;
  /** By name. */
  readonly outputs: Readonly<Record<string, string>>;
};

const createClient = () =>
  new CloudFormationClient({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 2_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });

/** Undefined if there is no stack of that name. */
export const describeStack = async (stackName: string, client = createClient()): Promise<DeployedStack | undefined> => {
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    if (!stack) return undefined;
    const [, , , region = "", account = ""] = (stack.StackId ?? "").split(":");
    const status = stack.StackStatus ?? "";
    return { region, account, status, outputs: Object.fromEntries((stack.Outputs ?? []).flatMap(entry)) };
  } catch (error) {
    // CloudFormation has no error code for this, only the message "Stack with id … does not exist".
    if (error instanceof CloudFormationServiceException && /does not exist/.test(error.message)) return undefined;
    throw error;
  }
};

const entry = ({ OutputKey: name, OutputValue: value }: Output): [string, string][] =>
  name !== undefined && value !== undefined ? [[name, value]] : [];
