import { env, logLevels } from "./env.ts";
import { readableStack } from "./readable-stack.ts";

/**
 * Structured logs: a line of JSON for each request or step. What it is given is all it prints: never hand it an event, a
 * body or a key. Written past console, which Lambda wraps; a logging library would cost each cold start 2 ms.
 */
type Fields = Readonly<Record<string, unknown>>;

/** An error as it is told to operators, with what caused it. */
const told = ({ name, message, stack, cause }: Error): Fields => ({
  name,
  message,
  ...(stack && { stack: readableStack(stack) }),
  ...(cause instanceof Error && { cause: told(cause) }),
});

let print = (line: Fields): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

/** Hands the lines to `other` from now on, instead of writing them to stdout. */
export const printWith = (other: (line: Fields) => void): void => {
  print = other;
};

const write = (level: (typeof logLevels)[number], message: string, fields: Fields): void => {
  if (logLevels.indexOf(level) < logLevels.indexOf(env.logLevel())) return;
  const trace = env.traceId();
  const line = { level, message, timestamp: new Date().toISOString(), service: "patchbay", ...fields };
  const error = fields.error instanceof Error && { error: told(fields.error) };
  print({ ...line, ...error, ...(trace && { xray_trace_id: trace }) });
};

export const log = {
  info: (message: string, fields: Fields): void => write("INFO", message, fields),
  error: (message: string, fields: Fields): void => write("ERROR", message, fields),
};
