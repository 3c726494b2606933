import { Duration } from "aws-cdk-lib";
import type { RestApi } from "aws-cdk-lib/aws-apigateway";
import { Metric, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { StateMachine } from "aws-cdk-lib/aws-stepfunctions";
import type { StoredTable } from "./storage.ts";

/** The resources that alarms and the dashboard monitor. */
export type Monitored = {
  readonly rest: RestApi;
  readonly table: StoredTable;
  readonly machine: StateMachine;
  readonly sweep: LambdaFunction;
};

export type Metrics = ReturnType<typeof metricsOf>;

const inFiveMinutes = { period: Duration.minutes(5), statistic: Stats.SUM };
const inADay = { period: Duration.days(1), statistic: Stats.SUM };

/** Contains no metric math, which not every emulator supports in an alarm. */
export const metricsOf = ({ rest, table, machine, sweep }: Monitored) => ({
  requests: rest.metricCount(inFiveMinutes),
  callerErrors: rest.metricClientError(inFiveMinutes),
  serverErrors: rest.metricServerError(inFiveMinutes),
  latencyP50: rest.metricLatency({ statistic: Stats.p(50) }),
  latencyP99: rest.metricLatency({ statistic: Stats.p(99) }),
  // All functions share the account's concurrency and are throttled together.
  functionThrottles: LambdaFunction.metricAllThrottles(inFiveMinutes),
  readThrottles: table.metric("ReadThrottleEvents", inFiveMinutes),
  writeThrottles: table.metric("WriteThrottleEvents", inFiveMinutes),
  // Transactions and writes that DynamoDB rejected because another one changed the same item.
  conflicts: table.metric("TransactionConflict", inFiveMinutes),
  startedCheckouts: machine.metricStarted(inFiveMinutes),
  succeededCheckouts: machine.metricSucceeded(inFiveMinutes),
  failedCheckouts: machine.metricFailed(inFiveMinutes),
  timedOutCheckouts: machine.metricTimedOut(inFiveMinutes),
  sweeps: {
    started: sweep.metricInvocations(inADay),
    failed: sweep.metricErrors(inADay),
    unfinished: sweepCount("SweepsUnfinished", sweep),
    stopped: sweepCount("SweepsStopped", sweep),
  },
});

/** A metric that `functions/sweep-orphan-files.ts` logs. */
const sweepCount = (metricName: string, { functionName }: LambdaFunction) =>
  new Metric({ namespace: "Patchbay", metricName, dimensionsMap: { FunctionName: functionName }, ...inADay });
