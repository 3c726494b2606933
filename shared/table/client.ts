import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

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
