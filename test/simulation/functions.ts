import { lambdaContext } from "../../infra/local/proxy-event.ts";
import { errorNamed } from "../../infra/local/state-machine.ts";
import {
  after,
  as,
  between,
  chance,
  currentTask,
  faultOf,
  kill,
  newTask,
  numbered,
  outside,
  pass,
  say,
} from "./world.ts";

/** Lambda: invocations that are throttled, repeated, lost or killed, each in a process with its own clock. */

type Handler = (
  event: unknown,
  context: { readonly awsRequestId: string; readonly functionName: string } & ReturnType<typeof lambdaContext>,
) => Promise<unknown>;

const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

/** Two clocks differ by at most ten seconds, which is `clockSkewMs` of the checkout's limits. */
const skewOf = (name: string) => Math.floor((chance(`${name} clock`) - 0.5) * 10_000);

let isClosed = false;

/** Begins or ends a maintenance, during which no function starts except the one that unlocks orders. */
export const closeFunctions = (closed: boolean): void => {
  isClosed = closed;
};

/** Runs a function in its own process, which continues without its caller until it ends, dies or times out. */
const run = (name: string, handler: Handler, event: unknown, timeoutSeconds: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    if (isClosed && !name.includes("release-lock")) return reject(errorNamed("Lambda.TooManyRequestsException"));
    const caller = currentTask();
    const skewMs = faultOf("process", name, ["skewed"]) ? skewOf(name) : 0;
    const slowMs = faultOf("process", name, ["slow"]) ? between(`${name} slow`, 200, 20_000) : 0;
    const task = newTask(name, skewMs, slowMs);
    const tell = (act: () => void) => after(1 + 4 * chance(`${name} result`), act, caller);
    task.onDeath = (error) => tell(() => reject(error));
    after(timeoutSeconds * 1000, () => kill(task, errorNamed("Sandbox.Timedout")), outside);
    const work = () =>
      handler(throughJson(event), { awsRequestId: name, functionName: name, ...lambdaContext(timeoutSeconds * 1000) });
    const end = (act: () => void) => {
      if (!task.isAlive) return;
      task.isAlive = false;
      tell(act);
    };
    after(
      1 + 9 * chance(`${name} starts`),
      () =>
        void as(task, work).then(
          (result) => end(() => resolve(throughJson(result))),
          (error: unknown) => end(() => reject(error)),
        ),
      task,
    );
  });

const faults = {
  /** Step Functions and EventBridge invoke a function at least once. */
  invocation: ["throttled", "unavailable", "lost", "twice", "again, late"],
  /** API Gateway invokes it once at most. */
  request: ["throttled", "unavailable", "lost"],
} as const;

/**
 * Invokes a function. It may be refused, run twice, or continue after its caller has lost it. Throws the error that its caller gets.
 */
export const invoke = async (
  kind: keyof typeof faults,
  what: string,
  handler: Handler,
  event: unknown,
  timeoutSeconds: number,
): Promise<unknown> => {
  const named = numbered(what);
  const fault = faultOf<(typeof faults)[typeof kind][number]>(kind, named, faults[kind]);
  say(() => `${named} is invoked${fault ? `, ${fault}` : ""}`);
  const copy = (suffix = "") => run(`${named}${suffix}`, handler, event, timeoutSeconds);
  const longest = timeoutSeconds * 1000;
  switch (fault) {
    case "throttled":
      throw errorNamed("Lambda.TooManyRequestsException");
    case "unavailable":
      throw errorNamed("Lambda.ServiceException");
    case "lost": {
      const first = copy();
      const lost = pass(between(`${named} lost`, 5, longest)).then(() => {
        throw errorNamed("Lambda.SdkClientException");
      });
      return Promise.race([first, lost]);
    }
    case "twice": {
      const second = pass(between(`${named} second`, 0.1, 60_000)).then(() => copy(" again"));
      return Promise.any([copy(), second]).catch(({ errors: [error] }: AggregateError) => {
        throw error;
      });
    }
    case "again, late":
      after(
        between(`${named} late`, 10_000, 7_200_000),
        () => void as(newTask("Lambda"), () => copy(" late").catch(() => {})),
      );
  }
  return copy();
};
