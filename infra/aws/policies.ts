import { Aws } from "aws-cdk-lib";
import { ManagedPolicy } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import type { Construct } from "constructs";
import { filePrefix } from "../../shared/attachments/file-keys.ts";
import { acknowledge, logicalId } from "./acknowledge.ts";
import { acknowledgedExecutions, executionsOf } from "./checkout.ts";
import type { Deployment } from "./function.ts";
import { allow, statementsFor } from "./grants.ts";
import type { Storage } from "./storage.ts";

/**
 * Creates the managed policies for users outside this stack. infra/README.md says who needs which. Do not change their
 * descriptions: CloudFormation would replace the policies and their ARNs.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-managedpolicy.html
 */
export const createPolicies = (scope: Construct, { storage }: Deployment, { machine, ...waysIn }: Invoked) => {
  const ordering = orderingPolicy(scope, machine, waysIn.applyOrders);
  const tenancy = tenancyPolicy(scope, waysIn.apply);
  const operator = operatorPolicy(scope, storage, machine);
  const evidence = evidencePolicy(scope, storage);
  for (const policy of [ordering, operator, evidence]) acknowledgeFindings(policy, storage, machine);
  return { ordering, tenancy, operator, evidence };
};

type Invoked = { readonly machine: StateMachine; readonly apply: IFunction; readonly applyOrders: IFunction };

/** Permission to start an execution is permission to check out any order: the input is only the order's id. */
const orderingPolicy = (scope: Construct, machine: StateMachine, applyOrders: IFunction) =>
  new ManagedPolicy(scope, "OrderingPolicy", {
    description: "Patchbay: an ordering system starts checkouts and asks how they ended",
    statements: [
      allow(["states:StartExecution"], machine.stateMachineArn),
      allow(["states:DescribeExecution"], executionsOf(machine)),
      allow(["lambda:InvokeFunction"], applyOrders.functionArn),
    ],
  });

/** Permission to apply every section is permission to create an API key for any account. */
const tenancyPolicy = (scope: Construct, apply: IFunction) =>
  new ManagedPolicy(scope, "TenancyPolicy", {
    description: "Patchbay: the system of record of customers applies files",
    statements: [allow(["lambda:InvokeFunction"], apply.functionArn)],
  });

/** What `admin attachment download` needs: it reads a file, and writes the event. */
const evidencePolicy = (scope: Construct, storage: Storage) =>
  new ManagedPolicy(scope, "EvidencePolicy", {
    description: "Patchbay: operators download the files of attachments for disputes",
    statements: [
      allow(["cloudformation:DescribeStacks"], Aws.STACK_ID),
      ...statementsFor(storage, { table: ["GetItem", "PutItem"], files: ["GetObject"] }),
    ],
  });

const itemActions = ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"] as const;

/** Everything that `npm run admin -- --stack` needs. */
const operatorPolicy = (scope: Construct, storage: Storage, machine: StateMachine) =>
  new ManagedPolicy(scope, "OperatorPolicy", {
    description: "Patchbay: operators run its CLI",
    statements: [
      allow(["cloudformation:DescribeStacks"], Aws.STACK_ID),
      ...statementsFor(storage, { table: itemActions, files: ["DeleteObject"] }),
      allow(["dynamodb:Scan", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"], storage.table.tableArn),
      allow(["s3:ListBucket"], storage.bucket.bucketArn),
      allow(["states:StartExecution", "states:ListExecutions"], machine.stateMachineArn),
      allow(["states:DescribeExecution"], executionsOf(machine)),
    ],
  });

const acknowledgeFindings = (policy: ManagedPolicy, { bucket }: Storage, machine: StateMachine) =>
  acknowledge(policy, {
    ...acknowledgedExecutions(machine),
    [`AwsSolutions-IAM5[Resource::<${logicalId(bucket)}.Arn>/${filePrefix}*]`]:
      "The name of a file contains the day and the ids of its upload. The prefix is the narrowest pattern that matches all files.",
  });
