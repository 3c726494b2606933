import {
  CloudFormationClient,
  CloudFormationServiceException,
  DescribeStacksCommand,
  type Output,
} from "@aws-sdk/client-cloudformation";

/** Where a deployed stack keeps things: its outputs, by their names; undefined where there is no such stack. */
export const outputsOf = async (stackName: string): Promise<Readonly<Record<string, string>> | undefined> => {
  const client = new CloudFormationClient({ maxAttempts: 2 });
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    return stack && Object.fromEntries((stack.Outputs ?? []).flatMap(entry));
  } catch (error) {
    // CloudFormation knows no better name for it: "Stack with id … does not exist".
    if (error instanceof CloudFormationServiceException && /does not exist/.test(error.message)) return undefined;
    throw error;
  }
};

const entry = ({ OutputKey: name, OutputValue: value }: Output): [string, string][] =>
  name !== undefined && value !== undefined ? [[name, value]] : [];
