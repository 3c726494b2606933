import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CreateTableCommand, DynamoDBClient, UpdateTimeToLiveCommand } from "@aws-sdk/client-dynamodb";

/** A part of the local stack: where it answers, and how to stop it. */
export type Part = { readonly endpoint: string; readonly stop: () => Promise<void> };

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });

const useAnother = "set AWS_ENDPOINT_URL_DYNAMODB to any DynamoDB-compatible endpoint (DynamoDB Local, LocalStack)";

const binary = (): string => {
  const { platform, arch } = process;
  if (platform !== "linux" || arch !== "x64")
    throw new Error(`The embedded DynamoDB runs on linux-x64 only, this is ${platform}-${arch}: ${useAnother}.`);
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve("@dynoxide/linux-x64/package.json")), "dynoxide");
    if (existsSync(path)) return path;
  } catch {
    // Not installed: the error below says what to do.
  }
  throw new Error(`The embedded DynamoDB is not installed: run \`npm ci\` without --omit=optional, or ${useAnother}.`);
};

const stopChild = (child: ChildProcess) => async () => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
};

/** Starts dynoxide on a free port, in memory or in a file; it dies with us, however we end. */
const startDynoxide = async (dbPath: string | undefined): Promise<Part> => {
  const port = await freePort();
  const path = dbPath === undefined ? [] : ["--db-path", dbPath];
  const child = spawn(binary(), ["--host", "127.0.0.1", "--port", String(port), ...path], { stdio: "ignore" });
  process.once("exit", () => child.kill("SIGKILL"));
  return { endpoint: `http://127.0.0.1:${port}`, stop: stopChild(child) };
};

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
export const startTable = async (name: string, dbPath?: string): Promise<Part> => {
  const given = process.env.AWS_ENDPOINT_URL_DYNAMODB;
  const part = given ? { endpoint: given, stop: async () => {} } : await startDynoxide(dbPath);
  await createTable(part.endpoint, name).catch(async (error) => {
    await part.stop();
    throw error;
  });
  return part;
};
