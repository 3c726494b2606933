import { workflow as definition, placeholderOf } from "../../functions/checkout/workflow.ts";
import { steps } from "../../shared/checkout/steps.ts";
import { errorNamed, invoke } from "./functions.ts";
import { ledger } from "./ledger.ts";
import { after, as, chance, currentTask, elapsed, newTask, numbered, pass, say, type Task } from "./world.ts";

/** Step Functions: an interpreter of the parts of the Amazon States Language that the workflow uses. */

type Json = Readonly<Record<string, unknown>>;
type Retrier = {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds: number;
  readonly BackoffRate: number;
  readonly MaxAttempts: number;
  readonly MaxDelaySeconds?: number;
};
type State = {
  readonly Type: string;
  readonly Next?: string;
  readonly Parameters?: { readonly FunctionName: string; readonly Payload: Readonly<Record<string, string>> };
  readonly TimeoutSeconds?: number;
  readonly Retry?: readonly Retrier[];
  readonly Catch?: readonly {
    readonly ErrorEquals: readonly string[];
    readonly ResultPath: string;
    readonly Next: string;
  }[];
  readonly Choices?: readonly { readonly Variable: string; readonly StringEquals: string; readonly Next: string }[];
  readonly Default?: string;
  readonly SecondsPath?: string;
  readonly Error?: string;
  readonly Cause?: string;
  readonly CausePath?: string;
};
type Machine = {
  readonly StartAt: string;
  readonly States: Readonly<Record<string, State>>;
  readonly TimeoutSeconds?: number;
};

const workflow: Machine = JSON.parse(JSON.stringify(definition));

/** An execution, as DescribeExecution returns it. `ended` resolves when it has ended. */
export type Execution = {
  readonly name: string;
  readonly input: string;
  status: "RUNNING" | "SUCCEEDED" | "FAILED" | "ABORTED" | "TIMED_OUT";
  error?: string | undefined;
  cause?: string | undefined;
  task: Task;
  readonly startedAt: number;
  endedAt: number;
  ended: Promise<void>;
  readonly end: (status: Execution["status"], error?: Error) => void;
  redriveCount: number;
  redrivenAt: number;
  /** How the last redrive found it. */
  beforeRedrive?: Pick<Execution, "status" | "redriveCount"> | undefined;
  /** Continues an execution that has not succeeded at the state in which it ended. */
  readonly redrive: () => void;
};

type Handlers = ReadonlyMap<string, (event: unknown) => Promise<unknown>>;

let handlers: Handlers = new Map();
let onEnded: (execution: Execution) => void = () => {};
let executions = new Map<string, Execution>();

export const beginWorkflow = (steps: Handlers, callback: typeof onEnded): void => {
  handlers = steps;
  onEnded = callback;
  executions = new Map();
};

/** An execution as it was at a time. */
export const asOf = (execution: Execution, time: number): Partial<Execution> | undefined => {
  const { name, input, redriveCount } = execution;
  if (time < execution.startedAt) return undefined;
  if (time < execution.redrivenAt) return { name, input, ...execution.beforeRedrive };
  return time < execution.endedAt ? { name, input, redriveCount, status: "RUNNING" } : execution;
};

export const executionOf = (name: string): Execution | undefined => executions.get(name);

export const runningExecutions = (): Execution[] =>
  [...executions.values()].filter(({ status }) => status === "RUNNING");

/** Starts an execution, or returns a running one of this name and input. Returns undefined if another has used the name. */
export const startExecution = (name: string, input: string): Execution | undefined => {
  const existing = executions.get(name);
  if (existing) return existing.status === "RUNNING" && existing.input === input ? existing : undefined;
  let { promise: ended, resolve } = Promise.withResolvers<void>();
  // The execution's name depends on the time; its number does not.
  const task = newTask(`run ${executions.size + 1}`);
  let position: Position = { name: workflow.StartAt, state: JSON.parse(input) };
  const onState = (at: Position) => {
    position = at;
  };
  const context = { Execution: { Name: name, StartTime: new Date().toISOString() } };
  const work = () => runMachine(workflow, position, context, onState);
  const begin = (as_: Task) =>
    as(as_, work).then(
      () => execution.task === as_ && execution.end("SUCCEEDED"),
      (error: Error) => execution.task === as_ && execution.end("FAILED", error),
    );
  const execution: Execution = {
    name,
    input,
    status: "RUNNING",
    task,
    startedAt: elapsed(),
    endedAt: Number.POSITIVE_INFINITY,
    ended,
    end: (status, error) => {
      if (execution.status !== "RUNNING") return;
      const result = error && { error: error.name, cause: error.message };
      Object.assign(execution, { status, ...result, endedAt: elapsed() });
      say(() => `${task.name} ends: ${status} ${error ? `${error.name} ${error.message}` : ""}`);
      execution.task.isAlive = false;
      onEnded(execution);
      resolve();
    },
    redriveCount: 0,
    redrivenAt: Number.NEGATIVE_INFINITY,
    redrive: () => {
      if (execution.status === "RUNNING" || execution.status === "SUCCEEDED") return;
      say(() => `${task.name} is redriven at ${position.name}`);
      const again = Object.assign(newTask(task.name), { counts: task.counts });
      const redriven = {
        status: "RUNNING",
        task: again,
        endedAt: Number.POSITIVE_INFINITY,
        redrivenAt: elapsed(),
      } as const;
      const { status, redriveCount } = execution;
      const found = { beforeRedrive: { status, redriveCount }, redriveCount: redriveCount + 1 };
      ({ promise: ended, resolve } = Promise.withResolvers<void>());
      Object.assign(execution, { ...redriven, ...found, ended, error: undefined, cause: undefined });
      after(2, () => void begin(again), again);
    },
  };
  executions.set(name, execution);
  ledger.executions.set(name, task.name);
  say(() => `${currentTask().name} starts ${task.name}, ${name}`);
  const { TimeoutSeconds = 0 } = workflow;
  after(TimeoutSeconds * 1000, () => execution.end("TIMED_OUT", errorNamed("States.Timeout")), task);
  after(2, () => void begin(task), task);
  return execution;
};

