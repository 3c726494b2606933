import { Duration } from "aws-cdk-lib";
import { EventBus } from "aws-cdk-lib/aws-events";
import { ManagedPolicy } from "aws-cdk-lib/aws-iam";
import { EventSourceMapping, FilterCriteria, FilterRule, StartingPosition } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { eventPrefix } from "../../shared/table/keys.ts";
import { acknowledge, logicalId } from "./acknowledge.ts";
import { otherFunctions } from "./bundle.ts";
import { createFunction, type Deployment } from "./function.ts";
import { allow, allowKey, arnOf } from "./grants.ts";
import type { Settings } from "./settings.ts";

/** Creates the bus, and the function that puts each new event of the table on it. */
export const createEvents = (scope: Construct, deployment: Deployment) => {
  const { settings, storage } = deployment;
  const bus = new EventBus(scope, "Events", {
    eventBusName: settings.stackName,
    description: "Patchbay: every confirmed change",
  });
  // The rules of other systems on the bus would prevent its deletion.
  bus.applyRemovalPolicy(settings.removalPolicy);
  // Not every emulator supports archives.
  const days = settings.emulator ? null : settings.eventArchiveDays;
  const pattern = { eventPattern: { source: ["patchbay"] }, description: "Patchbay: events to send again" };
  const archive = days ? bus.archive("Archive", { ...pattern, retention: Duration.days(days) }) : undefined;
  archive?.applyRemovalPolicy(settings.removalPolicy);
  const eventSourceArn = storage.table.tableStreamArn ?? "";
  const publisher = createFunction(scope, deployment, {
    ...otherFunctions.publish,
    // Nobody calls it, so no rule of X-Ray would apply: Lambda would trace it at its own rate, one a second and 5 % of the others.
    isTraced: false,
    grants: { table: [], files: [] },
    timeout: Duration.minutes(1),
    environment: { EVENT_BUS_NAME: bus.eventBusName, DEAD_LETTERS_URL: deployment.deadLetters.queueUrl },
    statements: [allow(["events:PutEvents"], bus.eventBusArn), ...readStream(deployment, eventSourceArn)],
  });
  const reader = new EventSourceMapping(scope, "Stream", {
    target: publisher,
    eventSourceArn,
    startingPosition: StartingPosition.TRIM_HORIZON,
    filters: [
      FilterCriteria.filter({
        eventName: FilterRule.isEqual("INSERT"),
        dynamodb: { Keys: { sk: { S: FilterRule.beginsWith(eventPrefix) } } },
      }),
    ],
    // A refused event delays only a tenth of its shard, and only its own half of a batch. Events are unordered.
    parallelizationFactor: 10,
    reportBatchItemFailures: true,
    bisectBatchOnError: true,
    // The stream keeps records for 24 hours. Giving up on one earlier saves those behind it.
    maxRecordAge: Duration.hours(23),
    onFailure: { bind: () => ({ destination: deployment.deadLetters.queueArn }) },
  });
  const archiveArn = archive?.archiveArn;
  return { bus, publisher, reader, archiveArn, policy: eventPolicy(scope, settings, bus, archiveArn) };
};

const streamActions = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"];

/** Lambda uses these with the function's role. The function itself also sends dead letters. */
const readStream = ({ storage: { key }, deadLetters }: Deployment, stream: string) => [
  allow(
    streamActions.map((name) => `dynamodb:${name}`),
    stream,
  ),
  allowKey(["kms:Decrypt"], key, "dynamodb"),
  allow(["sqs:SendMessage"], deadLetters.queueArn),
];

const ruleActions = [
  "DeleteRule",
  "DescribeRule",
  "DisableRule",
  "EnableRule",
  "ListTargetsByRule",
  "PutRule",
  "PutTargets",
  "RemoveTargets",
].map((name) => `events:${name}`);
const replayActions = ["events:CancelReplay", "events:DescribeReplay"];

/** Permission to put rules on the bus, and to replay archived events. */
const eventPolicy = (scope: Construct, settings: Settings, bus: EventBus, archiveArn: string | undefined) => {
  const replays = `replay/${settings.stackName}-*`;
  const replaysArn = arnOf("events", replays);
  const policy = new ManagedPolicy(scope, "EventPolicy", {
    description: "Patchbay: other systems put rules on the bus",
    statements: [
      allow(["events:DescribeEventBus"], bus.eventBusArn),
      allow(ruleActions, arnOf("events", `rule/${bus.eventBusName}/*`)),
      ...(archiveArn
        ? [
            allow(["events:DescribeArchive"], archiveArn),
            // A replay needs all three permissions, on the source, the destination and the replay itself.
            ...[archiveArn, bus.eventBusArn, replaysArn].map((each) => allow(["events:StartReplay"], each)),
            // Other systems in the account have replays of their own.
            allow(replayActions, replaysArn),
          ]
        : []),
    ],
  });
  const reason = "Whoever puts rules on the bus and starts replays chooses their names.";
  for (const name of [`rule/<${logicalId(bus)}>/*`, replays])
    acknowledge(policy, {
      [`AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:${name}]`]: reason,
    });
  policy.applyRemovalPolicy(settings.removalPolicy);
  return policy;
};
