import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { vi } from "vitest";

/**
 * A client of the SDK repeats calls until its quota of retries is used up; successes restore it slowly. Many faults in one
 * process use it up, and the tests that follow would see one attempt of each call. Lets retries cost nothing.
 */
export const liftRetryQuota = async (): Promise<void> => {
  const strategy = await new DynamoDBClient({}).config.retryStrategy();
  vi.spyOn(Object.getPrototypeOf(strategy), "getCapacityCost").mockReturnValue(0);
};
