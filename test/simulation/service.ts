import { limitAttempt, limitCall } from "../../shared/deadline.ts";
import {
  after,
  between,
  chance,
  currentTask,
  faultOf,
  freeze,
  kill,
  never,
  numbered,
  outside,
  pass,
  place,
  say,
  type Task,
} from "./world.ts";

/** The common part of DynamoDB and S3: calls that travel, act and travel back, faults on the way, and the SDK's retries. */

type Service = {
  readonly name: "table" | "files";
  readonly clientName: string;
  /** How long the product's clients wait for a response. */
  readonly timeoutMs: number;
  readonly throttled: () => Error;
  readonly failed: () => Error;
};

/** Other calls overtake a `delayed` one. A `late` one acts after its caller has given it up. */
const kinds = ["throttled", "failed before", "failed after", "lost before", "lost after", "delayed", "late"] as const;

// The SDK's HTTP handler uses these names.
const lost = () => Object.assign(new Error("read ECONNRESET"), { name: "TimeoutError", code: "ECONNRESET" });
const timedOut = () => Object.assign(new Error("The request timed out."), { name: "TimeoutError" });

/** Runs when a call arrives. Returns a function that makes the response when the response leaves. */
export type Act<T> = (named: string, caller: Task) => () => T;

/** Acts at once. If that fails, the response throws the error. */
export const decided = <T>(act: () => T): (() => T) => {
  try {
    const result = act();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
};

/** Runs before each call of a function, whose process may be slow or be killed. */
export const beforeCall = async (named: string): Promise<void> => {
  const task = currentTask();
  if (!task.onDeath) return;
  if (task.slowMs > 0) await pass(task.slowMs * chance(`${named} slow`));
  if (!faultOf("process", named, ["killed"])) return;
  kill(task, Object.assign(new Error("The process has ended."), { name: "Runtime.ExitError" }));
  return never();
};

/** Runs after a call. The process may be frozen for a while before it uses the response. */
const afterCall = async (named: string): Promise<void> => {
  if (!currentTask().onDeath || !faultOf("process", named, ["frozen"])) return;
  const ms = between(`${named} frozen`, 100, 400_000);
  say(() => `${named}: its process is frozen for ${(ms / 1000).toFixed(1)} s`);
  freeze(ms);
  await pass(0);
};

const attempt = <T>({ name, timeoutMs, throttled, failed }: Service, named: string, act: Act<T>, where: string) =>
  new Promise<T>((resolve, reject) => {
    const task = currentTask();
    const fault = faultOf(name, named, kinds);
    const travel = (way: string) => 1 + 14 * chance(`${named} ${way}`);
    const fail = (error: Error, ms = travel("back")) => after(ms, () => reject(error), task);
    // A call arrives even if its process ends meanwhile.
    const arrives = (ms: number, then: (response: () => T) => void) =>
      after(
        ms,
        () => {
          const response = act(named, task);
          say(() => `${named}${fault ? `, ${fault}` : ""}${where}`);
          then(response);
        },
        outside,
      );
    if (fault === "throttled") return fail(throttled());
    if (fault === "failed before") return fail(failed());
    if (fault === "lost before") return fail(lost());
    if (fault === "late") {
      arrives(between(`${named} late`, timeoutMs, 60_000), () => {});
      return fail(timedOut(), timeoutMs);
    }
    arrives(fault === "delayed" ? between(`${named} delay`, 20, timeoutMs * 0.95) : travel("there"), (response) => {
      if (fault === "lost after") return fail(lost());
      if (fault === "failed after") return fail(failed());
      after(travel("back"), () => settle(response, resolve, reject), task);
    });
  });

const settle = <T>(response: () => T, resolve: (value: T) => void, reject: (error: unknown) => void) => {
  try {
    resolve(response());
  } catch (error) {
    reject(error);
  }
};

const isRetried = (error: unknown) =>
  error instanceof Error &&
  /^(TimeoutError|InternalServerError|InternalError|SlowDown|ThrottlingException|TransactionInProgressException)$/.test(
    error.name,
  );

const maxAttempts = 3;

/** Makes a call as an SDK client does, with retries and the product's deadlines. Its name is the same in every run of the schedule. */
export const callService = async <T>(service: Service, command: object, what: string, act: Act<T>): Promise<T> => {
  const where = place();
  const call = numbered(what);
  await beforeCall(call);
  const context = { clientName: service.clientName, commandName: command.constructor.name };
  const tryOnce = limitAttempt((named: string) => attempt(service, named, act, where), context);
  const retrying = async () => {
    for (let count = 1; ; count += 1) {
      try {
        return await tryOnce(count === 1 ? call : `${call}, attempt ${count}`);
      } catch (error) {
        if (count < maxAttempts && isRetried(error)) await pass(Math.random() * 100 * 2 ** count);
        else throw Object.assign(Object(error), { $metadata: { attempts: count, ...Object(error).$metadata } });
      }
    }
  };
  const response = await limitCall(retrying, context)(undefined);
  await afterCall(call);
  return response;
};
