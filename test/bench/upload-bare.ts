import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { DynamoDBDocumentClient, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";

const { TABLE_NAME, BUCKET_NAME } = process.env;
const table = DynamoDBDocumentClient.from(new DynamoDBClient());
const files = new S3Client({ forcePathStyle: true });

/** The smallest upload. It decodes base64, and makes one PUT and one transaction of three writes, without parsing or checks. */
export const uploadBare = async ({ body }: { readonly body: string | null }) => {
  const id = crypto.randomUUID();
  const Body = Buffer.from(body ?? "", "base64");
  await files.send(new PutObjectCommand({ Bucket: BUCKET_NAME, Key: `attachments/${id}`, Body }));
  const items = ["attachment", "reference", "parent"].map((sk) => ({
    Put: { TableName: TABLE_NAME, Item: { pk: `BARE#${id}`, sk } },
  }));
  await table.send(new TransactWriteCommand({ TransactItems: items }));
  return { statusCode: 201 };
};
