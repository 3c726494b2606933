import { env } from "../env.ts";

/**
 * What keeps one execution within Step Functions' 25,000 events of history and 256 KB of state, and a Lambda call
 * within its time, whatever the order's size. test/shared/checkout/limits.test.ts does the sum.
 * Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
 */
export const limits = {
  /** Map items of one round; the requests are divided among them. */
  pages: 16,
  /** Requests of one page at least, so that a small order is not many calls. */
  requestsPerPage: 8,
  /** How often one page may be worked on in one execution: for time, for waiting, for changes, for new rounds. */
  loops: 24,
  /** How often in a row the carrier may be away before the run fails: 50 minutes of patience and more. */
  waits: 10,
  /** Calls to the carrier at a time, in one step. */
  concurrency: 8,
  /** How long a step begins new calls. The longest call with its repetitions still ends within the step's time. */
  workMs: 300_000,
  /** A run cannot be older than its workflow's TimeoutSeconds, a week, with an hour for clocks and last steps. */
  longestRunMs: (7 * 24 + 1) * 3_600_000,
  /**
   * Longer than a call to the carrier takes with its repetitions, so that those which a dead run has left behind have
   * ended when the next run begins.
   */
  graceSeconds: 150,
} as const;

/** The wait before try number `waits` + 1: what the carrier asked for, or 5 s doubling to 15 min (env), jittered by half. */
export const pauseSeconds = (waits: number, askedFor: number, random: () => number): number =>
  Math.max(askedFor, Math.ceil(Math.min(env.carrierLongestWaitSeconds(), 5 * 2 ** waits) * (0.5 + random() / 2)));
