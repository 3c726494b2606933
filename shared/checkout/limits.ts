import { env } from "../env.ts";

/**
 * These keep one execution within Step Functions' 25,000 events of history and 256 KB of state, and a Lambda call within
 * its timeout, whatever the order's size. test/shared/checkout/limits.test.ts adds them up.
 * Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
 */
export const limits = {
  /** Map items of one round; the requests are divided among them. */
  pages: 16,
  /** The least number of requests in a page, so that a small order does not take many calls. */
  requestsPerPage: 8,
  /** How often one page may be processed in one execution: when time is up, after waits and changes, in new rounds. */
  loops: 24,
  /** How often in a row the carrier may be unavailable before the run fails: more than 50 minutes. */
  waits: 10,
  /** Calls to the carrier at a time, in one step. */
  concurrency: 8,
  /** Attempts of one call within one step. */
  tries: 4,
  /** A longer wait between two attempts is left to the workflow, where waiting is free. */
  longestWaitInStepMs: 5_000,
  /** A call may take CARRIER_TIMEOUT_MS, plus the time that its file takes at this rate. */
  slowestBytesPerSecond: 1_000_000,
  /** How long a step starts new calls. The longest call, with all its attempts, still ends before the step's timeout. */
  workMs: 300_000,
  /** No run takes longer than its workflow's TimeoutSeconds, a week, and an hour for clocks and last steps. */
  longestRunMs: (7 * 24 + 1) * 3_600_000,
  /** Longer than a call without a file takes with all its attempts. */
  graceSeconds: 150,
  /** By how much the clocks of two functions may differ. */
  clockSkewMs: 10_000,
} as const;

/** How long one attempt of a call with that many bytes may take. */
export const callTimeoutMs = (bytes: number): number =>
  env.carrierTimeoutMs() + Math.ceil((bytes / limits.slowestBytesPerSecond) * 1_000);

/** How long such a call may take with all its attempts and the waits between them. */
export const longestCallMs = (bytes: number): number =>
  limits.tries * callTimeoutMs(bytes) + (limits.tries - 1) * limits.longestWaitInStepMs;

/** The wait before attempt `waits` + 1: what the carrier asked for, or 5 s doubling up to 15 min (env), jittered by half. */
export const pauseSeconds = (waits: number, askedFor: number, random: () => number): number =>
  Math.max(askedFor, Math.ceil(Math.min(env.carrierLongestWaitSeconds(), 5 * 2 ** waits) * (0.5 + random() / 2)));
