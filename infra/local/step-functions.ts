import { randomUUID } from "node:crypto";
import { json } from "node:stream/consumers";
import type { RunOptions, StateMachine } from "aws-local-stepfunctions";
import * as z from "zod/mini";
import { placeholderOf, workflow } from "../../functions/checkout/workflow.ts";
import { type Step, steps } from "../../shared/checkout/steps.ts";
import { sendReply, serveLocally } from "./listen.ts";

/** Runs executions of the checkout's workflow, and serves Step Functions to the SDK. */

let machine: Promise<StateMachine> | undefined;

/** Called for the first execution. A test validates the workflow, because that would take a third of a second here. */
const loadMachine = async () => {
  const { StateMachine } = await import("aws-local-stepfunctions");
  return new StateMachine(throughJson(workflow), { validationOptions: { noValidate: true } });
};

export type StepHandler = (state: unknown) => Promise<object>;

export type WorkflowOptions = {
  readonly load: (name: Step["name"]) => StepHandler | undefined;
  /** Overrides the duration of wait states, in milliseconds, by the name of the state. */
  readonly waits?: Readonly<Record<string, number>>;
  /** Overrides the interval before each retry of a task, in milliseconds. */
  readonly retryMs?: number;
  readonly onEvent?: (event: WorkflowEvent) => void;
};

type EventLogs = ReturnType<StateMachine["run"]>["eventLogs"];
export type WorkflowEvent = EventLogs extends AsyncGenerator<infer Event> ? Event : never;

/** The tasks of the workflow: the state's name, and its step. */
const tasks = Object.entries(workflow.States).flatMap(([state, definition]) => {
  if (definition.Type !== "Task") return [];
  const step = steps.find((each) => definition.Parameters.FunctionName === `\${${placeholderOf(each)}}`);
  return step ? [[state, step.name] as const] : [];
});

/** Payloads go to and from a Lambda function as JSON. */
const throughJson = (value: unknown) => JSON.parse(JSON.stringify(value));

const overridesOf = ({ load, waits, retryMs }: WorkflowOptions): NonNullable<RunOptions["overrides"]> => {
  const invoke = (name: Step["name"]) => {
    const handler = load(name);
    if (!handler) throw new Error(`There is no function for the step ${name}.`);
    return async (input: unknown) => {
      const { Payload = null } = Object(input);
      return { Payload: throughJson(await handler(throughJson(Payload))) };
    };
  };
  return {
    taskResourceLocalHandlers: Object.fromEntries(tasks.map(([state, name]) => [state, invoke(name)])),
    waitTimeOverrides: { ...waits },
    ...(retryMs !== undefined && {
      retryIntervalOverrides: Object.fromEntries(tasks.map(([state]) => [state, retryMs])),
    }),
  };
};

/** The part of an execution's state that DescribeExecution returns. */
type State = Readonly<{ status: "RUNNING" | "SUCCEEDED" | "FAILED" } & Partial<Record<string, unknown>>>;

type Execution = ReturnType<typeof run>;

const run = (execution: ReturnType<StateMachine["run"]>, input: string, onEvent: WorkflowOptions["onEvent"]) => {
  let state: State = { status: "RUNNING" };
  const end = (last: State) => {
    state = { ...last, stopDate: seconds() };
    return state;
  };
  const eventsReported = (async () => {
    for await (const event of execution.eventLogs) onEvent?.(event);
  })();
  const ended = execution.result.then(
    async (output) => {
      await eventsReported;
      return end({ status: "SUCCEEDED", output: JSON.stringify(output) });
    },
    (failure: unknown) => end({ status: "FAILED", ...errorOf(failure) }),
  );
  return { input, startDate: seconds(), state: () => state, ended, abort: () => execution.abort() };
};

/** The current time in the format of AWS JSON. */
const seconds = () => Date.now() / 1_000;

const errorOf = (failure: unknown) => {
  const inner = failure instanceof Error && failure.cause instanceof Error ? failure.cause : failure;
  return inner instanceof Error ? { error: inner.name, cause: inner.message } : { error: "States.Runtime", cause: "" };
};

/** Runs executions of the workflow with the functions of the steps. As in Step Functions, a name can be used only once. */
export const startWorkflow = (options: WorkflowOptions) => {
  const executions = new Map<string, Execution>();
  const overrides = overridesOf(options);
  return {
    /** The executions by name, in the order in which they started. */
    executions,
    /** Starts an execution, or returns a running one with the same name and input. Returns undefined if the name is already used. */
    start: async (name: string, input: string): Promise<Execution | undefined> => {
      machine ??= loadMachine();
      const stateMachine = await machine;
      const existing = executions.get(name);
      if (existing) return existing.state().status === "RUNNING" && existing.input === input ? existing : undefined;
      const context = { Execution: { Name: name, StartTime: new Date().toISOString() } };
      const execution = run(stateMachine.run(JSON.parse(input), { overrides, context }), input, options.onEvent);
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
    StartExecution: async (body) => {
      const { name = randomUUID(), input } = z.parse(Start, body);
      const execution = await runner.start(name, input);
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