const valueAt = (path: string, state: unknown, context: Json): unknown => {
  const root = path.startsWith("$$") ? context : state;
  return path
    .replace(/^\$\$?\.?/, "")
    .split(".")
    .filter(Boolean)
    .reduce<unknown>((value, name) => Object(value)[name], root);
};

/** The payload of a task, whose values are all paths. */
const payloadOf = (paths: Readonly<Record<string, string>>, state: unknown, context: Json): Json =>
  Object.fromEntries(
    Object.entries(paths).map(([name, path]) => [name.replace(/\.\$$/, ""), valueAt(path, state, context)]),
  );

const isCaught = (names: readonly string[], error: Error) => names.includes("States.ALL") || names.includes(error.name);

/** Runs a task with its retries. The waits are fully jittered. */
const runTask = async (name: string, state: State, input: unknown, context: Json): Promise<unknown> => {
  const step = steps.find((each) => state.Parameters?.FunctionName === `\${${placeholderOf(each)}}`);
  const handler = step && handlers.get(step.name);
  if (!handler) throw new Error(`There is no function for ${name}.`);
  const payload = payloadOf(state.Parameters?.Payload ?? {}, input, context);
  const tried = new Map<Retrier, number>();
  for (;;) {
    try {
      const work = () => invoke("invocation", name, handler, payload, step.timeoutSeconds);
      return await withinTime(work, state.TimeoutSeconds);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const retrier = state.Retry?.find(({ ErrorEquals }) => isCaught(ErrorEquals, error));
      const count = (retrier && tried.get(retrier)) ?? 0;
      if (!retrier || count >= retrier.MaxAttempts) throw error;
      tried.set(retrier, count + 1);
      const { IntervalSeconds, BackoffRate, MaxDelaySeconds = Number.POSITIVE_INFINITY } = retrier;
      const seconds =
        Math.min(IntervalSeconds * BackoffRate ** count, MaxDelaySeconds) * chance(numbered(`${name} retry`));
      say(
        () =>
          `${currentTask().name}: ${name} failed: ${error.name}: ${error.message}; again in ${seconds.toFixed(1)} s`,
      );
      await pass(seconds * 1000);
    }
  }
};

const withinTime = (work: () => Promise<unknown>, seconds = 60) =>
  new Promise<unknown>((resolve, reject) => {
    const timer = after(seconds * 1000 + 1, () => reject(errorNamed("States.Timeout")));
    work()
      .then(resolve, reject)
      .finally(() => {
        timer.isCancelled = true;
      });
  });

type Position = { readonly name: string; readonly state: unknown };

/** Runs the workflow from a state. Calls `onState` before each. */
const runMachine = async (
  { States }: Machine,
  from: Position,
  context: Json,
  onState: (at: Position) => void,
): Promise<unknown> => {
  let { name, state: current } = from;
  for (;;) {
    onState({ name, state: current });
    const state = States[name];
    if (!state) throw new Error(`There is no state ${name}.`);
    const next = await runState(name, state, current, context);
    if (next.name === undefined) return next.state;
    [name, current] = [next.name, next.state];
  }
};

type Next = { readonly name: string | undefined; readonly state: unknown };

const runState = async (name: string, state: State, input: unknown, context: Json): Promise<Next> => {
  const { Type, Next } = state;
  switch (Type) {
    case "Task":
      try {
        return { name: Next, state: await runTask(name, state, input, context) };
      } catch (error) {
        const caught = error instanceof Error && state.Catch?.find(({ ErrorEquals }) => isCaught(ErrorEquals, error));
        if (!caught) throw error;
        const failure = { Error: error.name, Cause: error.message };
        return { name: caught.Next, state: { ...Object(input), [caught.ResultPath.replace("$.", "")]: failure } };
      }
    case "Choice": {
      const chosen = state.Choices?.find(
        ({ Variable, StringEquals }) => valueAt(Variable, input, context) === StringEquals,
      );
      return { name: chosen?.Next ?? state.Default, state: input };
    }
    case "Wait":
      await pass(Number(valueAt(state.SecondsPath ?? "", input, context)) * 1000);
      return { name: Next, state: input };
    case "Succeed":
      return { name: undefined, state: input };
    case "Fail": {
      const cause = state.CausePath ? String(valueAt(state.CausePath, input, context)) : state.Cause;
      throw errorNamed(state.Error ?? "", cause);
    }
    default:
      throw new Error(`The interpreter does not know ${Type}.`);
  }
};
