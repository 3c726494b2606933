import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { clientSettings, currentDeadline, limitAttempt, limitCall, remainingMs } from "../deadline.ts";
import { serviceUnavailable } from "../errors.ts";

let client: DynamoDBDocumentClient | undefined;

/** Returns this process's client, which is created on first use. The SDK itself reads AWS_ENDPOINT_URL_DYNAMODB. */
export const dynamodb = (): DynamoDBDocumentClient => {
  client ??= createClient();
  return client;
};

const createClient = () => {
  const plain = new DynamoDBClient(clientSettings(2_500));
  // Without a logger, this middleware copies all input and output for nothing. That takes an eighth of the processor time of a page
  // of 100 items.
  plain.middlewareStack.remove("loggerMiddleware");
  plain.middlewareStack.add(limitCall, { step: "initialize", name: "limitCall" });
  plain.middlewareStack.add(limitAttempt, { step: "finalizeRequest", name: "limitAttempt", priority: "low" });
  return DynamoDBDocumentClient.from(plain, { marshallOptions: { removeUndefinedValues: true } });
};

/** The attempts allowed without a deadline, which only requests of the API have. */
const maxAttempts = 13;

/**
 * Waits before attempt `attempt` + 1, at most a second, with full jitter. Throws 503 if the wait would exceed the request's
 * deadline. Until then, attempts are unlimited, because each of 200 simultaneous uploads to one request waits for its turn. The log
 * gets `cause`, the reason why the last attempt failed.
 * Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export const backOff = async (attempt: number, cause: unknown): Promise<void> => {
  const ms = Math.random() * Math.min(1_000, 20 * 2 ** attempt);
  if (ms >= remainingMs() || (attempt >= maxAttempts && currentDeadline() === undefined))
    throw serviceUnavailable(Object.assign(new Error("Gave up.", { cause }), { attempts: attempt }));
  await sleep(ms);
};
