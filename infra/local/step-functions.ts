import { randomUUID } from "node:crypto";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import type { Step } from "../../shared/checkout/steps.ts";
import { sendReply, serveLocally } from "./listen.ts";
import { beginning, errorNamed, type Position, runMachine, type World } from "./state-machine.ts";

/** Runs executions of the checkout's workflow, and serves Step Functions to the SDK. */

export type StepHandler = (state: unknown) => Promise<object>;

export type WorkflowOptions = {
  readonly load: (name: Step["name"]) => StepHandler | undefined;
  /** Overrides the duration of every wait state, and the interval before each retry of a task. */
  readonly pauseMs?: number;
  readonly onState?: (at: Position) => void;
};

/** Payloads go to and from a Lambda function as JSON. */
const throughJson = (value: unknown) => JSON.parse(JSON.stringify(value));

/** The part of an execution's state that DescribeExecution returns. */
type State = Readonly<{ status: "RUNNING" | "SUCCEEDED" | "FAILED" } & Partial<Record<string, unknown>>>;

type Execution = ReturnType<typeof run>;

const run = (name: string, input: string, { load, pauseMs, onState }: WorkflowOptions) => {
  let state: State = { status: "RUNNING" };
  const stopped = new AbortController();
  const { signal } = stopped;
  const invoke: World["invoke"] = async (_, step, payload, seconds) => {
    const handler = load(step.name);
    if (!handler) throw new Error(`There is no function for the step ${step.name}.`);
    const over = new AbortController();
    const timeout = sleep(seconds * 1000, undefined, { signal: over.signal }).then(() => {
      throw errorNamed("States.Timeout");
    });
    const work = handler(throughJson(payload)).then(throughJson);
    return Promise.race([work, timeout]).finally(() => over.abort());
  };
  const running = runMachine(beginning(JSON.parse(input)), {
    context: { Execution: { Name: name, StartTime: new Date().toISOString() } },
    invoke,
    pause: (ms) => sleep(pauseMs ?? ms, undefined, { signal }),
    random: Math.random,
    onState: (at) => {
      signal.throwIfAborted();
      onState?.(at);
    },
  });
  const end = (last: State) => {
    state = { ...last, stopDate: seconds() };
    return state;
  };
  const ended = running.then(
    (output) => end({ status: "SUCCEEDED", output: JSON.stringify(output) }),
    (failure: Error) => end({ status: "FAILED", error: failure.name, cause: failure.message }),
  );
  return { input, startDate: seconds(), state: () => state, ended, abort: () => stopped.abort() };
};

/** The current time in the format of AWS JSON. */
const seconds = () => Date.now() / 1_000;

/** Runs executions of the workflow with the functions of the steps. As in Step Functions, a name can be used only once. */
export const startWorkflow = (options: WorkflowOptions) => {
  const executions = new Map<string, Execution>();
  return {
    /** The executions by name, in the order in which they started. */
    executions,
    /** Starts an execution, or returns a running one with the same name and input. Returns undefined if the name is already used. */
    start: (name: string, input: string): Execution | undefined => {
      const existing = executions.get(name);
      if (existing) return existing.state().status === "RUNNING" && existing.input === input ? existing : undefined;
      const execution = run(name, input, options);
      executions.set(name, execution);
      return execution;
    },
    stop: () => {
      for (const { state, abort } of executions.values()) if (state().status === "RUNNING") abort();
    },
  };
};

/**
 * The part of Step Functions that the SDK needs.
 * Source: https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html
 */
const arnPrefix = "arn:aws:states:us-east-1:000000000000";
const stateMachineArn = `${arnPrefix}:stateMachine:checkout`;
const arnOf = (name: string) => `${arnPrefix}:execution:checkout:${name}`;
const nameOf = (arn: string) => arn.slice(arn.lastIndexOf(":") + 1);

const Start = z.object({
  stateMachineArn: z.literal(stateMachineArn),
  name: z.optional(z.string()),
  input: z._default(z.string(), "{}"),
});
const Listed = z.object({ statusFilter: z.optional(z.string()), maxResults: z._default(z.int(), 100) });
const OfExecution = z.object({ executionArn: z.string() });

/** Errors that the SDK identifies by name. All others are ValidationExceptions. */
const known = ["ExecutionAlreadyExists", "ExecutionDoesNotExist"] as const;
const serviceError = (name: (typeof known)[number], message: string) => Object.assign(new Error(message), { name });

const summary = (name: string, { startDate, state }: Execution) => ({
  executionArn: arnOf(name),
  stateMachineArn,
  name,
  startDate,
  ...state(),
});

type Action = (body: unknown) => object | Promise<object>;

const actionsOf = (runner: ReturnType<typeof startWorkflow>) => {
  const actions: Readonly<Record<string, Action>> = {
    StartExecution: (body) => {
      const { name = randomUUID(), input } = z.parse(Start, body);
      const execution = runner.start(name, input);
      if (!execution) throw serviceError("ExecutionAlreadyExists", `An execution ${name} already exists.`);
      return { executionArn: arnOf(name), startDate: execution.startDate };
    },
    ListExecutions: (body) => {
      const { statusFilter, maxResults } = z.parse(Listed, body);
      const all = [...runner.executions].toReversed().map(([name, execution]) => summary(name, execution));
      const matching = all.filter(({ status }) => statusFilter === undefined || status === statusFilter);
      return { executions: matching.slice(0, maxResults) };
    },
    DescribeExecution: (body) => {
      const name = nameOf(z.parse(OfExecution, body).executionArn);
      const execution = runner.executions.get(name);
      if (!execution) throw serviceError("ExecutionDoesNotExist", "There is no such execution.");
      return { ...summary(name, execution), input: execution.input, redriveCount: 0 };
    },
  };
  return new Map(Object.entries(actions));
};

export const startStepFunctions = async (options: WorkflowOptions, port = 0) => {
  const runner = startWorkflow(options);
  const actions = actionsOf(runner);
  const { url, close } = await serveLocally(async (request, response) => {
    const send = (status: number, body: object) =>
      sendReply(response, { status, headers: { "content-type": "application/x-amz-json-1.0" }, body });
    const name = String(request.headers["x-amz-target"]).replace("AWSStepFunctions.", "");
    try {
      const action = actions.get(name);
      if (!action) throw new Error(`Only ${[...actions.keys()].join(", ")} are supported.`);
      send(200, await action(await json(request)));
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      const __type = known.find((each) => each === failure.name) ?? "ValidationException";
      send(400, { __type, message: failure.message });
    }
  }, port);
  const stop = async () => {
    runner.stop();
    await close();
  };
  return { url, stateMachineArn, workflow: runner, close: stop };
};
