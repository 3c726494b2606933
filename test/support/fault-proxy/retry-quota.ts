import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { vi } from "vitest";

/**
 * Makes retries free of charge for the SDK's retry quota. The quota refills slowly, so many faults in one process would use it
 * up, and later tests would get only one attempt per call.
 */
export const liftRetryQuota = async (): Promise<void> => {
  const strategy = await new DynamoDBClient({}).config.retryStrategy();
  vi.spyOn(Object.getPrototypeOf(strategy), "getCapacityCost").mockReturnValue(0);
};
