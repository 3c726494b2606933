/**
 * Counts, as CloudWatch reads them from a line of a log: the embedded metric format, in the namespace Patchbay.
 * Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
export const emitCounts = (counts: Readonly<Record<string, number>>, now: Date): void => {
  const Metrics = Object.keys(counts).map((Name) => ({ Name, Unit: "Count" }));
  const CloudWatchMetrics = [{ Namespace: "Patchbay", Dimensions: [[]], Metrics }];
  // Not by console: Lambda would wrap its lines, and CloudWatch looks for _aws at the root.
  process.stdout.write(`${JSON.stringify({ _aws: { Timestamp: now.getTime(), CloudWatchMetrics }, ...counts })}\n`);
};
