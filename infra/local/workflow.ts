import { readFileSync } from "node:fs";
import type { RunOptions, StateMachine, StateMachineDefinition } from "aws-local-stepfunctions";
import type { Step } from "../../shared/checkout/steps.ts";

/** The workflow of the checkout, in the file that is deployed to AWS too. */
const workflow: StateMachineDefinition = JSON.parse(
  readFileSync(new URL("../../functions/checkout/workflow.asl.json", import.meta.url), "utf8"),
);

let machine: Promise<StateMachine> | undefined;

/** Loaded for the first execution. A test validates the file, which would take a third of a second here. */
const loadMachine = async () => {
  const { StateMachine } = await import("aws-local-stepfunctions");
  return new StateMachine(workflow, { validationOptions: { noValidate: true } });
};

export type StepHandler = (state: unknown) => Promise<object>;

export type WorkflowOptions = {
  readonly load: (name: Step["name"]) => StepHandler | undefined;
  /** Overrides the duration of wait states, in milliseconds, by the name of the state. */
  readonly waits?: Readonly<Record<string, number>>;
  /** Overrides the interval before each retry of a task, in milliseconds. */
  readonly retryMs?: number;
  /** Called with each event of each execution. */
  readonly onEvent?: (event: WorkflowEvent) => void;
};

type EventLogs = ReturnType<StateMachine["run"]>["eventLogs"];
export type WorkflowEvent = EventLogs extends AsyncGenerator<infer Event> ? Event : never;

export type Execution = {
  readonly name: string;
  readonly input: string;
  readonly startedAt: Date;
  readonly status: () => "RUNNING" | "SUCCEEDED" | "FAILED" | "ABORTED";
  readonly ended: Promise<{
    readonly at: Date;
    readonly output?: string;
    readonly error?: string;
    readonly cause?: string;
  }>;
  readonly abort: () => void;
};

type States = StateMachineDefinition["States"];

/** The tasks of a workflow and of its maps: the state's name, and the `${placeholder}` of its function. */
const tasksOf = (states: States): [state: string, placeholder: string][] =>
  Object.entries(states).flatMap(([name, state]) => {
    if (state.Type === "Map") return tasksOf(state.ItemProcessor?.States ?? {});
    if (state.Type !== "Task") return [];
    const { Parameters: parameters } = state;
    const isObject = typeof parameters === "object" && parameters !== null && !Array.isArray(parameters);
    return isObject ? [[name, String(parameters.FunctionName)]] : [];
  });

/** Payloads go to and from a Lambda function as JSON. */
const throughJson = (value: unknown) => JSON.parse(JSON.stringify(value));

const overrides = ({ load, waits, retryMs }: WorkflowOptions): NonNullable<RunOptions["overrides"]> => {
  const tasks = tasksOf(workflow.States);
  const invoke = (placeholder: string) => {
    const name = `checkout/${placeholder.slice(2, -1)}`;
    const handler = load(name);
    if (!handler) throw new Error(`The workflow calls ${placeholder}, but there is no step ${name}.`);
    return async (input: unknown) => ({ Payload: throughJson(await handler(throughJson(payloadOf(input)))) });
  };
  return {
    taskResourceLocalHandlers: Object.fromEntries(tasks.map(([state, placeholder]) => [state, invoke(placeholder)])),
    waitTimeOverrides: { ...waits },
    ...(retryMs !== undefined && {
      retryIntervalOverrides: Object.fromEntries(tasks.map(([state]) => [state, retryMs])),
    }),
  };
};

const payloadOf = (input: unknown) =>
  typeof input === "object" && input !== null && "Payload" in input ? input.Payload : null;

/** Runs executions of the workflow with the functions of the steps. As in Step Functions, a name can be used only once. */
export const startWorkflow = (options: WorkflowOptions) => {
  const runOverrides = overrides(options);
  const executions = new Map<string, Execution>();

  const run = (stateMachine: StateMachine, name: string, input: string): Execution => {
    let status: ReturnType<Execution["status"]> = "RUNNING";
    const context = { Execution: { Name: name } };
    const { result, eventLogs, abort } = stateMachine.run(JSON.parse(input), { overrides: runOverrides, context });
    const eventsReported = (async () => {
      for await (const event of eventLogs) options.onEvent?.(event);
    })();
    const ended = result.then(
      async (output) => {
        await eventsReported;
        if (status === "RUNNING") status = "SUCCEEDED";
        return { at: new Date(), output: JSON.stringify(output) };
      },
      async (failure: unknown) => {
        if (status === "RUNNING") status = "FAILED";
        return { at: new Date(), ...errorOf(failure) };
      },
    );
    const stop = () => {
      status = "ABORTED";
      abort();
    };
    return { name, input, startedAt: new Date(), status: () => status, ended, abort: stop };
  };

  return {
    /** Starts an execution, or returns a running one with the same name and input. Undefined if the name is already used. */
    start: async (name: string, input: string): Promise<Execution | undefined> => {
      machine ??= loadMachine();
      const stateMachine = await machine;
      const existing = executions.get(name);
      if (existing) return existing.status() === "RUNNING" && existing.input === input ? existing : undefined;
      const execution = run(stateMachine, name, input);
      executions.set(name, execution);
      return execution;
    },
    /** All executions, the oldest first. */
    list: (): readonly Execution[] => [...executions.values()],
    find: (name: string): Execution | undefined => executions.get(name),
    stop: () => {
      for (const execution of executions.values()) if (execution.status() === "RUNNING") execution.abort();
    },
  };
};

const errorOf = (failure: unknown) => {
  const inner = failure instanceof Error && failure.cause instanceof Error ? failure.cause : failure;
  return inner instanceof Error ? { error: inner.name, cause: inner.message } : { error: "States.Runtime", cause: "" };
};
