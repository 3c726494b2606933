import { Match, type Template } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, it } from "vitest";
import { emulated, synthesize } from "../../support/models/template.ts";

let template: Template;
beforeAll(() => {
  template = synthesize().template;
});

/** The principal CloudWatch, restricted to the alarms of this account. */
const alarms = {
  Principal: { Service: "cloudwatch.amazonaws.com" },
  Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
};

const alarm = (name: string, properties: object) =>
  template.hasResourceProperties("AWS::CloudWatch::Alarm", {
    AlarmName: `Patchbay-production-${name}`,
    AlarmActions: [Match.anyValue()],
    OKActions: [Match.anyValue()],
    AlarmDescription: Match.anyValue(),
    ...properties,
  });

describe("an alarm", () => {
  it.each([
    ["ServerErrors", { Namespace: "AWS/ApiGateway", MetricName: "5XXError", Statistic: "Sum", Threshold: 5 }],
    ["SlowRequests", { Namespace: "AWS/ApiGateway", MetricName: "Latency", ExtendedStatistic: "p99", Threshold: 3000 }],
    ["FunctionThrottles", { Namespace: "AWS/Lambda", MetricName: "Throttles", Threshold: 1 }],
    ["ReadThrottles", { Namespace: "AWS/DynamoDB", MetricName: "ReadThrottleEvents", Threshold: 1 }],
    ["WriteThrottles", { Namespace: "AWS/DynamoDB", MetricName: "WriteThrottleEvents", Threshold: 1 }],
    [
      "Conflicts",
      {
        Namespace: "AWS/DynamoDB",
        MetricName: "TransactionConflict",
        Statistic: "Sum",
        Period: 300,
        EvaluationPeriods: 3,
        Threshold: 100,
        ComparisonOperator: "GreaterThanOrEqualToThreshold",
      },
    ],
    [
      "FailedCheckouts",
      {
        Namespace: "AWS/Lambda",
        MetricName: "Invocations",
        Dimensions: [{ Name: "FunctionName", Value: { Ref: Match.stringLikeRegexp("^checkoutfail") } }],
        Threshold: 1,
      },
    ],
    [
      "LateEvents",
      {
        Namespace: "AWS/Lambda",
        MetricName: "IteratorAge",
        Dimensions: [{ Name: "FunctionName", Value: { Ref: Match.stringLikeRegexp("^eventspublish") } }],
        Statistic: "Maximum",
        Threshold: 600_000,
      },
    ],
    [
      "UnpublishedEvents",
      { Namespace: "AWS/SQS", MetricName: "ApproximateNumberOfMessagesVisible", Statistic: "Maximum", Threshold: 1 },
    ],
    ["EndlessCheckouts", { Namespace: "AWS/States", MetricName: "ExecutionsTimedOut", Threshold: 1 }],
  ])("watches its metric, and also notifies when it is over: %s", (name, properties) => {
    alarm(name, { ...properties, TreatMissingData: "notBreaching" });
  });

  it("does not count executions that end because another run is checking the order out", () => {
    expect(JSON.stringify(template.findResources("AWS::CloudWatch::Alarm"))).not.toContain("ExecutionsFailed");
  });

  it("watches a sweep that stops, does not finish, fails on every retry or never starts", () => {
    const counted = { Namespace: "Patchbay", Threshold: 1, Period: 86_400, Dimensions: [{ Name: "FunctionName" }] };
    alarm("StoppedSweeps", { MetricName: "SweepsStopped", ...counted });
    alarm("UnfinishedSweeps", { MetricName: "SweepsUnfinished", ...counted });
    alarm("DeadSweeps", { Namespace: "AWS/Lambda", MetricName: "Errors", Threshold: 3, Period: 86_400 });
    // An alarm starts with missing data, so its first day is no change and sends no message.
    alarm("MissedSweeps", {
      MetricName: "Invocations",
      EvaluationPeriods: 2,
      TreatMissingData: "missing",
      InsufficientDataActions: [Match.anyValue()],
    });
    template.hasResourceProperties("AWS::Events::Rule", { ScheduleExpression: "cron(17 3 * * ? *)" });
  });

  it("is sent by mail, through an encrypted topic that requires TLS", () => {
    template.hasResourceProperties("AWS::SNS::Subscription", { Protocol: "email", Endpoint: "operators@example.com" });
    template.hasResourceProperties("AWS::SNS::Topic", { KmsMasterKeyId: Match.anyValue() });
    template.hasResourceProperties("AWS::SNS::TopicPolicy", {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
          Match.objectLike({ Effect: "Allow", Action: "sns:Publish", ...alarms }),
        ]),
      },
    });
  });

  it("can be published, since CloudWatch may use the topic's key", () => {
    template.hasResourceProperties("AWS::KMS::Key", {
      KeyPolicy: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Action: ["kms:Decrypt", "kms:GenerateDataKey*"],
            ...alarms,
          }),
        ]),
      },
    });
  });
});

describe("the dashboard", () => {
  it("shows all alarms, requests, latency, checkouts and throttling", () => {
    template.resourceCountIs("AWS::CloudWatch::Dashboard", 1);
    const dashboards = JSON.stringify(template.findResources("AWS::CloudWatch::Dashboard"));
    for (const title of ["Alarms", "Requests per 5", "Latency", "Checkouts", "Throttled", "Sweeps", "Custom metrics"])
      expect(dashboards).toContain(title);
    for (const id of Object.keys(template.findResources("AWS::CloudWatch::Alarm"))) expect(dashboards).toContain(id);
  });

  it("is left out for an emulator", () => {
    const { template: onEmulator } = synthesize(emulated);
    onEmulator.resourceCountIs("AWS::CloudWatch::Dashboard", 0);
  });
});
