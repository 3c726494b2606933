import { CloudFormation } from "@aws-sdk/client-cloudformation";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { SNS } from "@aws-sdk/client-sns";
import { clientSettings } from "../../../shared/deadline.ts";
import { env } from "../../../shared/env.ts";
import type { DeployedStack } from "../cli/target.ts";

/** The checks of `doctor` for a deployed stack. Most are the steps of "The first day" in infra/README.md. */

/** A missing precaution. It is no fault, but production should have it. */
export type Notice = { readonly notice: string; readonly remedy: string };

/** Without retries, a check reports the first failure. Clients that only `doctor` needs are loaded late. */
export const clientConfig = { ...clientSettings(5_000), maxAttempts: 1 };

const readme = 'see "The first day" in infra/README.md';

/** Only a function returns 401. For a request without a key, it reads nothing. */
const checkBaseUrl = async ({ outputs: { BaseUrl = "" } }: DeployedStack): Promise<string> => {
  const url = `${BaseUrl}/api/v1/switches`;
  const { status } = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  if (status !== 401) throw new Error(`GET ${url} without an API key returns ${status}, not 401`);
  return `${BaseUrl} responds`;
};

const checkProtection = async ({ isProtected }: DeployedStack): Promise<string | Notice> => {
  const { Table } = await new DynamoDB(clientConfig).describeTable({ TableName: env.tableName() });
  const unprotected = [
    ...(isProtected ? [] : ["the stack"]),
    ...(Table?.DeletionProtectionEnabled ? [] : ["the table"]),
  ];
  if (unprotected.length === 0) return "of the stack and of the table";
  return {
    notice: `${unprotected.join(" and ")} can be deleted`,
    remedy: "The stage of production has `retainData`, which protects both.",
  };
};

const checkBackups = async (): Promise<string | Notice> => {
  const TableName = env.tableName();
  const { ContinuousBackupsDescription } = await new DynamoDB(clientConfig).describeContinuousBackups({ TableName });
  const { PointInTimeRecoveryStatus: status } = ContinuousBackupsDescription?.PointInTimeRecoveryDescription ?? {};
  if (status === "ENABLED") return "point-in-time recovery is on";
  return { notice: "point-in-time recovery is off", remedy: "Deploy the stack again, which turns it on." };
};

const checkStackPolicy = async ({ name: StackName }: DeployedStack): Promise<string | Notice> => {
  const { StackPolicyBody } = await new CloudFormation(clientConfig).getStackPolicy({ StackName });
  if (StackPolicyBody) return "a deployment cannot delete or replace what it protects";
  return {
    notice: "there is none: a deployment can delete or replace what holds data",
    remedy: `Set it with \`aws cloudformation set-stack-policy\`: ${readme}.`,
  };
};

/** The generated secret has one version. Storing the carrier's token adds another. */
const checkCarrierToken = async ({ outputs: { CarrierTokenArn } }: DeployedStack): Promise<string | Notice> => {
  const { VersionIdsToStages = {} } = await new SecretsManager(clientConfig).describeSecret({
    SecretId: CarrierTokenArn,
  });
  if (Object.keys(VersionIdsToStages).length > 1) return "it was stored after the deployment";
  return {
    notice: "the generated value has not been replaced",
    remedy: `Store the carrier's token with \`aws secretsmanager put-secret-value\`: ${readme}.`,
  };
};

/** Whether a trail of CloudTrail has data events of tables. Its selectors are in infra/aws/trail-selectors.json. */
const checkTrail = async (): Promise<string | Notice> => {
  const { CloudTrail } = await import("@aws-sdk/client-cloudtrail");
  const cloudTrail = new CloudTrail(clientConfig);
  const { trailList = [] } = await cloudTrail.describeTrails({});
  for (const { Name, TrailARN } of trailList) {
    const { AdvancedEventSelectors } = await cloudTrail.getEventSelectors({ TrailName: TrailARN });
    if (JSON.stringify(AdvancedEventSelectors ?? []).includes("AWS::DynamoDB::Table"))
      return `${Name} records who reads and changes items`;
  }
  return {
    notice: "no trail records who reads and changes the data",
    remedy: `Choose its events with \`aws cloudtrail put-event-selectors\`: ${readme}.`,
  };
};

