import { setTimeout as sleep } from "node:timers/promises";
import { serviceUnavailable } from "../errors.ts";

const attempts = 12;

/**
 * Waits before attempt `attempt` + 1, with full jitter up to a second; 503 when there have been too many.
 * Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export const backOff = async (attempt: number): Promise<void> => {
  if (attempt > attempts) throw serviceUnavailable();
  await sleep(Math.random() * Math.min(1_000, 20 * 2 ** attempt));
};
