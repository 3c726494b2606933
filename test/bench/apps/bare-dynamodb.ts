import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import type { APIGatewayProxyEvent } from "aws-lambda";

let client: DynamoDBClient | undefined;

/** The smallest function on DynamoDB. It refuses a request without a key. Otherwise, it makes one read, with the SDK's defaults. */
export const handler = async ({ headers }: APIGatewayProxyEvent) => {
  if (!headers.authorization) return { statusCode: 401 };
  client ??= new DynamoDBClient();
  const Key = { pk: { S: "KEY#none" }, sk: { S: "KEY" } };
  await client.send(new GetItemCommand({ TableName: process.env.TABLE_NAME, Key }));
  return { statusCode: 200 };
};
