import { DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import type { Handler } from "../../infra/local/gateway.ts";
import { benchService } from "./service.ts";

/** A service under load in a separate process: ours, or bare handlers that make as many reads and writes. */
const bareHandlers = (): Handler => {
  const client = new DynamoDBClient();
  const TableName = process.env.TABLE_NAME;
  const read = () => client.send(new GetItemCommand({ TableName, Key: { pk: { S: "KEY#none" }, sk: { S: "KEY" } } }));
  return async ({ httpMethod }) => {
    await Promise.all([read(), read()]);
    await Promise.all([read(), read()]);
    const Item = { pk: { S: crypto.randomUUID() }, sk: { S: "BARE" } };
    if (httpMethod === "POST") await client.send(new PutItemCommand({ TableName, Item }));
    return { statusCode: 200, headers: { "Content-Type": "application/json" }, body: "{}" };
  };
};

const service = await benchService();
if (process.argv[2] === "bare") {
  const handler = bareHandlers();
  for (const name of service.handlers.keys()) service.handlers.set(name, handler);
}
process.on("message", () => process.send?.({ rss: process.memoryUsage.rss() }));
process.on("disconnect", () => service.close().then(() => process.exit(0)));
process.send?.({ url: service.url, ...service.place });
