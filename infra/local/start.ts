import { join } from "node:path";
import { setLogOutput } from "../../shared/log.ts";
import type { Prefill } from "../openapi/reference.ts";
import { fail } from "./command.ts";
import { type Data, openData } from "./data.ts";
import { createDemo, type Demo, prefillOf, variablesOf } from "./demo.ts";
import { examples } from "./examples.ts";
import { temporaryFolder } from "./json-file.ts";
import type { Receiver } from "./local-bus.ts";
import { onParentExit } from "./parent-process.ts";
import { type StackChoices, startStack } from "./stack.ts";
import { removeState, writeState } from "./state.ts";
import { terminal } from "./terminal.ts";

/** Serves the console, which this folder may not import, because it uses the CLI. `options` direct commands to what it shows. */
export type OpenConsole = (
  description: string,
  options: string,
  port: number,
) => Promise<{ readonly url: string; readonly close: () => Promise<void> }>;

type StartOptions = StackChoices & {
  readonly openConsole: OpenConsole;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly data: string | undefined;
  readonly postTo: Receiver | undefined;
  /** The wait is in seconds. */
  readonly maxWait: string | undefined;
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

const demoOf = async (data: Data | undefined): Promise<Demo> => {
  const stored = data?.readDemo();
  if (stored) return stored;
  const demo = await createDemo();
  data?.saveDemo(demo);
  return demo;
};

export const start = async (chosen: StartOptions): Promise<void> => {
  const { quiet, verbose, data: folder, postTo, maxWait, openConsole, ...options } = chosen;
  onParentExit(() => process.kill(process.pid, "SIGTERM"));
  // Other users of this machine must not read the files that this process and the embedded services write.
  process.umask(0o077);
  // The stack of an error often has more than ten frames of the SDK before the first one of this project.
  Error.stackTraceLimit = 50;
  const names = new Map<string, string>();
  const lines = terminal({ quiet, verbose, nameOf: (apiKey = "") => names.get(apiKey) });
  // If LOG_LEVEL is set, the log is lines of JSON, as on AWS.
  if (process.env.LOG_LEVEL === undefined) setLogOutput(lines.log);
  const data = folder === undefined ? undefined : openData(folder);
  process.once("exit", () => data?.close());
  let prefill: Prefill | undefined;
  const stack = await startStack({
    ...options,
    lines,
    prefill: () => prefill,
    data: data ?? { table: join(temporaryFolder(), "table.db") },
    bus: { file: data?.events, postTo, onEvent: lines.event, warn: lines.warning },
    // On AWS, the wait before a retry grows to minutes. That is too long at a terminal.
    variables: { CARRIER_MAX_WAIT_SECONDS: maxWait ?? process.env.CARRIER_MAX_WAIT_SECONDS ?? "2" },
    onEnd: fail,
  });
  const { url, environment, replacedPorts, consolePort } = stack;
  if (replacedPorts.length > 0)
    lines.warning(`In use: ${replacedPorts.join(", ")}. Until the next start, other ports are used.`);
  const commandOptions = options.port === 3000 ? "" : `--port ${stack.port} `;
  const opened = await openConsole(`local stack at ${url}`, commandOptions, consolePort);
  stopOnSignal(async () => {
    await opened.close();
    await stack.stop();
  });
  // The local stack has no scheduled sweep. When an operator starts one, it includes all files since the stack's first start.
  const { rememberFirstDay } = await import("../../shared/attachments/sweep.ts");
  await rememberFirstDay(new Date());
  const demo = await demoOf(data);
  prefill = prefillOf(demo);
  names.set(demo.key, "acme").set(demo.subAccountKey, "east");
  const startedAt = new Date().toISOString();
  writeState({ url, port: stack.port, environment, demo: variablesOf(demo), pid: process.pid, startedAt });
  process.once("exit", () => removeState(stack.port));
  console.log(`carrier ${environment.CARRIER_URL}`);
  console.log(`events ${environment.EVENTS}`);
  console.log(`lambda ${environment.AWS_ENDPOINT_URL_LAMBDA}`);
  console.log(`workflow ${environment.AWS_ENDPOINT_URL_SFN}`);
  console.log(`table ${environment.AWS_ENDPOINT_URL_DYNAMODB}`);
  console.log(`files ${environment.AWS_ENDPOINT_URL_S3}`);
  console.log(`console ${opened.url}`);
  console.log(`ready ${url}`);
  console.log(examples(url, demo));
};
