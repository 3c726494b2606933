import { Duration } from "aws-cdk-lib";
import type { RestApi } from "aws-cdk-lib/aws-apigateway";
import { type IMetric, MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { Operation, type Table } from "aws-cdk-lib/aws-dynamodb";
import { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { StateMachine } from "aws-cdk-lib/aws-stepfunctions";

/** What alarms and dashboard look at. */
export type Watched = {
  readonly rest: RestApi;
  readonly table: Table;
  readonly machine: StateMachine;
  readonly sweep: LambdaFunction | undefined;
};

export type Metrics = ReturnType<typeof metricsOf>;

const sum = { period: Duration.minutes(5), statistic: Stats.SUM };

export const metricsOf = ({ rest, table, machine, sweep }: Watched) => ({
  requests: rest.metricCount({ ...sum, label: "requests" }),
  callerErrors: rest.metricClientError({ ...sum, label: "4xx" }),
  serverErrors: rest.metricServerError({ ...sum, label: "5xx" }),
  latencyP50: rest.metricLatency({ statistic: Stats.p(50), label: "p50" }),
  latencyP99: rest.metricLatency({ statistic: Stats.p(99), label: "p99" }),
  // Functions share the account's concurrency: whoever uses it up, all are turned away.
  functionThrottles: LambdaFunction.metricAllThrottles({ ...sum, label: "functions" }),
  tableThrottles: tableThrottles(table),
  startedCheckouts: machine.metricStarted({ ...sum, label: "started" }),
  succeededCheckouts: machine.metricSucceeded({ ...sum, label: "succeeded" }),
  failedCheckouts: failedCheckouts(machine),
  sweepsDone: sweep && sweepsDone(sweep),
});

/** All operations that the routes and steps use, transactions included. */
const tableThrottles = (table: Table): IMetric =>
  table.metricThrottledRequestsForOperations({
    operations: [
      Operation.GET_ITEM,
      Operation.BATCH_GET_ITEM,
      Operation.QUERY,
      Operation.PUT_ITEM,
      Operation.UPDATE_ITEM,
      Operation.DELETE_ITEM,
      Operation.TRANSACT_WRITE_ITEMS,
    ],
    ...sum,
    label: "table",
  });

const failedCheckouts = (machine: StateMachine): IMetric =>
  new MathExpression({
    expression: "failed + timed_out + stopped",
    usingMetrics: {
      failed: machine.metricFailed(sum),
      timed_out: machine.metricTimedOut(sum),
      stopped: machine.metricAborted(sum),
    },
    period: sum.period,
    label: "failed",
  });

/** How many sweeps of a day ended without an error. */
const sweepsDone = (sweep: LambdaFunction): IMetric => {
  const day = { period: Duration.days(1), statistic: Stats.SUM };
  return new MathExpression({
    expression: "runs - errors",
    usingMetrics: { runs: sweep.metricInvocations(day), errors: sweep.metricErrors(day) },
    period: day.period,
    label: "sweeps",
  });
};
