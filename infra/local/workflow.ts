import type { RunOptions, StateMachine } from "aws-local-stepfunctions";
import { placeholderOf, workflow } from "../../functions/checkout/workflow.ts";
import { type Step, steps } from "../../shared/checkout/steps.ts";

let machine: Promise<StateMachine> | undefined;

/** Loaded for the first execution. A test validates the workflow, which would take a third of a second here. */
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

/** The tasks of the workflow and of its map: the state's name, and its step. */
const tasks = Object.entries({ ...workflow.States, ...workflow.States.ForwardPages.ItemProcessor.States }).flatMap(
  ([state, definition]) => {
    if (definition.Type !== "Task") return [];
    const step = steps.find((each) => definition.Parameters.FunctionName === `\${${placeholderOf(each)}}`);
    return step ? [[state, step.name] as const] : [];
  },
);

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

/** What DescribeExecution returns of an execution's state. */
type State = Readonly<{ status: "RUNNING" | "SUCCEEDED" | "FAILED" } & Partial<Record<string, unknown>>>;

export type Execution = ReturnType<typeof run>;

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

/** In the format of AWS JSON. */
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
    /** By their names, in the order of their starts. */
    executions,
    /** Starts an execution, or returns a running one with the same name and input. Undefined if the name is already used. */
    start: async (name: string, input: string): Promise<Execution | undefined> => {
      machine ??= loadMachine();
      const stateMachine = await machine;
      const existing = executions.get(name);
      if (existing) return existing.state().status === "RUNNING" && existing.input === input ? existing : undefined;
      const context = { Execution: { Name: name } };
      const execution = run(stateMachine.run(JSON.parse(input), { overrides, context }), input, options.onEvent);
      executions.set(name, execution);
      return execution;
    },
    stop: () => {
      for (const { state, abort } of executions.values()) if (state().status === "RUNNING") abort();
    },
  };
};
