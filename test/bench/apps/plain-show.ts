import { createHash } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BatchGetCommand, DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";
import type { APIGatewayProxyEvent } from "aws-lambda";

let table: DynamoDBDocumentClient | undefined;

/**
 * Shows a switch with the SDK's document client and its defaults. It makes the same reads as ours, without schemas and middleware.
 */
export const handler = async ({ headers, pathParameters }: APIGatewayProxyEvent) => {
  const [, token] = headers.authorization?.split(" ") ?? [];
  if (!token) return { statusCode: 401 };
  table ??= DynamoDBDocumentClient.from(new DynamoDBClient());
  const TableName = process.env.TABLE_NAME ?? "";
  const hash = createHash("sha256").update(token).digest("hex");
  const Keys = [
    { pk: `KEY#${hash}`, sk: "KEY" },
    { pk: `SWITCH#${pathParameters?.id}`, sk: "SWITCH" },
  ];
  const { Responses } = await table.send(
    new BatchGetCommand({ RequestItems: { [TableName]: { Keys, ConsistentRead: true } } }),
  );
  const items = Responses?.[TableName] ?? [];
  const [key, found] = ["KEY", "SWITCH"].map((sk) => items.find((item) => item.sk === sk));
  if (!key) return { statusCode: 401 };
  const Key = { pk: `USER#${key.user}`, sk: "USER" };
  const { Item: user } = await table.send(new GetCommand({ TableName, Key, ConsistentRead: true }));
  if (!user?.permissions.includes("messaging_switches:*")) return { statusCode: 403 };
  if (!found) return { statusCode: 404 };
  return { statusCode: 200, body: JSON.stringify({ type: "switch", data: found }) };
};
