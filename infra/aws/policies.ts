import { Aws } from "aws-cdk-lib";
import { ManagedPolicy, type PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import type { Construct } from "constructs";
import { doctorFile } from "../../shared/attachments/file-keys.ts";
import { lookupIndex } from "../../shared/table/keys.ts";
import { acknowledge } from "./acknowledge.ts";
import { executionsOf } from "./checkout.ts";
import type { Deployment } from "./function.ts";
import { allow, allowKey, allowListing, evidenceGrants, statementsFor } from "./grants.ts";

type Used = {
  readonly machine: StateMachine;
  readonly secret: { readonly secretArn: string };
  readonly topics: readonly { readonly topicArn: string }[];
  readonly reader: { readonly eventSourceMappingArn: string };
  readonly apply: IFunction;
  readonly applyOrders: IFunction;
};

/**
 * Creates the managed policies for users outside this stack, and returns their ARNs by the names of the stack's outputs. They are
 * retained like data, because an attached policy cannot be deleted. infra/README.md describes who needs which. Do not change their
 * descriptions, because CloudFormation would replace the policies and their ARNs.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-iam-managedpolicy.html
 */
export const createPolicies = (
  scope: Construct,
  { settings, storage }: Deployment,
  { machine, secret, topics, reader, apply, applyOrders }: Used,
) => {
  const arnOf = (id: string, description: string, statements: PolicyStatement[]) => {
    const policy = new ManagedPolicy(scope, id, { description: `Patchbay: ${description}`, statements });
    policy.applyRemovalPolicy(settings.removalPolicy);
    if (id === "OperatorPolicy")
      acknowledge(policy, { "AwsSolutions-IAM5[Resource::*]": "Metrics do not support resource-level permissions." });
    return policy.managedPolicyArn;
  };
  return {
    // Whoever may start an execution may check out any order, because the input is only the order's id.
    OrderingPolicyArn: arnOf("OrderingPolicy", "an ordering system starts checkouts and asks how they ended", [
      allow(["states:StartExecution"], machine.stateMachineArn),
      allow(["states:DescribeExecution"], executionsOf(machine)),
      allow(["lambda:InvokeFunction"], applyOrders.functionArn),
    ]),
    // Whoever may apply every section may create an API key for any account.
    TenancyPolicyArn: arnOf("TenancyPolicy", "the system of record of customers applies files", [
      allow(["lambda:InvokeFunction"], apply.functionArn),
    ]),
    // Everything that `./patchbay --stack` needs, except for `attachment download`, `account export` and `restore`.
    OperatorPolicyArn: arnOf("OperatorPolicy", "operators run its CLI", [
      allow(["cloudformation:DescribeStacks", "cloudformation:GetStackPolicy"], Aws.STACK_ID),
      ...statementsFor(storage, {
        table: ["GetItem", "Query", "ConditionCheckItem", "PutItem", "UpdateItem", "DeleteItem"],
        files: ["DeleteObject"],
      }),
      allow(
        ["Scan", "DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups"].map((one) => `dynamodb:${one}`),
        storage.table.tableArn,
      ),
      // This is only the file that `doctor` stores, because nobody may replace a customer's file.
      allow(["s3:PutObject"], storage.bucket.arnForObjects(doctorFile)),
      allowKey(["kms:GenerateDataKey"], storage.key, "s3"),
      allow(["secretsmanager:DescribeSecret"], secret.secretArn),
      ...topics.map(({ topicArn }) => allow(["sns:ListSubscriptionsByTopic"], topicArn)),
      allow(["lambda:GetEventSourceMapping"], reader.eventSourceMappingArn),
      allow(["cloudwatch:GetMetricData"], "*"),
      allow(["dynamodb:Query"], `${storage.table.tableArn}/index/${lookupIndex}`),
      allowListing(storage),
      allow(["states:StartExecution", "states:ListExecutions"], machine.stateMachineArn),
      allow(["states:DescribeExecution"], executionsOf(machine)),
    ]),
    // `patchbay attachment download` reads a file, and writes an event.
    EvidencePolicyArn: arnOf("EvidencePolicy", "operators download the files of attachments for disputes", [
      allow(["cloudformation:DescribeStacks"], Aws.STACK_ID),
      ...statementsFor(storage, { table: [], files: ["GetObject"] }),
      ...evidenceGrants(storage),
    ]),
  };
};
