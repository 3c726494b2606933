/**
 * Metrics as CloudWatch reads them from a line of a log: the embedded metric format, in the namespace Patchbay.
 * Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
type Unit = "Count" | "Milliseconds";

/** Makes properties of a log line metrics, by their names: `dimension` is the property that tells them apart, if any. */
export const embedded = (units: Readonly<Record<string, Unit>>, now: Date, dimension?: string) => {
  const Metrics = Object.entries(units).map(([Name, Unit]) => ({ Name, Unit }));
  const CloudWatchMetrics = [{ Namespace: "Patchbay", Dimensions: [dimension ? [dimension] : []], Metrics }];
  return { _aws: { Timestamp: now.getTime(), CloudWatchMetrics } };
};

/** Writes counts as a line of their own. */
export const emitCounts = (counts: Readonly<Record<string, number>>, now: Date): void => {
  const units = Object.fromEntries(Object.keys(counts).map((name) => [name, "Count"] as const));
  // Not by console: Lambda would wrap its lines, and CloudWatch looks for _aws at the root.
  process.stdout.write(`${JSON.stringify({ ...embedded(units, now), ...counts })}\n`);
};
