import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";
import express from "express";
import serverless from "serverless-http";

/** An alternative for comparison: one Express app in one function, with the same SDK clients. */
const client = DynamoDBDocumentClient.from(new DynamoDBClient());
const s3 = new S3Client({ forcePathStyle: true });

const app = express();
app.use((request, response, next) => {
  if (request.headers.authorization) next();
  else response.sendStatus(401);
});
app.get("/api/v1/switches/:id", async (request, response) => {
  const Key = { pk: "KEY#none", sk: "KEY" };
  const { Item } = await client.send(new GetCommand({ TableName: process.env.TABLE_NAME, Key }));
  response.json({ item: Item ?? null, id: request.params.id });
});
app.post("/api/v1/requests/:id/attachments", express.raw({ type: "*/*" }), async (request, response) => {
  const Body = String(request.body);
  await s3.send(new PutObjectCommand({ Bucket: process.env.BUCKET_NAME, Key: "attachments/bench", Body }));
  response.status(201).json({ id: request.params.id });
});

export const handler = serverless(app);
