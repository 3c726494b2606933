import { Aws } from "aws-cdk-lib";
import type { IRule } from "aws-cdk-lib/aws-events";
import { ManagedPolicy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import type { Construct } from "constructs";
import { doctorFile, filePrefix } from "../../shared/attachments/file-keys.ts";
import { lookupIndex } from "../../shared/table/keys.ts";
import { acknowledge, logicalId } from "./acknowledge.ts";
import { executionsOf } from "./checkout.ts";
import type { Deployment } from "./function.ts";
import { allow, allowKey, allowListing, arnOf as arnInAccount, evidenceGrants, statementsFor } from "./grants.ts";
import type { Storage } from "./storage.ts";

type Used = {
  readonly machine: StateMachine;
  readonly sweepRule: IRule;
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
export const createPolicies = (scope: Construct, deployment: Deployment, used: Used) => {
  const { settings, storage } = deployment;
  const { machine, secret, topics, reader, apply, applyOrders } = used;
  const arnOf = (id: string, description: string, statements: PolicyStatement[]) => {
    const policy = new ManagedPolicy(scope, id, { description: `Patchbay: ${description}`, statements });
    policy.applyRemovalPolicy(settings.removalPolicy);
    if (id === "OperatorPolicy")
      acknowledge(policy, {
        "AwsSolutions-IAM5[Resource::*]": "Metrics and the list of trails do not support resource-level permissions.",
      });
    if (id === "OnCallPolicy") acknowledge(policy, reasonsOnCall(storage));
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
      allow(["cloudwatch:GetMetricData", "cloudtrail:DescribeTrails", "cloudtrail:GetEventSelectors"], "*"),
      allow(["dynamodb:Query"], `${storage.table.tableArn}/index/${lookupIndex}`),
      allowListing(storage),
      allow(["states:StartExecution", "states:ListExecutions"], machine.stateMachineArn),
      allow(["states:DescribeExecution"], executionsOf(machine)),
    ]),
    OnCallPolicyArn: arnOf(
      "OnCallPolicy",
      "whoever is on call follows the runbook",
      onCallStatements(scope, deployment, used),
    ),
    // `patchbay attachment download` reads a file, and writes an event.
    EvidencePolicyArn: arnOf("EvidencePolicy", "operators download the files of attachments for disputes", [
      allow(["cloudformation:DescribeStacks"], Aws.STACK_ID),
      ...statementsFor(storage, { table: [], files: ["GetObject"] }),
      ...evidenceGrants(storage),
    ]),
  };
};

/** The tables that `./patchbay restore` creates. Their names begin with that of the restored one. */
const restoredTables = ({ table }: Storage) => arnInAccount("dynamodb", `table/${table.tableName}-*`);

const reasonsOnCall = ({ table }: Storage) => ({
  "AwsSolutions-IAM5[Resource::*]":
    "Alarms, dashboards, traces, results of queries and scans of objects do not support resource-level permissions.",
  [`AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:dynamodb:<AWS::Region>:<AWS::AccountId>:table/<${logicalId(table)}>-*]`]:
    "The name of a restored table begins with that of its source, and ends with the time.",
});

/** What infra/runbook.md asks of whoever is on call, in addition to the operators' policy. test/infra/aws/on-call.test.ts compares them. */
const onCallStatements = (
  scope: Construct,
  { settings, storage, deadLetters }: Deployment,
  { machine, reader, sweepRule }: Used,
): PolicyStatement[] => {
  const logGroups = scope.node.findAll().filter((one) => one instanceof LogGroup);
  const { bucket, table, key } = storage;
  const files = bucket.arnForObjects(`${filePrefix}*`);
  const on = (service: string, ...actions: string[]) => actions.map((action) => `${service}:${action}`);
  return [
    allow(on("cloudformation", "DescribeStackEvents", "DescribeStackResource", "ListStackResources"), Aws.STACK_ID),
    new PolicyStatement({
      actions: on("logs", "DescribeLogStreams", "FilterLogEvents", "GetLogEvents", "StartQuery"),
      resources: logGroups.map(({ logGroupArn }) => logGroupArn),
    }),
    allow(
      [
        ...on("logs", "DescribeLogGroups", "DescribeQueryDefinitions", "GetLogRecord", "GetQueryResults", "StopQuery"),
        ...on(
          "cloudwatch",
          "DescribeAlarmHistory",
          "DescribeAlarms",
          "GetDashboard",
          "GetMetricStatistics",
          "ListDashboards",
          "ListMetrics",
        ),
        ...on("xray", "BatchGetTraces", "GetTraceSummaries"),
      ],
      "*",
    ),
    allow(on("sqs", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl", "ReceiveMessage"), deadLetters.queueArn),
    allow(on("events", "DescribeRule", "DisableRule", "EnableRule"), sweepRule.ruleArn),
    allow(on("lambda", "UpdateEventSourceMapping"), reader.eventSourceMappingArn),
    allow(on("states", "GetExecutionHistory", "StopExecution"), executionsOf(machine)),
    // Copies a deleted file's version back. It can replace no file, and delete no version.
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes-enforce.html
    allow(on("s3", "ListBucketVersions"), bucket.bucketArn),
    allow(on("s3", "GetObjectVersion"), files),
    allow(on("s3", "PutObject"), files, { Null: { "s3:if-none-match": "false" } }),
    allowKey(["kms:Decrypt"], key, "s3"),
    ...(settings.malwareScan ? [allow(on("guardduty", "SendObjectMalwareScan"), "*")] : []),
    // DynamoDB writes a restored table with the permissions of whoever restores it.
    // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/backuprestore_IAM.html
    allow(on("dynamodb", "ListTagsOfResource", "RestoreTableToPointInTime"), table.tableArn),
    allow(
      on(
        "dynamodb",
        "BatchWriteItem",
        "DeleteItem",
        "DescribeContinuousBackups",
        "DescribeTable",
        "DescribeTimeToLive",
        "GetItem",
        "ListTagsOfResource",
        "PutItem",
        "Query",
        "RestoreTableToPointInTime",
        "Scan",
        "TagResource",
        "UpdateContinuousBackups",
        "UpdateItem",
        "UpdateTable",
        "UpdateTimeToLive",
      ),
      restoredTables(storage),
    ),
    allowKey(["kms:CreateGrant"], key, "dynamodb"),
  ];
};
