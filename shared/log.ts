import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { env, logLevels } from "./env.ts";
import { isDefect } from "./errors.ts";

/**
 * Structured logs, with one line of JSON for each request or step. CloudWatch also reads metrics from it. A line contains only the
 * fields that are passed, so never pass an event, a body or an API key. Lines bypass `console`, which Lambda wraps. A logging
 * library would add 2 ms to each cold start.
 */
type Fields = Readonly<Record<string, unknown>>;

/** An error of a call to AWS. `call` names it, such as `dynamodb TransactWriteItems`. `attempts` is how often it was sent. */
type FailedCall = Error & { readonly call?: unknown; readonly attempts?: unknown };

const serializeError = ({ name, message, call, attempts, stack, cause }: FailedCall): Fields => ({
  name,
  message,
  ...(typeof call === "string" && { call }),
  ...(typeof attempts === "number" && { attempts }),
  ...(stack && { stack: readableStack(stack) }),
  ...(cause instanceof Error && { cause: serializeError(cause) }),
});

let print = (line: Fields): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

export const setLogOutput = (output: (line: Fields) => void): void => {
  print = output;
};

type Unit = "Count" | "Milliseconds";

/** The units of the metrics in a line, by the property that separates their values. */
type Metrics = Readonly<Record<string, Readonly<Record<string, Unit>>>>;

/**
 * Declares properties of a log line as metrics of the same names in the namespace Patchbay.
 * Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
const embeddedMetrics = (metrics: Metrics, now: Date) => {
  const CloudWatchMetrics = Object.entries(metrics).map(([dimension, units]) => ({
    Namespace: "Patchbay",
    Dimensions: [[dimension]],
    Metrics: Object.entries(units).map(([Name, Unit]) => ({ Name, Unit })),
  }));
  return { _aws: { Timestamp: now.getTime(), CloudWatchMetrics } };
};

const write = (level: (typeof logLevels)[number], message: string, fields: Fields, metrics: Metrics = {}): void => {
  if (logLevels.indexOf(level) < logLevels.indexOf(env.logLevel())) return;
  const [now, trace] = [new Date(), env.traceId()];
  const line = { level, message, timestamp: now.toISOString(), service: "patchbay", ...fields };
  const error = fields.error instanceof Error && { error: serializeError(fields.error) };
  const measured = Object.keys(metrics).length > 0 && embeddedMetrics(metrics, now);
  print({ ...line, ...error, ...(trace && { xray_trace_id: trace }), ...measured });
};

const report = (message: string, fields: Fields, metrics?: Metrics): void => write("ERROR", message, fields, metrics);

export const log = {
  info: (message: string, fields: Fields, metrics?: Metrics): void => write("INFO", message, fields, metrics),
  error: report,
  /**
   * Logs a failure. `isOwn` says that neither a caller nor an unavailable service has caused it. Such a failure counts in the
   * metric `Defects`, by which infra/aws rolls a deployment back. The stack's name separates the stacks of an account.
   */
  failure: (message: string, fields: Fields, { isOwn, metrics }: { isOwn: boolean; metrics?: Metrics }): void =>
    isOwn
      ? report(message, { ...fields, stack: env.stackName(), Defects: 1 }, { ...metrics, stack: { Defects: "Count" } })
      : report(message, fields, metrics),
};

/** Logs and rethrows the errors of a function that is invoked asynchronously, so that its invoker retries. */
export const loggingFailures =
  <A extends readonly unknown[], R>(name: string, handle: (...args: A) => Promise<R>) =>
  async (...args: A): Promise<R> => {
    try {
      return await handle(...args);
    } catch (error) {
      log.failure(name, { error }, { isOwn: isDefect(error) });
      throw error;
    }
  };

/** Writes a line that contains only counts, as metrics of the function that has this name. */
export const emitCounts = (counts: Readonly<Record<string, number>>, now: Date, functionName: string): void => {
  const units = Object.fromEntries(Object.keys(counts).map((name) => [name, "Count"] as const));
  const line = { ...embeddedMetrics({ FunctionName: units }, now), FunctionName: functionName, ...counts };
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

let map: SourceMap | undefined;

const bundleMap = (): SourceMap | undefined => {
  const file = `${import.meta.filename}.map`;
  if (!map && existsSync(file)) map = new SourceMap(JSON.parse(readFileSync(file, "utf8")));
  return map;
};

/**
 * Maps the locations in a bundle's stack trace to the repository's files. The source map is read when the first error is
 * logged. Node's --enable-source-maps would read it in every cold start, which takes 5 to 10 ms.
 */
const readableStack = (stack: string): string =>
  stack.replaceAll(/(file:\/\/[^\s():]+):(\d+):(\d+)/g, (place, url, line, column) => {
    if (url !== import.meta.url) return place;
    const origin = bundleMap()?.findOrigin(Number(line), Number(column));
    if (!origin || !("fileName" in origin)) return place;
    const { fileName, lineNumber, columnNumber } = origin;
    const start = Math.max(fileName.lastIndexOf("functions/"), fileName.lastIndexOf("shared/"));
    return start < 0 ? place : `${fileName.slice(start)}:${lineNumber}:${columnNumber}`;
  });
