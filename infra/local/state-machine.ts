import { placeholderOf, workflow } from "../../functions/checkout/workflow.ts";
import { type Step, steps } from "../../shared/checkout/steps.ts";

/**
 * An interpreter of the parts of the Amazon States Language that the checkout's workflow uses. `npm start` runs executions with it in
 * real time, and the simulation in virtual time.
 */

type Retrier = {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds: number;
  readonly BackoffRate: number;
  readonly MaxAttempts: number;
  readonly MaxDelaySeconds?: number;
};
type State =
  | {
      readonly Type: "Task";
      readonly Parameters: { readonly FunctionName: string; readonly Payload: Readonly<Record<string, string>> };
      readonly TimeoutSeconds: number;
      readonly Retry: readonly Retrier[];
      readonly Catch: readonly (Pick<Retrier, "ErrorEquals"> & {
        readonly ResultPath: string;
        readonly Next: string;
      })[];
      readonly Next: string;
    }
  | {
      readonly Type: "Choice";
      readonly Choices: readonly { readonly Variable: string; readonly StringEquals: string; readonly Next: string }[];
      readonly Default: string;
    }
  | { readonly Type: "Wait"; readonly SecondsPath: string; readonly Next: string }
  | { readonly Type: "Succeed" }
  | { readonly Type: "Fail"; readonly Error: string; readonly Cause?: string; readonly CausePath?: string };
type Task = Extract<State, { Type: "Task" }>;

/** What this interpreter does not know does not compile. */
export const machine: {
  readonly StartAt: string;
  readonly TimeoutSeconds: number;
  readonly States: Readonly<Record<string, State>>;
} = workflow;

/** A state that is entered, with its input. */
export type Position = { readonly name: string; readonly type: string; readonly input: unknown };

export const beginning = (input: unknown): Position => positionAt(machine.StartAt, input);

export type World = {
  /** The `$$` of paths. */
  readonly context: { readonly Execution: { readonly Name: string; readonly StartTime: string } };
  /** Invokes the function of a step. Rejects with States.Timeout if it takes longer than that. */
  readonly invoke: (state: string, step: Step, payload: object, seconds: number) => Promise<unknown>;
  readonly pause: (ms: number) => Promise<unknown>;
  /** Between 0 and 1, for the jitter of a retry. */
  readonly random: (name: string) => number;
  readonly onState?: (at: Position) => void;
  readonly onRetry?: (state: string, error: Error, seconds: number) => void;
};

export const errorNamed = (name: string, message = name) => Object.assign(new Error(message), { name });

const stateNamed = (name: string): State => {
  const state = machine.States[name];
  if (!state) throw new Error(`There is no state ${name}.`);
  return state;
};

const positionAt = (name: string, input: unknown): Position => ({ name, type: stateNamed(name).Type, input });

/** Runs the workflow from a state to its end. Returns the output, or throws the error of the execution. */
export const runMachine = async (from: Position, world: World): Promise<unknown> => {
  for (let at = from; ; ) {
    world.onState?.(at);
    const { next, output } = await runState(at, world);
    if (next === undefined) return output;
    at = positionAt(next, output);
  }
};

type Result = { readonly next: string | undefined; readonly output: unknown };

const runState = async ({ name, input }: Position, world: World): Promise<Result> => {
  const state = stateNamed(name);
  const valueAt = (path: string) => valueIn(path, input, world);
  switch (state.Type) {
    case "Task":
      return runTask(name, state, input, world).then(
        (output) => ({ next: state.Next, output }),
        (error: unknown) => caught(state, input, error),
      );
    case "Choice": {
      const chosen = state.Choices.find(({ Variable, StringEquals }) => valueAt(Variable) === StringEquals);
      return { next: chosen?.Next ?? state.Default, output: input };
    }
    case "Wait":
      await world.pause(Number(valueAt(state.SecondsPath)) * 1000);
      return { next: state.Next, output: input };
    case "Succeed":
      return { next: undefined, output: input };
    case "Fail":
      throw errorNamed(state.Error, state.CausePath ? String(valueAt(state.CausePath)) : state.Cause);
  }
};

const valueIn = (path: string, input: unknown, { context }: World): unknown =>
  path
    .replace(/^\$\$?\.?/, "")
    .split(".")
    .filter(Boolean)
    .reduce<unknown>((value, name) => Object(value)[name], path.startsWith("$$") ? context : input);

const matches = ({ ErrorEquals }: Pick<Retrier, "ErrorEquals">, error: Error) =>
  ErrorEquals.includes("States.ALL") || ErrorEquals.includes(error.name);

const caught = ({ Catch }: Task, input: unknown, error: unknown): Result => {
  const catcher = error instanceof Error && Catch.find((one) => matches(one, error));
  if (!catcher) throw error;
  const failure = { Error: error.name, Cause: error.message };
  return { next: catcher.Next, output: { ...Object(input), [catcher.ResultPath.replace("$.", "")]: failure } };
};

/** Runs a task with its retries, whose waits have full jitter. Its payload consists of paths. */
const runTask = async (name: string, task: Task, input: unknown, world: World): Promise<unknown> => {
  const { Parameters, Retry, TimeoutSeconds } = task;
  const step = steps.find((each) => Parameters.FunctionName === `\${${placeholderOf(each)}}`);
  if (!step) throw new Error(`There is no step for ${name}.`);
  const paths = Object.entries(Parameters.Payload);
  const payload = Object.fromEntries(
    paths.map(([key, path]) => [key.replace(/\.\$$/, ""), valueIn(path, input, world)]),
  );
  const tried = new Map<Retrier, number>();
  for (;;) {
    try {
      return await world.invoke(name, step, payload, TimeoutSeconds);
    } catch (error) {
      const retrier = error instanceof Error && Retry.find((one) => matches(one, error));
      const count = (retrier && tried.get(retrier)) || 0;
      if (!retrier || count >= retrier.MaxAttempts) throw error;
      tried.set(retrier, count + 1);
      const { IntervalSeconds, BackoffRate, MaxDelaySeconds = Number.POSITIVE_INFINITY } = retrier;
      const seconds = Math.min(IntervalSeconds * BackoffRate ** count, MaxDelaySeconds) * world.random(`${name} retry`);
      world.onRetry?.(name, error, seconds);
      await world.pause(seconds * 1000);
    }
  }
};
