import { Alarm, type AlarmProps, ComparisonOperator, type IMetric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { Construct } from "constructs";
import { addDashboard } from "./dashboard.ts";
import type { Deployment } from "./function.ts";
import { type Metrics, type Monitored, metricsOf } from "./metrics.ts";

/** Creates the alarms, their topic and the dashboard. The runbook in infra/README.md says what to do about each alarm. */
export const createOperations = (scope: Construct, { settings, storage }: Deployment, monitored: Monitored): Topic => {
  const topic = new Topic(scope, "Alarms", { masterKey: storage.key, enforceSSL: true });
  letAlarmsPublish(topic, storage.key);
  if (settings.alarmEmail) topic.addSubscription(new EmailSubscription(settings.alarmEmail));

  const metrics = metricsOf(monitored);
  const action = new SnsAction(topic);
  const alarms = alarmsOf(metrics).map(([name, props]) => {
    const alarm = new Alarm(scope, `${name}Alarm`, { alarmName: `${settings.stackName}-${name}`, ...props });
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    if (props.treatMissingData === TreatMissingData.MISSING) alarm.addInsufficientDataAction(action);
    return alarm;
  });
  // Not every emulator supports dashboards.
  if (!settings.emulator) addDashboard(scope, settings.stackName, metrics, alarms);
  return topic;
};

/**
 * The topic has a policy of its own, so it lacks the default one, which lets the account's alarms publish. The default
 * policy of the KMS key does not let them use it.
 */
const letAlarmsPublish = (topic: Topic, key: Key) => {
  const ofThisAccount = {
    principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
    conditions: { StringEquals: { "aws:SourceAccount": topic.stack.account } },
  };
  topic.addToResourcePolicy(
    new PolicyStatement({ actions: ["sns:Publish"], resources: [topic.topicArn], ...ofThisAccount }),
  );
  key.addToResourcePolicy(
    new PolicyStatement({ actions: ["kms:Decrypt", "kms:GenerateDataKey*"], resources: ["*"], ...ofThisAccount }),
  );
};

const atLeast = (threshold: number, metric: IMetric, alarmDescription: string): AlarmProps => ({
  metric,
  threshold,
  alarmDescription,
  evaluationPeriods: 1,
  comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  // No data means that nothing happened.
  treatMissingData: TreatMissingData.NOT_BREACHING,
});

type NamedAlarm = readonly [name: string, props: AlarmProps];

const alarmsOf = (metrics: Metrics): readonly NamedAlarm[] => [
  ["ServerErrors", atLeast(5, metrics.serverErrors, "Five or more requests within five minutes failed with 5xx.")],
  [
    "FunctionThrottles",
    atLeast(1, metrics.functionThrottles, "Lambda throttled calls because the account's concurrency was used up."),
  ],
  ["ReadThrottles", atLeast(1, metrics.readThrottles, "DynamoDB throttled reads of the table.")],
  ["WriteThrottles", atLeast(1, metrics.writeThrottles, "DynamoDB throttled writes to the table.")],
  [
    "Conflicts",
    {
      ...atLeast(
        100,
        metrics.conflicts,
        "For 15 minutes, a hundred or more writes every five minutes conflicted with another write.",
      ),
      evaluationPeriods: 3,
    },
  ],
  [
    "SlowRequests",
    {
      ...atLeast(3000, metrics.latencyP99, "For 15 minutes, one request in a hundred took three seconds or more."),
      evaluationPeriods: 3,
    },
  ],
  ["FailedCheckouts", atLeast(1, metrics.failedCheckouts, "A checkout failed. The order is still in CART.")],
  ["EndlessCheckouts", atLeast(1, metrics.timedOutCheckouts, "A checkout did not end within a week.")],
  ...sweepAlarms(metrics.sweeps),
];

const sweepAlarms = ({ started, failed, unfinished, stopped }: Metrics["sweeps"]): readonly NamedAlarm[] => [
  [
    "StoppedSweeps",
    atLeast(1, stopped, "SWEEP_STOPPED: the table does not know too many files of a day. Nothing of it was removed."),
  ],
  ["UnfinishedSweeps", atLeast(1, unfinished, "A sweep ran out of time. The next one continues where it stopped.")],
  // Lambda retries an event twice.
  ["DeadSweeps", atLeast(3, failed, "A sweep and both its retries failed: files without metadata accumulate.")],
  [
    "MissedSweeps",
    {
      metric: started,
      threshold: 1,
      alarmDescription: "No sweep has started for two days or more: files without metadata accumulate.",
      evaluationPeriods: 2,
      comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
      // A function that does not run has no metrics, so the alarm changes to INSUFFICIENT_DATA, which sends a notification.
      // A new alarm starts in that state, so the first day, before the first sweep, sends none.
      treatMissingData: TreatMissingData.MISSING,
    },
  ],
];
