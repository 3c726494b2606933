import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import type { APIGatewayProxyEvent } from "aws-lambda";

let client: DynamoDBClient | undefined;
let s3: S3Client | undefined;

/** The smallest function on DynamoDB and S3. It does what the one on DynamoDB does, and also writes one small object. */
export const handler = async ({ headers }: APIGatewayProxyEvent) => {
  if (!headers.authorization) return { statusCode: 401 };
  client ??= new DynamoDBClient();
  s3 ??= new S3Client({ forcePathStyle: true });
  const Key = { pk: { S: "KEY#none" }, sk: { S: "KEY" } };
  await client.send(new GetItemCommand({ TableName: process.env.TABLE_NAME, Key }));
  await s3.send(new PutObjectCommand({ Bucket: process.env.BUCKET_NAME, Key: "attachments/bench", Body: "bench" }));
  return { statusCode: 200 };
};
