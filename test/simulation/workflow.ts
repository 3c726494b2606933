import {
  beginning,
  errorNamed,
  machine,
  type Position,
  runMachine,
  type World,
} from "../../infra/local/state-machine.ts";
import { invoke } from "./functions.ts";
import { ledger } from "./ledger.ts";
import { after, as, chance, currentTask, elapsed, newTask, numbered, pass, say, type Task } from "./world.ts";

/** Step Functions: executions in virtual time, with the interpreter of `npm start`. */

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
  let position = beginning(JSON.parse(input));
  const onState = (at: Position) => {
    position = at;
  };
  const context = { Execution: { Name: name, StartTime: new Date().toISOString() } };
  const work = () => runMachine(position, { ...simulated, context, onState });
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
  after(machine.TimeoutSeconds * 1000, () => execution.end("TIMED_OUT", errorNamed("States.Timeout")), task);
  after(2, () => void begin(task), task);
  return execution;
};

const simulated: Omit<World, "context"> = {
  invoke: async (state, step, payload, seconds) => {
    const handler = handlers.get(step.name);
    if (!handler) throw new Error(`There is no function for ${state}.`);
    return withinTime(() => invoke("invocation", state, handler, payload, step.timeoutSeconds), seconds);
  },
  pause: pass,
  random: (name) => chance(numbered(name)),
  onRetry: (state, { name, message }, seconds) =>
    say(() => `${currentTask().name}: ${state} failed: ${name}: ${message}; again in ${seconds.toFixed(1)} s`),
};

const withinTime = (work: () => Promise<unknown>, seconds: number) =>
  new Promise<unknown>((resolve, reject) => {
    const timer = after(seconds * 1000 + 1, () => reject(errorNamed("States.Timeout")));
    work()
      .then(resolve, reject)
      .finally(() => {
        timer.isCancelled = true;
      });
  });
