import { Aws, Duration } from "aws-cdk-lib";
import type { RestApi } from "aws-cdk-lib/aws-apigateway";
import * as cloudwatch from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { Rule, type RuleProps } from "aws-cdk-lib/aws-events";
import { SnsTopic } from "aws-cdk-lib/aws-events-targets";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { type IFunction, Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import type { Construct } from "constructs";
import { lookupIndex } from "../../shared/table/keys.ts";
import type { Deployment } from "./function.ts";
import { arnOf } from "./grants.ts";

/**
 * Creates the alarms, their two topics and the dashboard. A page cannot wait until the next working day: requests fail, checkouts end
 * without a result, or events will be lost. infra/runbook.md describes what to do about each.
 */
export const createOperations = (scope: Construct, deployment: Deployment, monitored: Monitored) => {
  const { settings, storage } = deployment;
  const topicOf = (id: string, email: string | null) => {
    const topic = new Topic(scope, id, { masterKey: storage.key, enforceSSL: true });
    grantPublish(topic, storage.key, "cloudwatch");
    if (email) topic.addSubscription(new EmailSubscription(email));
    return topic;
  };
  const pages = topicOf("Pages", settings.pageEmail);
  const tickets = topicOf("Tickets", settings.ticketEmail);
  const metrics = metricsOf(deployment, monitored);
  const create = (topic: Topic, all: Alarms) => {
    const action = new SnsAction(topic);
    return Object.entries(all).map(([name, props]) => {
      const alarmName = `${settings.stackName}-${name}`;
      const alarm = new cloudwatch.Alarm(scope, `${name}Alarm`, { alarmName, ...props });
      alarm.addAlarmAction(action);
      alarm.addOkAction(action);
      return alarm;
    });
  };
  const alarms = [...create(pages, pagesOf(metrics)), ...create(tickets, ticketsOf(metrics))];
  // Not every emulator supports dashboards.
  if (!settings.emulator) addDashboard(scope, settings.stackName, metrics, alarms);
  const alarmNamed = (name: string) => alarms.filter(({ node }) => node.id === `${name}Alarm`);
  return { pages, tickets, alarmNamed };
};

/**
 * Lets a service publish. The topic's own policy replaces the default one, which would let the account's alarms publish. The default
 * policy of the KMS key lets no service use the key.
 *
 * EventBridge supports no condition in a topic's policy, and none on the source in a key's policy. The key's policy is limited to this
 * stack's topics instead; by a pattern, because the topic refers to the key.
 * https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sns-permissions
 * https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
 */
const grantPublish = (topic: Topic, key: Key, service: "cloudwatch" | "events") => {
  const principals = [new ServicePrincipal(`${service}.amazonaws.com`)];
  const ofThisAccount = { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } };
  const ofThisStack = {
    ArnLike: { "kms:EncryptionContext:aws:sns:topicArn": arnOf("sns", `${topic.stack.stackName}-*`) },
  };
  const [onTopic, onKey] = service === "events" ? [{}, ofThisStack] : [ofThisAccount, ofThisAccount];
  topic.addToResourcePolicy(
    new PolicyStatement({ actions: ["sns:Publish"], resources: [topic.topicArn], principals, conditions: onTopic }),
  );
  const actions = ["kms:Decrypt", "kms:GenerateDataKey*"];
  key.addToResourcePolicy(new PolicyStatement({ actions, resources: ["*"], principals, conditions: onKey }));
};

/** Forwards AWS events that have no metric to a topic of alarms. */
export const report = (
  { storage, deadLetters: deadLetterQueue }: Deployment,
  topic: Topic,
  id: string,
  rule: Pick<RuleProps, "description" | "eventPattern">,
) => {
  grantPublish(topic, storage.key, "events");
  // For the stack's own topic, CDK would add statements of its own.
  const target = Topic.fromTopicArn(topic, id, topic.topicArn);
  new Rule(topic.stack, id, { ...rule, targets: [new SnsTopic(target, { deadLetterQueue })] });
};

/** An alarm that is raised at `threshold` or more. Missing data mean that nothing happened. */
const atLeast = (threshold: number, metric: cloudwatch.IMetric, alarmDescription: string): cloudwatch.AlarmProps => ({
  metric,
  threshold,
  alarmDescription,
  evaluationPeriods: 1,
  comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
});

/**
 * With FILL, the newest period is 0 until its data arrive, so an alarm with one period could miss it.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html#metric-math-syntax-functions-list
 */
