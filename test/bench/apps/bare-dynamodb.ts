import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";

/** The smallest function on DynamoDB: the SDK client with its defaults, and one read. */
const endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB;
const client = new DynamoDBClient({ ...(endpoint && { endpoint }) });

export const handler = async () => {
  const Key = { pk: { S: "KEY#none" }, sk: { S: "KEY" } };
  await client.send(new GetItemCommand({ TableName: process.env.TABLE_NAME, Key }));
  return { statusCode: 200 };
};
