import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  MathExpression,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import type { Metrics } from "./metrics.ts";

/** Shows alarms, requests, latency, checkouts, throttling and sweeps on one page. */
export const addDashboard = (scope: Construct, dashboardName: string, metrics: Metrics, alarms: Alarm[]): Dashboard =>
  new Dashboard(scope, "Dashboard", {
    dashboardName,
    widgets: [[new AlarmStatusWidget({ title: "Alarms", alarms, width: 24 })], ...graphs(metrics)],
  });

const graphs = (metrics: Metrics): IWidget[][] => [
  [
    graph("Requests per 5 minutes", [metrics.requests, metrics.callerErrors, metrics.serverErrors]),
    graph("Latency in ms", [metrics.latencyP50, metrics.latencyP99]),
  ],
  [
    graph("Checkouts per 5 minutes", [
      metrics.startedCheckouts,
      metrics.succeededCheckouts,
      metrics.failedCheckouts,
      metrics.timedOutCheckouts,
    ]),
    graph("Throttled calls and conflicts per 5 minutes", [
      metrics.functionThrottles,
      metrics.readThrottles,
      metrics.writeThrottles,
      metrics.conflicts,
    ]),
  ],
  [graph("Sweeps per day", Object.values(metrics.sweeps)), graph("Custom metrics per 5 minutes", [customMetrics()])],
];

const graph = (title: string, left: IMetric[]) =>
  new GraphWidget({ title, left, width: 12, leftYAxis: { min: 0, showUnits: false } });

/** The metrics that the functions log in CloudWatch's embedded metric format. */
const customMetrics = () =>
  new MathExpression({ expression: `SEARCH('Namespace="Patchbay"', 'Sum', 300)`, usingMetrics: {}, label: "" });