const oneOfThree = { evaluationPeriods: 3, datapointsToAlarm: 1 };
const threeOfFour = { evaluationPeriods: 4, datapointsToAlarm: 3 };

export const killsOf = (wave: number) => `KilledFunctions${wave + 1}`;

type Alarms = Readonly<Record<string, cloudwatch.AlarmProps>>;

const pagesOf = (metrics: Metrics): Alarms => ({
  Defects: atLeast(
    3,
    metrics.defects,
    "Functions failed three or more times within five minutes because of a fault in their code or deployment.",
  ),
  ...Object.fromEntries(
    metrics.kills.map((metric, wave) => [
      killsOf(wave),
      atLeast(
        3,
        metric,
        "Within five minutes, functions that are released step by step ended three times or more without a response.",
      ),
    ]),
  ),
  ServerErrors: atLeast(5, metrics.serverErrors, "Five or more requests within five minutes failed with 5xx."),
  RefusedRequests: {
    ...atLeast(
      90,
      metrics.refusedPercent,
      "For 15 minutes, nine in ten of 20 or more requests every five minutes were refused with 4xx.",
    ),
    evaluationPeriods: 3,
  },
  // The metric has no dimension for a stack.
  AccountThrottles: {
    ...atLeast(
      1,
      metrics.throttles.functions,
      "Lambda throttled calls of any function of the account in this region, except those that `carrierConcurrency` limits: the account's concurrency was used up.",
    ),
    ...oneOfThree,
  },
  FailedCheckouts: atLeast(
    1,
    metrics.checkouts.failed,
    "A checkout failed because of a fault, not a refusal. The order is still in CART.",
  ),
  LateEvents: atLeast(
    600_000,
    metrics.eventAgeMs,
    "An event has waited for ten minutes or more: the bus does not accept it.",
  ),
  StoppedEvents: {
    ...atLeast(
      1,
      metrics.unreadStream,
      "For 45 minutes, the table was written, but the function that publishes its events did not run.",
    ),
    ...threeOfFour,
  },
});

const ticketsOf = (metrics: Metrics): Alarms => ({
  ReadThrottles: { ...atLeast(1, metrics.throttles.reads, "DynamoDB throttled reads of the table."), ...oneOfThree },
  WriteThrottles: { ...atLeast(1, metrics.throttles.writes, "DynamoDB throttled writes to the table."), ...oneOfThree },
  IndexThrottles: {
    ...atLeast(1, metrics.throttles.indexWrites, "DynamoDB throttled writes to the table's index."),
    ...oneOfThree,
  },
  Conflicts: {
    ...atLeast(
      100,
      metrics.throttles.conflicts,
      "For 15 minutes, a hundred or more writes every five minutes conflicted with another write.",
    ),
    ...threeOfFour,
  },
  SlowRequests: {
    ...atLeast(3000, metrics.latencyP99, "For 15 minutes, one request in a hundred took three seconds or more."),
    evaluationPeriods: 3,
  },
  WaitingCheckouts: {
    ...atLeast(
      1,
      metrics.checkouts.waiting,
      "A checkout waits for its carrier or its scan, and will be an hour old or more when it tries again.",
    ),
    // Longer than the longest wait, so that the alarm does not end between two of them.
    evaluationPeriods: 9,
    datapointsToAlarm: 1,
  },
  TimedOutCheckouts: atLeast(1, metrics.checkouts.timedOut, "A checkout did not end within a week."),
  OverdueCheckouts: atLeast(
    1,
    metrics.overdueCheckouts,
    "A checkout is recorded as running for longer than one can take: the event of its end was lost.",
  ),
  FailedLockReleases: atLeast(
    1,
    metrics.failedLockReleases,
    "The lock of a checkout that ended could not be released.",
  ),
  DeadLetters: atLeast(
    1,
    metrics.deadLetters,
    "An event cannot be read (EVENT_UNREADABLE) or failed on every retry: see the queue of dead letters.",
  ),
  StoppedSweeps: atLeast(
    1,
    metrics.sweeps.stopped,
    "SWEEP_STOPPED: too many of one day's files are not in the table. No file of that day was removed.",
  ),
  UnfinishedSweeps: atLeast(
    1,
    metrics.sweeps.unfinished,
    "A sweep ran out of time. The next one continues where it stopped.",
  ),
  // Lambda retries an event twice.
  FailedSweeps: atLeast(
    3,
    metrics.sweeps.failed,
    "A sweep and both its retries failed: files without metadata accumulate.",
  ),
  MissedSweeps: {
    ...atLeast(1, metrics.sweepsOfEachDay, "No sweep has started for two days: files without metadata accumulate."),
    evaluationPeriods: 2,
    comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
    treatMissingData: cloudwatch.TreatMissingData.BREACHING,
  },
});

