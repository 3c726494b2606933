import { setTimeout as sleep } from "node:timers/promises";
import { CreateTableCommand, DynamoDBClient, UpdateTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import { type DynoxideOptions, type LocalService, startDynoxide } from "./dynoxide.ts";

const createTable = async (endpoint: string, name: string) => {
  const client = new DynamoDBClient({ endpoint, maxAttempts: 1 });
  const command = new CreateTableCommand({
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "S" },
    ],
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
  });
  const TimeToLiveSpecification = { AttributeName: "expires_at", Enabled: true };
  for (let attempt = 0; ; attempt += 1)
    try {
      await client.send(command);
      return await client.send(new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification }));
    } catch (error) {
      if (error instanceof Error && error.name === "ResourceInUseException") return;
      if (attempt >= 200) throw new Error(`DynamoDB does not respond at ${endpoint}.`, { cause: error });
      await sleep(10);
    }
};

/** Starts the embedded DynamoDB, or uses the one at AWS_ENDPOINT_URL_DYNAMODB, and creates the table. */
export const startTable = async (name: string, options: DynoxideOptions = {}): Promise<LocalService> => {
  const given = process.env.AWS_ENDPOINT_URL_DYNAMODB;
  if (given) {
    await createTable(given, name);
    return { endpoint: given, stop: async () => {} };
  }
  const dynoxide = await startDynoxide(options);
  try {
    await Promise.race([createTable(dynoxide.endpoint, name), dynoxide.failed]);
  } catch (error) {
    await dynoxide.stop();
    throw new Error(startError(error, options.dbPath), { cause: error });
  }
  void dynoxide.keepRunning();
  return dynoxide;
};

const startError = (error: unknown, dbPath: string | undefined): string => {
  const message = `The embedded DynamoDB does not start: ${error instanceof Error ? error.message : error}`;
  if (dbPath === undefined) return message;
  return `${message}\nIf ${dbPath} is damaged, restore the folder from a backup, or choose another one with --data.`;
};