/** A sandbox without addresses has no topics. */
const checkTopic = async (TopicArn: string | undefined, setting: string): Promise<string | Notice> => {
  const { Subscriptions = [] } = TopicArn ? await new SNS(clientConfig).listSubscriptionsByTopic({ TopicArn }) : {};
  const [confirmed] = Subscriptions.filter(({ SubscriptionArn }) => SubscriptionArn?.startsWith("arn:"));
  if (confirmed) return `alarms notify ${confirmed.Endpoint}`;
  const [pending] = Subscriptions;
  if (!pending)
    return { notice: "no one is notified", remedy: `Set \`${setting}\` in the stage's file, and deploy it.` };
  return {
    notice: `the subscription of ${pending.Endpoint} is pending: no one is notified`,
    remedy: "Confirm it with the link in the email that AWS has sent.",
  };
};

/**
 * Checks the reader of the table's stream. If it stops, no function fails. Its own error, such as a missing permission, is told
 * only here.
 */
const checkReader = async ({ outputs, endpoint }: DeployedStack): Promise<string | Notice> => {
  const { Lambda } = await import("@aws-sdk/client-lambda");
  const reader = await new Lambda(clientConfig).getEventSourceMapping({ UUID: outputs.EventReaderId });
  const { State = "in an unknown state", StateTransitionReason, LastProcessingResult = "", FunctionArn = "" } = reader;
  if (!/^(Enabled|Enabling|Updating|Creating)$/.test(State))
    throw new Error(`it is ${State.toLowerCase()} (${StateTransitionReason ?? "no reason is given"})`);
  if (LastProcessingResult.startsWith("PROBLEM")) throw new Error(`its last result is "${LastProcessingResult}"`);
  if (endpoint !== undefined) return State.toLowerCase();
  const last = await lastRecordOf(FunctionArn);
  if (!last) return `${State.toLowerCase()}; it has published no event in the last 24 hours`;
  const text = `${State.toLowerCase()}; the last events were published at ${last.at.toISOString()}, ${last.ageMs} ms after their change`;
  if (last.ageMs < lateMs) return text;
  return { notice: text, remedy: "See `LateEvents` in infra/runbook.md." };
};

/** The alarm `LateEvents` is raised from there on. */
const lateMs = 600_000;

/**
 * Returns when the function last ran, and how old its oldest record was. It looks back a day, because the stream keeps no older
 * records.
 */
const lastRecordOf = async (functionArn: string) => {
  const [FunctionName = "", alias] = functionArn.split(":").slice(6);
  const Dimensions = [
    { Name: "FunctionName", Value: FunctionName },
    { Name: "Resource", Value: alias ? `${FunctionName}:${alias}` : FunctionName },
  ];
  const Metric = { Namespace: "AWS/Lambda", MetricName: "IteratorAge", Dimensions };
  const { CloudWatch } = await import("@aws-sdk/client-cloudwatch");
  const { MetricDataResults: [found] = [] } = await new CloudWatch(clientConfig).getMetricData({
    StartTime: new Date(Date.now() - 86_400_000),
    EndTime: new Date(),
    ScanBy: "TimestampDescending",
    MetricDataQueries: [{ Id: "age", MetricStat: { Metric, Period: 300, Stat: "Maximum" } }],
  });
  const [at] = found?.Timestamps ?? [];
  const [ageMs = 0] = found?.Values ?? [];
  return at && { at, ageMs };
};

/** Emulators lack most of the rest, so only their API and the reader of the stream are checked. */
export const checksOfStack = (stack: DeployedStack) =>
  [
    ["API", () => checkBaseUrl(stack), "Look at its alarms and logs: see infra/runbook.md."],
    [
      "events",
      () => checkReader(stack),
      "Nothing is published. Enable the mapping (`aws lambda update-event-source-mapping --enabled`) within 24 hours, because the stream keeps no older events.",
    ],
    ...(stack.endpoint === undefined
      ? ([
          ["deletion protection", () => checkProtection(stack)],
          ["backups", checkBackups],
          ["stack policy", () => checkStackPolicy(stack)],
          ["audit trail", checkTrail],
          ["carrier's token", () => checkCarrierToken(stack)],
          ["pages", () => checkTopic(stack.outputs.PageTopicArn, "pageEmail")],
          ["tickets", () => checkTopic(stack.outputs.TicketTopicArn, "ticketEmail")],
        ] as const)
      : []),
  ] as const;
