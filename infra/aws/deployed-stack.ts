import { CloudFormation, CloudFormationServiceException } from "@aws-sdk/client-cloudformation";

/** Returns a stack's region, account, termination protection and outputs. Returns undefined if there is no stack of that name. */
export const describeStack = async (stackName: string) => {
  const client = new CloudFormation({
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 2_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });
  try {
    const { Stacks: [stack] = [] } = await client.describeStacks({ StackName: stackName });
    if (!stack) return undefined;
    const [, , , region = "", account = ""] = (stack.StackId ?? "").split(":");
    const outputs = (stack.Outputs ?? []).map(({ OutputKey = "", OutputValue }) => [OutputKey, OutputValue] as const);
    return {
      region,
      account,
      isProtected: stack.EnableTerminationProtection ?? false,
      outputs: Object.fromEntries(outputs),
    };
  } catch (error) {
    // CloudFormation has no error code for this, only the message "Stack with id … does not exist".
    if (error instanceof CloudFormationServiceException && /does not exist/.test(error.message)) return undefined;
    throw error;
  }
};
