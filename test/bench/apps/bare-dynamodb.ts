import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";

/** The least that a function on DynamoDB can be: the SDK's client with its defaults, and one read. */
const endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB;
const client = new DynamoDBClient({ ...(endpoint && { endpoint }) });

export const handler = async () => {
  const Key = { pk: { S: "KEY#none" }, sk: { S: "KEY" } };
  await client.send(new GetItemCommand({ TableName: process.env.TABLE_NAME, Key }));
  return { statusCode: 200 };
};