/** The resources that alarms and the dashboard monitor. */
type Monitored = Readonly<Record<"release" | "sweep" | "publisher", IFunction>> & {
  readonly rest: RestApi;
  /** The steps that call the carrier. */
  readonly carrierSteps: readonly IFunction[];
  /** The functions that are released step by step. */
  readonly canaries: readonly (readonly IFunction[])[];
  readonly machine: StateMachine;
};

type Metrics = ReturnType<typeof metricsOf>;

const inFiveMinutes = { period: Duration.minutes(5), statistic: cloudwatch.Stats.SUM };
const inFifteenMinutes = { period: Duration.minutes(15), statistic: cloudwatch.Stats.SUM };
const mostInFiveMinutes = { ...inFiveMinutes, statistic: cloudwatch.Stats.MAXIMUM };
const inADay = { period: Duration.days(1), statistic: cloudwatch.Stats.SUM };

type Using = Readonly<Record<string, cloudwatch.IMetric>>;

const metricsOf = (
  { settings, storage: { table }, deadLetters }: Deployment,
  { rest, machine, release, sweep, publisher, carrierSteps, canaries }: Monitored,
) => {
  const { stackName: stack, emulator, carrierConcurrency } = settings;
  /** Not every emulator supports metric math in an alarm, so it has the metric `instead`. */
  const math = (
    expression: string,
    usingMetrics: Using,
    instead: cloudwatch.Metric,
    label: string = instead.metricName,
  ) =>
    emulator ? instead : new cloudwatch.MathExpression({ expression, usingMetrics, period: instead.period, label });
  /**
   * These metrics of DynamoDB have data on incidents only. Alarms on its namespace ignore missing data, whatever is set, so they would
   * stay raised. https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
   */
  const filled = (id: string, metric: cloudwatch.Metric) => math(`FILL(${id}, 0)`, { [id]: metric }, metric);
  const requests = rest.metricCount(inFiveMinutes);
  const callerErrors = rest.metricClientError(inFiveMinutes);
  // All functions share the account's concurrency and are throttled together.
  const throttledCalls = LambdaFunction.metricAllThrottles(inFiveMinutes);
  const limited = carrierSteps.map((step, index) => [`s${index}`, step.metricThrottles(inFiveMinutes)] as const);
  const others = ["FILL(all, 0)", ...limited.map(([id]) => `FILL(${id}, 0)`)].join(" - ");
  return {
    requests,
    // A function that cannot be loaded or is killed logs no defect. An alarm can have ten metrics at most.
    kills: canaries.map((wave) => {
      const usingMetrics = Object.fromEntries(wave.map((one, index) => [`e${index}`, one.metricErrors(inFiveMinutes)]));
      const { period } = inFiveMinutes;
      return new cloudwatch.MathExpression({ expression: "SUM(METRICS())", usingMetrics, period, label: "Killed" });
    }),
    callerErrors,
    // The table is the wrong one, or empty, if every key is refused.
    refusedPercent: math(
      "IF(requests >= 20, 100 * refused / requests, 0)",
      { requests, refused: callerErrors },
      callerErrors,
      "Refused, in percent",
    ),
    defects: logged("Defects", { stack }, inFiveMinutes),
    serverErrors: rest.metricServerError(inFiveMinutes),
    latencyP50: rest.metricLatency({ statistic: cloudwatch.Stats.p(50) }),
    latencyP99: rest.metricLatency({ statistic: cloudwatch.Stats.p(99) }),
    throttles: {
      functions: carrierConcurrency
        ? math(others, { all: throttledCalls, ...Object.fromEntries(limited) }, throttledCalls)
        : throttledCalls,
      reads: filled("reads", table.metric("ReadThrottleEvents", inFiveMinutes)),
      writes: filled("writes", table.metric("WriteThrottleEvents", inFiveMinutes)),
      // The table's own metric does not include its index.
      indexWrites: filled(
        "indexWrites",
        table.metric("WriteThrottleEvents", {
          ...inFiveMinutes,
          dimensionsMap: { TableName: table.tableName, GlobalSecondaryIndexName: lookupIndex },
        }),
      ),
      // Transactions and writes that DynamoDB rejected because another one changed the same item.
      conflicts: filled("conflicts", table.metric("TransactionConflict", inFiveMinutes)),
    },
    checkouts: {
      started: machine.metricStarted(inFiveMinutes),
      succeeded: machine.metricSucceeded(inFiveMinutes),
      // An execution also fails if another run is checking the order out, or if the carrier refuses it.
      failed: logged("FailedCheckouts", { stack }, inFiveMinutes),
      refused: logged("RefusedCheckouts", { stack }, inFiveMinutes),
      waiting: logged("WaitingCheckouts", { stack }, inFifteenMinutes),
      timedOut: machine.metricTimedOut(inFiveMinutes),
    },
    overdueCheckouts: logged("OverdueCheckouts", functionOf(sweep), inADay),
    failedLockReleases: release.metricErrors(inFiveMinutes),
    deadLetters: deadLetters.metricApproximateNumberOfMessagesVisible(mostInFiveMinutes),
    // Has no data while nothing is read, which is also the case without changes.
    eventAgeMs: publisher.metric("IteratorAge", mostInFiveMinutes),
    // Three changes write 20 units, and each has an event. A sweep writes without events, but for no longer than 15 minutes.
    unreadStream: math(
      "IF(FILL(units, 0) >= 20 AND FILL(runs, 0) == 0, 1, 0)",
      {
        units: table.metricConsumedWriteCapacityUnits(inFifteenMinutes),
        runs: publisher.metricInvocations(inFifteenMinutes),
      },
      publisher.metricErrors(inFifteenMinutes),
      "Writes without events",
    ),
    sweeps: {
      started: sweep.metricInvocations(inADay),
      failed: sweep.metricErrors(inADay),
      unfinished: logged("SweepsUnfinished", functionOf(sweep), inADay),
      stopped: logged("SweepsStopped", functionOf(sweep), inADay),
    },
    // Without FILL, an alarm skips days without data, and looks at older ones instead.
    sweepsOfEachDay: filled("sweeps", sweep.metricInvocations(inADay)),
  };
};

