import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";
import { Hono } from "hono";
import { handle } from "hono/aws-lambda";

/** An alternative for comparison: one Hono app in one function, with the same SDK clients. */
const client = DynamoDBDocumentClient.from(new DynamoDBClient());
const s3 = new S3Client({ forcePathStyle: true });

const app = new Hono();
app.use(async (context, next) => {
  if (!context.req.header("authorization")) return context.json({}, 401);
  return next();
});
app.get("/api/v1/switches/:id", async (context) => {
  const Key = { pk: "KEY#none", sk: "KEY" };
  const { Item } = await client.send(new GetCommand({ TableName: process.env.TABLE_NAME, Key }));
  return context.json({ item: Item ?? null, id: context.req.param("id") });
});
app.post("/api/v1/requests/:id/attachments", async (context) => {
  const { file } = await context.req.parseBody();
  await s3.send(
    new PutObjectCommand({ Bucket: process.env.BUCKET_NAME, Key: "attachments/bench", Body: String(file) }),
  );
  return context.json({ id: context.req.param("id") }, 201);
});

export const handler = handle(app);
