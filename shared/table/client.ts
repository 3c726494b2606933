import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { env } from "../env.ts";
import { serviceUnavailable } from "../errors.ts";
import { isUnavailable } from "./unavailable.ts";

const endpoint = env.dynamodbEndpoint();

/** Timeouts and attempts are chosen so that one faulty call still leaves the request within the gateway's 29 s. */
export const client = DynamoDBDocumentClient.from(
  new DynamoDBClient({
    ...(endpoint && { endpoint }),
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_500, throwOnRequestTimeout: true },
  }),
  { marshallOptions: { removeUndefinedValues: true } },
);

/** For `catch`: a table that is away or throttled is a 503, anything else goes on as it is. */
export const unavailableAs503 = (error: unknown): never => {
  throw isUnavailable(error) ? serviceUnavailable(error) : error;
};
