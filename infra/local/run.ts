import { parseArgs } from "node:util";
import { setLogOutput } from "../../shared/log.ts";
import { type Data, openData } from "./data.ts";
import { type Demo, makeDemo, prefillOf, variablesOf } from "./demo.ts";
import type { Prefill } from "./docs.ts";
import { examples } from "./examples.ts";
import { onParentEnd } from "./parent.ts";
import { startStack } from "./stack.ts";
import { removeState, writeState } from "./state.ts";
import { terminal } from "./terminal.ts";

/** `npm start`: the whole service on this machine, one process to stop. */

const help = `Usage: npm start -- [options]

Runs Patchbay on this machine: gateway, functions, an embedded DynamoDB and S3, and a stand-in carrier.

  --port <port>  the API's port (default: the environment's PORT, or 3000; 0 for any free port)
  --data <dir>   keep the data there between runs (default: in memory, gone at the end)
  --throttle <n> respond with 429 to more than n requests a second, as a stage on AWS does (default: no limit)
  --quiet        print only what fails on this side (5xx)
  --verbose      print request ids, every fault of a request, and whole stacks too
  --help         show this

Environment: AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_S3 take the place of the embedded ones.`;

const options = () => {
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
    throw new Error(`--throttle must be a whole number of requests a second, not ${values.throttle}.`);
  const rate = values.throttle === undefined ? undefined : Number(values.throttle);
  // A stage on AWS lets twice as many through at once.
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

/** The demo that is kept with the data, else a new one. */
const demoOf = async (data: Data | undefined): Promise<Demo> => {
  const kept = data?.readDemo();
  if (kept) return kept;
  const demo = await makeDemo();
  data?.keepDemo(demo);
  return demo;
};

const start = async () => {
  const { port, throttle, quiet, verbose, data: folder, help: asksForHelp } = options();
  if (asksForHelp) return console.log(help);
  onParentEnd(() => process.kill(process.pid, "SIGTERM"));
  // No other user of this machine may read what this process and the embedded parts write.
  process.umask(0o077);
  // The place in this project that an error comes from is often behind ten frames of the SDK.
  Error.stackTraceLimit = 50;
  const names = new Map<string, string>();
  const lines = terminal({ quiet, verbose, nameOf: (key = "") => names.get(key) });
  // With LOG_LEVEL, the log is as on AWS: lines of JSON.
  if (process.env.LOG_LEVEL === undefined) {
    process.env.LOG_LEVEL = "INFO";
    setLogOutput(lines.log);
  }
  // People at a terminal do not wait for minutes until an unavailable carrier is called again.
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

/** One line that says what to do, and nothing left running. */
const fail = (error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE" && "port" in error;
  console.error(taken ? `Port ${error.port} is taken: set PORT to another, or to 0 for any free one.` : message);
  process.exit(1);
};

start().catch(fail);
