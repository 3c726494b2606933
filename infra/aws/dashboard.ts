import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  MathExpression,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import type { Metrics } from "./metrics.ts";

const graph = (title: string, left: IMetric[], unit: string) =>
  new GraphWidget({ title, left, width: 12, leftYAxis: { min: 0, label: unit, showUnits: false } });

/** All of the service on one page: what is wrong, then requests, speed, throttling, checkouts and sweeps. */
export const addDashboard = (scope: Construct, dashboardName: string, metrics: Metrics, alarms: Alarm[]): Dashboard =>
  new Dashboard(scope, "Dashboard", {
    dashboardName,
    widgets: [
      [new AlarmStatusWidget({ title: "Alarms", alarms, width: 24 })],
      [
        graph("Requests", [metrics.requests, metrics.callerErrors, metrics.serverErrors], "per 5 minutes"),
        graph("Latency", [metrics.latencyP50, metrics.latencyP99], "ms"),
      ],
      [
        graph(
          "Checkouts",
          [metrics.startedCheckouts, metrics.succeededCheckouts, metrics.failedCheckouts],
          "per 5 minutes",
        ),
        graph("Throttled", [metrics.functionThrottles, metrics.tableThrottles], "per 5 minutes"),
      ],
      [
        graph("Sweeps that ended well", metrics.sweepsDone ? [metrics.sweepsDone] : [], "per day"),
        graph("Own metrics", [ownMetrics()], "per 5 minutes"),
      ],
    ],
  });

/** Whatever the functions write in CloudWatch's embedded metric format. */
const ownMetrics = () =>
  new MathExpression({ expression: `SEARCH('Namespace="Patchbay"', 'Sum', 300)`, usingMetrics: {}, label: "" });
