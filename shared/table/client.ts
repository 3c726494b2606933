import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { serviceUnavailable } from "../errors.ts";

let client: DynamoDBDocumentClient | undefined;

/**
 * The client of this process, made on first use. The SDK itself reads AWS_ENDPOINT_URL_DYNAMODB. Timeouts and attempts
 * leave a request within the gateway's 29 s even where one call fails.
 */
export const dynamodb = (): DynamoDBDocumentClient => {
  client ??= DynamoDBDocumentClient.from(
    new DynamoDBClient({
      maxAttempts: 3,
      requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_500, throwOnRequestTimeout: true },
    }),
    { marshallOptions: { removeUndefinedValues: true } },
  );
  return client;
};

const attempts = 12;

/**
 * Waits before attempt `attempt` + 1, with full jitter up to a second; 503 when there have been too many.
 * Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export const backOff = async (attempt: number): Promise<void> => {
  if (attempt > attempts) throw serviceUnavailable();
  await sleep(Math.random() * Math.min(1_000, 20 * 2 ** attempt));
};
