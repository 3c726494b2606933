import { env } from "../env.ts";

/**
 * Limits that keep an execution within Step Functions' 25,000 history events and 256 KB of state, and each invocation within
 * its timeout, whatever the order's size. test/shared/checkout/limits.test.ts adds them up.
 * Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
 */
export const checkoutLimits = {
  /**
   * How often one run may forward when a step's time is up, after waits, and after changes. Its first rounds and corrections do not
   * count.
   */
  passes: 48,
  /** How often a run forwards again because the order has changed, before it seals the order as it was when it last began to forward. */
  rounds: 3,
  /** How often one run may correct its receipts. */
  corrections: 5,
  /** The most receipts that one transaction changes, with the run, the order and an event for each or for all. */
  writesAtOnce: 96,
  /**
   * How often a run waits for the carrier before it fails. A wait after a step that has made progress does not count. This takes 38
   * minutes on average, if the carrier responds at once.
   */
  waits: 10,
  /** How long after its start a run still begins to wait. This is ten times the longest Retry-After. */
  waitingMs: 20 * 3_600_000,
  /** How many calls of one order are made at the same time. */
  concurrency: 16,
  /** How many requests are compared with their receipts at a time, so that memory stays flat. */
  requestsAtOnce: 16,
  tries: 4,
  /** Longer waits between two attempts happen in the workflow, where waiting is free. */
  maxWaitInStepMs: 5_000,
  /** The timeout of a call is CARRIER_TIMEOUT_MS, plus the time that its file takes at this rate. */
  slowestBytesPerSecond: 1_000_000,
  /** How long a step starts new calls. After that, the longest call can still end before the step's timeout. */
  workMs: 300_000,
  /** The number of earlier runs that a lock records, so that late copies of their first steps cannot lock. */
  earlierRuns: 20,
  /** The longest run. It takes the workflow's TimeoutSeconds, which is a week, and an hour for clock skew and the last steps. */
  maxRunMs: (7 * 24 + 1) * 3_600_000,
  /** How long an execution that Step Functions does not know counts as in progress. */
  unknownExecutionMs: 60_000,
  /** How much the clocks of two functions may differ. */
  clockSkewMs: 10_000,
} as const;

/** The timeout of one attempt of a call with a file of that many bytes. */
export const callTimeoutMs = (bytes: number): number =>
  env.carrierTimeoutMs() + Math.ceil((bytes / checkoutLimits.slowestBytesPerSecond) * 1_000);

/** How long such a call can take with all its attempts and the waits between them. */
export const maxCallMs = (bytes: number): number =>
  checkoutLimits.tries * callTimeoutMs(bytes) + (checkoutLimits.tries - 1) * checkoutLimits.maxWaitInStepMs;

/**
 * How long the carrier may still process an attempt after it has ended without a response, as the clocks of two functions measure
 * it. This is as long as the attempt may have taken.
 */
export const lateMs = (bytes: number): number => callTimeoutMs(bytes) + checkoutLimits.clockSkewMs;

/**
 * How long a crashed run's calls without a file may still act. This is until all their attempts, and the carrier's work on the last
 * one, have ended.
 */
export const graceMs = (): number => maxCallMs(0) + lateMs(0);

/** Whether a run that started then, and has waited so often without progress, gives up. Changes of the order give it no more time. */
export const hasWaitedTooLong = (waits: number, started_at: string): boolean =>
  waits >= checkoutLimits.waits || Date.now() - Date.parse(started_at) >= checkoutLimits.waitingMs;

/**
 * Returns 5 s, doubled each time up to CARRIER_MAX_WAIT_SECONDS and jittered by half. Returns the carrier's Retry-After if that is
 * longer.
 */
export const pauseSeconds = (waits: number, retryAfter: number, random: () => number): number =>
  Math.max(retryAfter, Math.ceil(Math.min(env.carrierMaxWaitSeconds(), 5 * 2 ** waits) * (0.5 + random() / 2)));
