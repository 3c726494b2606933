import { Match } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { synthesize } from "../../support/models/template.ts";

const { template } = synthesize("production");

/** CloudWatch, and EventBridge for the reports of backups, restricted to this account. */
const publishers = {
  Principal: { Service: ["cloudwatch.amazonaws.com", "events.amazonaws.com"] },
  Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
};

const atLeast = { ComparisonOperator: "GreaterThanOrEqualToThreshold" };
const ofFunction = (name: string) => ({
  Dimensions: Match.arrayWith([{ Name: "FunctionName", Value: { Ref: Match.stringLikeRegexp(`^${name}`) } }]),
});

describe("an alarm", () => {
  const ofStack = [{ Name: "stack", Value: "Patchbay-production" }];
  const ofQueue = [
    { Name: "QueueName", Value: { "Fn::GetAtt": [Match.stringLikeRegexp("^DeadLetters"), "QueueName"] } },
  ];
  const fiveMinutes = { Statistic: "Sum", Period: 300 };
  const ofSweep = { Period: 86_400, Dimensions: [{ Name: "FunctionName" }] };
  const missing = { TreatMissingData: "missing", InsufficientDataActions: [Match.anyValue()] };

  it.each<[name: string, namespace: string, metric: string, threshold: number, more?: object]>([
    ["Defects", "Patchbay", "Defects", 3, { ...fiveMinutes, EvaluationPeriods: 1, Dimensions: ofStack }],
    ["ServerErrors", "AWS/ApiGateway", "5XXError", 5, fiveMinutes],
    ["SlowRequests", "AWS/ApiGateway", "Latency", 3000, { ExtendedStatistic: "p99" }],
    ["FunctionThrottles", "AWS/Lambda", "Throttles", 1],
    ["ReadThrottles", "AWS/DynamoDB", "ReadThrottleEvents", 1],
    ["WriteThrottles", "AWS/DynamoDB", "WriteThrottleEvents", 1],
    ["Conflicts", "AWS/DynamoDB", "TransactionConflict", 100, { ...fiveMinutes, EvaluationPeriods: 3, ...atLeast }],
    ["FailedCheckouts", "AWS/Lambda", "Invocations", 1, ofFunction("checkoutfail")],
    ["FailedReleases", "AWS/Lambda", "Errors", 1, ofFunction("checkoutreleaselock")],
    ["DeadLetters", "AWS/SQS", "ApproximateNumberOfMessagesVisible", 1, { Dimensions: ofQueue }],
    ["LateEvents", "AWS/Lambda", "IteratorAge", 600_000, { Statistic: "Maximum" }],
    ["EndlessCheckouts", "AWS/States", "ExecutionsTimedOut", 1],
    ["StoppedSweeps", "Patchbay", "SweepsStopped", 1, ofSweep],
    ["UnfinishedSweeps", "Patchbay", "SweepsUnfinished", 1, ofSweep],
    ["DeadSweeps", "AWS/Lambda", "Errors", 3, { Period: 86_400 }],
    // An alarm starts with missing data, so its first day is no change and sends no message.
    ["MissedSweeps", "AWS/Lambda", "Invocations", 1, { ...missing, EvaluationPeriods: 2 }],
  ])("watches its metric, and also notifies when it is over: %s", (name, Namespace, MetricName, Threshold, more) => {
    template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      AlarmName: `Patchbay-production-${name}`,
      AlarmActions: [Match.anyValue()],
      OKActions: [Match.anyValue()],
      AlarmDescription: Match.anyValue(),
      ...{ Namespace, MetricName, Threshold, TreatMissingData: "notBreaching", ...more },
    });
  });

  it("does not count executions that end because another run is checking the order out", () => {
    expect(JSON.stringify(template.findResources("AWS::CloudWatch::Alarm"))).not.toContain("ExecutionsFailed");
  });

  it("is sent by mail, through an encrypted topic that requires TLS", () => {
    template.hasResourceProperties("AWS::SNS::Subscription", { Protocol: "email", Endpoint: "operators@example.com" });
    template.hasResourceProperties("AWS::SNS::Topic", { KmsMasterKeyId: Match.anyValue() });
    template.hasResourceProperties("AWS::SNS::TopicPolicy", {
      PolicyDocument: {
        Statement: [
          Match.objectLike({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
          Match.objectLike({ Effect: "Allow", Action: "sns:Publish", ...publishers }),
        ],
      },
    });
  });

  it("can be published, as the report of a failed backup, since these services may use the topic's key", () => {
    template.hasResourceProperties("AWS::KMS::Key", {
      KeyPolicy: {
        Statement: Match.arrayWith([
          Match.objectLike({ Action: ["kms:Decrypt", "kms:GenerateDataKey*"], ...publishers }),
        ]),
      },
    });
  });
});

it("the sweep runs every night", () => {
  template.hasResourceProperties("AWS::Events::Rule", { ScheduleExpression: "cron(17 3 * * ? *)" });
});

const queue = { "Fn::GetAtt": [Match.stringLikeRegexp("^DeadLetters"), "Arn"] };

it("an event that cannot be handled is kept in a queue for two weeks, whether the function cannot be invoked or fails", () => {
  for (const rule of Object.values(template.findResources("AWS::Events::Rule")))
    expect(rule.Properties.Targets, rule.Properties.Description).toMatchObject([
      { DeadLetterConfig: { Arn: { "Fn::GetAtt": [expect.stringMatching(/^DeadLetters/), "Arn"] } } },
    ]);
  for (const name of ["checkout/release-lock", "sweep-orphan-files"])
    template.hasResourceProperties("AWS::Lambda::Function", {
      Description: name,
      DeadLetterConfig: { TargetArn: queue },
    });
  template.hasResourceProperties("AWS::SQS::Queue", { MessageRetentionPeriod: 1_209_600 });
});

describe("the dashboard", () => {
  const dashboards = JSON.stringify(template.findResources("AWS::CloudWatch::Dashboard"));

  it("shows all alarms, requests, latency, checkouts and throttling", () => {
    template.resourceCountIs("AWS::CloudWatch::Dashboard", 1);
    for (const title of ["Alarms", "Requests per 5", "Latency", "Checkouts", "Throttled", "Sweeps", "Events"])
      expect(dashboards).toContain(title);
    for (const id of Object.keys(template.findResources("AWS::CloudWatch::Alarm"))) expect(dashboards).toContain(id);
  });

  it("shows means of milliseconds and daily sums in graphs of their own", () => {
    expect([...dashboards.matchAll(/SEARCH\(.*?\)/g)].map(([search]) => search)).toEqual([
      "SEARCH('{Patchbay,route} ms', 'Average', 300)",
      "SEARCH('{Patchbay,step} ms', 'Average', 300)",
      "SEARCH('{Patchbay,FunctionName}', 'Sum', 86400)",
    ]);
  });

  it("is left out for an emulator", () => {
    synthesize("emulated").template.resourceCountIs("AWS::CloudWatch::Dashboard", 0);
  });
});