/** A metric that the functions log, in shared/log.ts, shared/checkout/metrics.ts and functions/sweep-orphan-files.ts. */
const logged = (metricName: string, dimensionsMap: Record<string, string>, over: typeof inADay) =>
  new cloudwatch.Metric({ namespace: "Patchbay", metricName, dimensionsMap, ...over });

/** The name of the function, and not that of its alias. */
const functionOf = (alias: IFunction) => ({ FunctionName: alias.metricErrors().dimensions?.FunctionName });

const addDashboard = (scope: Construct, dashboardName: string, metrics: Metrics, alarms: cloudwatch.Alarm[]) => {
  const { requests, callerErrors, serverErrors, defects, latencyP50, latencyP99, failedLockReleases, deadLetters } =
    metrics;
  const rows = [
    [new cloudwatch.AlarmStatusWidget({ title: "Alarms", alarms, width: 24 })],
    [
      graph("Requests per 5 minutes", requests, callerErrors, serverErrors, defects),
      graph("Latency in ms", latencyP50, latencyP99),
    ],
    [
      graph("Checkouts per 5 minutes", ...Object.values(metrics.checkouts)),
      graph("Throttled calls and conflicts per 5 minutes", ...Object.values(metrics.throttles)),
    ],
    [
      // The metric has no dimension for a stack.
      graph("Mean ms by route, all stages of the account", mean("route")),
      graph("Mean ms by step, all stages of the account", mean("step")),
    ],
    [
      graph("Sweeps per day", ...Object.values(metrics.sweeps)),
      graph("Events that failed per 5 minutes", failedLockReleases, deadLetters),
    ],
    [graph("Counts of the functions per day", search("{Patchbay,FunctionName}", "Sum", 86_400))],
  ];
  new cloudwatch.Dashboard(scope, "Dashboard", { dashboardName, widgets: rows });
};

const graph = (title: string, ...left: cloudwatch.IMetric[]) =>
  new cloudwatch.GraphWidget({ title, left, width: 12, leftYAxis: { min: 0, showUnits: false } });

const mean = (name: string) => search(`{Patchbay,${name}} ms`, "Average", 300);

/** Metrics that the functions log in CloudWatch's embedded metric format, each with its dimension. */
const search = (metrics: string, statistic: "Average" | "Sum", seconds: number) => {
  const expression = `SEARCH('${metrics}', '${statistic}', ${seconds})`;
  return new cloudwatch.MathExpression({ expression, usingMetrics: {}, label: "" });
};
