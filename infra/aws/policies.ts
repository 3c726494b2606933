import { ArnFormat, Stack } from "aws-cdk-lib";
import { ManagedPolicy } from "aws-cdk-lib/aws-iam";
import type { StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import type { Construct } from "constructs";
import { filePrefix } from "../../shared/table/keys.ts";
import { accept, logicalId } from "./accept.ts";
import { allow, type Surroundings } from "./function.ts";
import { grants } from "./grants.ts";
import type { Storage } from "./storage.ts";

/** The policies for users outside this stack. infra/README.md says who needs which. */
export const policies = (scope: Construct, { storage }: Surroundings, machine: StateMachine) => {
  const ordering = orderingPolicy(scope, machine);
  const operator = operatorPolicy(scope, storage, machine);
  for (const policy of [ordering, operator]) acceptFindings(policy, storage, machine);
  return { ordering, operator };
};

/** Whoever may start an execution may check out any order: the order's id is all that it takes. */
const orderingPolicy = (scope: Construct, machine: StateMachine) =>
  new ManagedPolicy(scope, "OrderingPolicy", {
    description: "Patchbay: an ordering system starts checkouts and asks how they ended",
    statements: [
      allow(["states:StartExecution"], machine.stateMachineArn),
      allow(["states:DescribeExecution"], executionsOf(machine)),
    ],
  });

const itemActions = ["GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"] as const;

/** All that `npm run admin -- --stack` does. */
const operatorPolicy = (scope: Construct, storage: Storage, machine: StateMachine) => {
  const stack = Stack.of(scope);
  const { table, bucket } = storage;
  return new ManagedPolicy(scope, "OperatorPolicy", {
    description: "Patchbay: operators run its CLI",
    statements: [
      allow(["cloudformation:DescribeStacks"], stack.stackId),
      ...grants(stack, storage, { table: itemActions, files: ["DeleteObject"] }),
      allow(["dynamodb:Scan", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"], table.tableArn),
      allow(["s3:ListBucket"], bucket.bucketArn),
      allow(["states:StartExecution", "states:ListExecutions"], machine.stateMachineArn),
      allow(["states:DescribeExecution"], executionsOf(machine)),
    ],
  });
};

const executionsOf = (machine: StateMachine) =>
  Stack.of(machine).formatArn({
    service: "states",
    resource: "execution",
    resourceName: `${machine.stateMachineName}:*`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });

const acceptFindings = (policy: ManagedPolicy, { bucket }: Storage, machine: StateMachine) =>
  accept(policy, {
    [`AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<${logicalId(machine)}.Name>:*]`]:
      "The name of an execution has the order's id and the number of the run: the state machine is the narrowest name for all.",
    [`AwsSolutions-IAM5[Resource::<${logicalId(bucket)}.Arn>/${filePrefix}*]`]:
      "The key of a file has the day and the ids of its upload: its prefix is the narrowest name for all.",
  });
