import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";

/** The smallest function on DynamoDB and S3: both SDK clients with their defaults, one read and one small object. */
const endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB;
const client = new DynamoDBClient({ ...(endpoint && { endpoint }) });
const s3 = new S3Client({
  ...(process.env.AWS_ENDPOINT_URL_S3 && { endpoint: process.env.AWS_ENDPOINT_URL_S3, forcePathStyle: true }),
});

export const handler = async () => {
  const Key = { pk: { S: "KEY#none" }, sk: { S: "KEY" } };
  await client.send(new GetItemCommand({ TableName: process.env.TABLE_NAME, Key }));
  await s3.send(new PutObjectCommand({ Bucket: process.env.BUCKET_NAME, Key: "bench", Body: "bench" }));
  return { statusCode: 200 };
};
