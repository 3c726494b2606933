import { AsyncLocalStorage } from "node:async_hooks";

/**
 * One deadline for all that a request waits for: its calls to AWS, their retries, and the waits between attempts. Without
 * it, limits of single calls would multiply beyond the time of the function. A step of the checkout has none.
 */
const deadlines = new AsyncLocalStorage<number>();

/** What a request keeps of its function's time: for `cleanUp`, then for its response. */
const reserveMs = 6_000;
const cleanUpMs = 4_000;

const run = <T>(ms: number, work: () => Promise<T>): Promise<T> => deadlines.run(performance.now() + ms, work);

/** Runs a request that has so much of its function's time left. From its deadline on, every call and every wait is a 503. */
export const withDeadline = <T>(remainingMs: number, work: () => Promise<T>): Promise<T> =>
  run(remainingMs - reserveMs, work);

/** Runs what has to follow a call that failed at the deadline, in a little time of its own. */
export const cleanUp = <T>(work: () => Promise<T>): Promise<T> =>
  deadlines.getStore() === undefined ? work() : run(cleanUpMs, work);

/** How long until the deadline. */
export const remainingMs = (): number => (deadlines.getStore() ?? Number.POSITIVE_INFINITY) - performance.now();

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

/** What the SDK tells its middleware of a call. One such object lasts for all attempts. */
type CallContext = { readonly clientName?: string; readonly commandName?: string };
type Send<Sent, Answer> = (sent: Sent) => Promise<Answer>;

const attempts = new WeakMap<CallContext, number>();

/** For the log: `dynamodb TransactWriteItems`, and how often it was sent. */
const describeCall = (context: CallContext) => ({
  call: `${context.clientName?.replace(/Client$/, "").toLowerCase()} ${context.commandName?.replace(/Command$/, "")}`,
  attempts: attempts.get(context) ?? 0,
});

/** Around a whole call, its retries included: ends it at the deadline, and names it in its error. */
export const limitCall =
  <Sent, Answer>(next: Send<Sent, Answer>, context: CallContext): Send<Sent, Answer> =>
  async (sent) => {
    try {
      return await beforeDeadline(() => next(sent));
    } catch (error) {
      throw error instanceof Error ? Object.assign(error, describeCall(context)) : error;
    }
  };

/** Around each attempt of a call: counts it, and sends none that nobody waits for any more. */
export const limitAttempt =
  <Sent, Answer>(next: Send<Sent, Answer>, context: CallContext): Send<Sent, Answer> =>
  async (sent) => {
    if (remainingMs() <= 0) throw timeoutError();
    attempts.set(context, (attempts.get(context) ?? 0) + 1);
    return next(sent);
  };
