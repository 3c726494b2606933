import { parseArgs } from "node:util";
import { setLogOutput } from "../../shared/log.ts";
import { type Data, openData } from "./data.ts";
import { createDemo, type Demo, prefillOf, variablesOf } from "./demo.ts";
import type { Prefill } from "./docs.ts";
import { examples } from "./examples.ts";
import { requireSeparator } from "./npm-options.ts";
import { onParentExit } from "./parent-process.ts";
import { startStack } from "./stack.ts";
import { removeState, writeState } from "./state.ts";
import { terminal } from "./terminal.ts";

/** `npm start`: runs the whole service on this machine. */

const help = `Usage: npm start -- [options]

Runs Patchbay on this machine: gateway, functions, an embedded DynamoDB and S3, and a stand-in carrier.

  --port <port>  the API's port (default: the environment's PORT, or 3000; 0 for any free port)
  --data <dir>   store the data in this folder (default: in memory, lost when the service stops)
  --throttle <n> respond with 429 to more than n requests per second, like a stage on AWS (default: no limit)
  --quiet        of the requests, print server errors (5xx) only
  --verbose      also print request ids, all errors of a request, and full stack traces
  --help         print this help

Environment: AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_S3 replace the embedded DynamoDB and S3.`;

const options = () => {
  requireSeparator("start", ["port", "data", "throttle"]);
  const { values } = parseArgs({
    options: {
      port: { type: "string" },
      data: { type: "string" },
      throttle: { type: "string" },
      quiet: { type: "boolean", default: false },
      verbose: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const port = values.port ?? process.env.PORT ?? "3000";
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new Error(`The port must be a number from 0 to 65535, not ${port}.`);
  if (values.throttle !== undefined && !/^[1-9]\d{0,5}$/.test(values.throttle))
    throw new Error(`--throttle must be a whole number of requests per second, not ${values.throttle}.`);
  const rate = values.throttle === undefined ? undefined : Number(values.throttle);
  // As in the settings of the stages on AWS.
  return { ...values, port: Number(port), throttle: rate === undefined ? undefined : { rate, burst: 2 * rate } };
};

const stopOnSignal = (stop: () => Promise<void>) => {
  let stopping = false;
  const onSignal = () => {
    if (stopping) process.exit(130);
    stopping = true;
    stop().then(() => process.exit(0), fail);
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
};

/** The demo stored with the data, or a new one. */
const demoOf = async (data: Data | undefined): Promise<Demo> => {
  const stored = data?.readDemo();
  if (stored) return stored;
  const demo = await createDemo();
  data?.saveDemo(demo);
  return demo;
};

const start = async () => {
  const { port, throttle, quiet, verbose, data: folder, help: asksForHelp } = options();
  if (asksForHelp) return console.log(help);
  onParentExit(() => process.kill(process.pid, "SIGTERM"));
  // Other users of this machine must not read the files that this process and the embedded services write.
  process.umask(0o077);
  // The stack of an error often has more than ten frames of the SDK before the first one of this project.
  Error.stackTraceLimit = 50;
  const names = new Map<string, string>();
  const lines = terminal({ quiet, verbose, nameOf: (apiKey = "") => names.get(apiKey) });
  // If LOG_LEVEL is set, the log is lines of JSON, as on AWS.
  if (process.env.LOG_LEVEL === undefined) {
    process.env.LOG_LEVEL = "INFO";
    setLogOutput(lines.log);
  }
  // On AWS, the wait before a retry grows to minutes. That is too long at a terminal.
  process.env.CARRIER_LONGEST_WAIT_SECONDS ??= "2";
  const data = folder === undefined ? undefined : openData(folder);
  process.once("exit", () => data?.close());
  let prefill: Prefill | undefined;
  const stack = await startStack({
    port,
    throttle,
    onRequest: lines.request,
    onCarrierCall: lines.carrierCall,
    prefill: () => prefill,
    data,
    onEnd: fail,
  });
  process.once("exit", () => removeState(stack.port));
  stopOnSignal(stack.stop);
  const demo = await demoOf(data);
  prefill = prefillOf(demo);
  names.set(demo.key, "acme").set(demo.subAccountKey, "east");
  const { url, environment } = stack;
  const startedAt = new Date().toISOString();
  writeState({ url, port: stack.port, environment, demo: variablesOf(demo), pid: process.pid, startedAt });
  console.log(`carrier ${environment.CARRIER_URL}`);
  console.log(`ready ${stack.url}`);
  console.log(examples(stack.url, demo));
};

const explain = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  if (code === "EADDRINUSE" && "port" in error)
    return `Port ${error.port} is in use: set PORT to another port, or to 0 for any free port.`;
  return code.startsWith("ERR_PARSE_ARGS_") ? `${error.message}\n\n${help}` : error.message;
};

/** Prints the error and exits. The embedded services stop with this process. */
const fail = (error: unknown) => {
  console.error(explain(error));
  process.exit(1);
};

start().catch(fail);
