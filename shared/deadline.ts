import { AsyncLocalStorage } from "node:async_hooks";

/**
 * One deadline for everything that a request waits for, which is its calls to AWS, their retries, and the waits between attempts.
 * Without it, the timeouts of several calls could add up to more than the function's. Steps of the checkout have no deadline.
 */
const deadlines = new AsyncLocalStorage<Deadline>();
export type Deadline = { readonly at: number };

/** The deadline of the request in which this is called. Each request has its own object. */
export const currentDeadline = (): Deadline | undefined => deadlines.getStore();

/** The time between the deadline and the function's timeout, for `cleanUp` and for the response. */
const reserveMs = 6_000;
const cleanUpMs = 4_000;

const run = <T>(ms: number, work: () => Promise<T>): Promise<T> => deadlines.run({ at: performance.now() + ms }, work);

/** Handles a request in a function that has `msLeft`. After the deadline, every call and every wait ends with a 503. */
export const withDeadline = <T>(msLeft: number, work: () => Promise<T>): Promise<T> => run(msLeft - reserveMs, work);

/** Runs work that must follow a failed call. Within a request, it gets a short deadline of its own. */
export const cleanUp = <T>(work: () => Promise<T>): Promise<T> =>
  currentDeadline() === undefined ? work() : run(cleanUpMs, work);

export const remainingMs = (): number => (currentDeadline()?.at ?? Number.POSITIVE_INFINITY) - performance.now();

const timeoutError = () => Object.assign(new Error("The request's deadline has passed."), { name: "TimeoutError" });

const beforeDeadline = async <T>(work: () => Promise<T>): Promise<T> => {
  const ms = remainingMs();
  if (ms === Number.POSITIVE_INFINITY) return work();
  if (ms <= 0) throw timeoutError();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(timeoutError()), ms);
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
};

/** The settings of every AWS client. `requestTimeout` limits an attempt, in milliseconds. A connection may take two seconds. */
export const clientSettings = (requestTimeout: number) => ({
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 2_000, requestTimeout, throwOnRequestTimeout: true },
});

/** The context that the SDK passes to middleware. All attempts of a call share the same object. */
type CallContext = { readonly clientName?: string; readonly commandName?: string };
type Send<Input, Output> = (input: Input) => Promise<Output>;

const attempts = new WeakMap<CallContext, number>();

/** Describes a call for the log, such as `dynamodb TransactWriteItems`, with the number of attempts. */
const describeCall = (context: CallContext) => ({
  call: `${context.clientName?.replace(/Client$/, "").toLowerCase()} ${context.commandName?.replace(/Command$/, "")}`,
  attempts: attempts.get(context) ?? 0,
});

/** Middleware around a whole call and its retries. Ends it at the deadline, and adds its name to its error. */
export const limitCall =
  <Input, Output>(next: Send<Input, Output>, context: CallContext): Send<Input, Output> =>
  async (input) => {
    try {
      return await beforeDeadline(() => next(input));
    } catch (error) {
      throw error instanceof Error ? Object.assign(error, describeCall(context)) : error;
    }
  };

/** Middleware around each attempt of a call. Counts it, and starts none after the deadline. */
export const limitAttempt =
  <Input, Output>(next: Send<Input, Output>, context: CallContext): Send<Input, Output> =>
  async (input) => {
    if (remainingMs() <= 0) throw timeoutError();
    attempts.set(context, (attempts.get(context) ?? 0) + 1);
    return next(input);
  };
