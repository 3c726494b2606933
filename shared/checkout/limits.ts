import { env } from "../env.ts";

/**
 * Limits that keep an execution within Step Functions' 25,000 history events and 256 KB of state, and each invocation within
 * its timeout, whatever the order's size. test/shared/checkout/limits.test.ts adds them up.
 * Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
 */
export const checkoutLimits = {
  /** The number of pages (items of the Map state) in one round. The requests are divided among them. */
  pages: 8,
  /** The minimum number of requests in a page, so that a small order does not need many invocations. */
  requestsPerPage: 8,
  /** How often one page may be processed in one execution: again when time is up, after waits and changes, in new rounds. */
  passes: 24,
  /** How often in a row the carrier may be unavailable before the run fails: 38 minutes on average, if it responds at once. */
  consecutiveWaits: 10,
  concurrency: 8,
  tries: 4,
  /** Longer waits between two attempts happen in the workflow, where waiting is free. */
  longestWaitInStepMs: 5_000,
  /** The timeout of a call is CARRIER_TIMEOUT_MS, plus the time that its file takes at this rate. */
  slowestBytesPerSecond: 1_000_000,
  /** How long a step starts new calls. After that, the longest call can still end before the step's timeout. */
  workMs: 300_000,
  /** How many earlier runs a run knows. A late copy of their steps locks nothing, and the seals that they left are lifted. */
  earlierRuns: 20,
  /** The longest run: the workflow's TimeoutSeconds, which is a week, and an hour for clock skew and the last steps. */
  longestRunMs: (7 * 24 + 1) * 3_600_000,
  /** Longer than a call without a file can take with all its attempts, and the carrier to process one that got no response. */
  graceSeconds: 180,
  /** How much the clocks of two functions may differ. */
  clockSkewMs: 10_000,
} as const;

/** The timeout of one attempt of a call with a file of that many bytes. */
export const callTimeoutMs = (bytes: number): number =>
  env.carrierTimeoutMs() + Math.ceil((bytes / checkoutLimits.slowestBytesPerSecond) * 1_000);

/** How long such a call can take with all its attempts and the waits between them. */
export const longestCallMs = (bytes: number): number =>
  checkoutLimits.tries * callTimeoutMs(bytes) + (checkoutLimits.tries - 1) * checkoutLimits.longestWaitInStepMs;

/**
 * How long the carrier may still process an attempt after it has ended without a response, as the clocks of two functions
 * measure it: as long as the attempt may have taken.
 */
export const lateMs = (bytes: number): number => callTimeoutMs(bytes) + checkoutLimits.clockSkewMs;

/** 5 s, doubled each time up to CARRIER_LONGEST_WAIT_SECONDS, jittered by half, or the carrier's Retry-After if it is longer. */
export const pauseSeconds = (waits: number, retryAfter: number, random: () => number): number =>
  Math.max(retryAfter, Math.ceil(Math.min(env.carrierLongestWaitSeconds(), 5 * 2 ** waits) * (0.5 + random() / 2)));
