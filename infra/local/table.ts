import { setTimeout as sleep } from "node:timers/promises";
import { CreateTableCommand, DynamoDBClient, UpdateTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import { type DynoxideOptions, type Part, startDynoxide } from "./dynoxide.ts";

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
      if (attempt >= 200) throw new Error(`DynamoDB does not answer at ${endpoint}.`, { cause: error });
      await sleep(10);
    }
};

/** The embedded DynamoDB with the table made; where AWS_ENDPOINT_URL_DYNAMODB is set, the table there. */
export const startTable = async (name: string, options: DynoxideOptions = {}): Promise<Part> => {
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
    throw new Error(doesNotStart(error, options.dbPath), { cause: error });
  }
  void dynoxide.keepRunning();
  return dynoxide;
};

const doesNotStart = (error: unknown, dbPath: string | undefined): string => {
  const words = `The embedded DynamoDB does not start: ${error instanceof Error ? error.message : error}`;
  if (dbPath === undefined) return words;
  return `${words}\nIf ${dbPath} is damaged, put a copy of the folder back, or name another one with --data.`;
};
