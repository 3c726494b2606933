import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { pipeline } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type CreateTableCommandInput, DynamoDB } from "@aws-sdk/client-dynamodb";
import { lookupIndex } from "../../shared/table/keys.ts";
import type { AwsAccess } from "./aws-access.ts";
import { isDiskFull } from "./disk-full.ts";
import { type DynoxideOptions, startDynoxide } from "./dynoxide.ts";
import { serveLocally } from "./listen.ts";

type NewTable = { readonly name: string; readonly hasStream: boolean; readonly access: AwsAccess | undefined };

const createTable = async (endpoint: string, { name, hasStream, access }: NewTable) => {
  const client = new DynamoDB({ ...access, endpoint, maxAttempts: 1 });
  const table: CreateTableCommandInput = {
    TableName: name,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: ["pk", "sk", lookupIndex].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    GlobalSecondaryIndexes: [
      {
        IndexName: lookupIndex,
        KeySchema: [{ AttributeName: lookupIndex, KeyType: "HASH" }],
        Projection: { ProjectionType: "KEYS_ONLY" },
      },
    ],
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    ...(hasStream && { StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_IMAGE" } }),
  };
  const TimeToLiveSpecification = { AttributeName: "expires_at", Enabled: true };
  for (let attempt = 0; ; attempt += 1)
    try {
      await client.createTable(table);
      return await client.updateTimeToLive({ TableName: name, TimeToLiveSpecification });
    } catch (error) {
      if (error instanceof Error && error.name === "ResourceInUseException") return;
      // Not every database that speaks DynamoDB's protocol has streams.
      if (error instanceof Error && error.name === "ValidationException") delete table.StreamSpecification;
      if (attempt >= 200) throw new Error(`DynamoDB does not respond at ${endpoint}.`, { cause: error });
      await sleep(10);
    }
};

/** Without it, dynoxide reads all records of a stream for each new one. After 4,000 transactions, each takes five times as long. */
const indexStream = (dbPath: string) => {
  const database = new DatabaseSync(dbPath, { timeout: 5_000 });
  const columns = "(table_name, CAST(sequence_number AS INTEGER))";
  database.exec(`CREATE INDEX IF NOT EXISTS stream_order ON _stream_records ${columns}`);
  database.close();
};

/**
 * Removes records of the stream that are delivered and older than a day, and what deleted items have left in the file. The newest
 * record stays without its content, because dynoxide continues its number.
 */
const trimStream = (dbPath: string, delivered: string, now: Date) => {
  const database = new DatabaseSync(dbPath, { timeout: 5_000 });
  try {
    const [newest, old] = [
      "id = (SELECT MAX(id) FROM _stream_records)",
      "created_at < ? AND CAST(sequence_number AS INTEGER) <= CAST(? AS INTEGER)",
    ];
    const before = [now.getTime() / 1000 - 86_400, delivered];
    database.prepare(`DELETE FROM _stream_records WHERE NOT ${newest} AND ${old}`).run(...before);
    const emptied = "event_name = 'REMOVE', new_image = NULL, old_image = NULL";
    database.prepare(`UPDATE _stream_records SET ${emptied} WHERE ${newest} AND ${old}`).run(...before);
    // SQLite leaves deleted content in the file's pages.
    database.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    database.close();
  }
};

/** Starts a proxy that passes on the requests of programs on this machine, and refuses those of web pages. */
export const startProxy = (endpoint: string, port?: number) => {
  const agent = new Agent({ keepAlive: true });
  return serveLocally((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const passed = request(endpoint, { agent, method, path, headers }, (response) => {
      // The client has disconnected.
      if (outgoing.destroyed) return response.resume();
      outgoing.writeHead(response.statusCode ?? 500, response.rawHeaders);
      pipeline(response, outgoing, () => {});
    });
    passed.on("error", () => outgoing.destroy());
    pipeline(incoming, passed, () => {});
  }, port);
};

type TableOptions = DynoxideOptions & {
  /** The DynamoDB to use instead of an embedded one. */
  readonly endpoint?: string | undefined;
  /** Without it, the environment's region and credentials are used. */
  readonly access?: AwsAccess;
  readonly proxyPort?: number;
};

/**
 * Starts DynamoDB, unless there is an `endpoint`, and creates the table. In memory, it has no stream, which could not be indexed.
 */
export const startTable = async (name: string, { endpoint, access, proxyPort = 0, ...options }: TableOptions = {}) => {
  const { dbPath } = options;
  const newTable = { name, access, hasStream: dbPath !== undefined };
  if (endpoint) {
    await createTable(endpoint, newTable);
    return { url: endpoint, proxy: endpoint, trim: () => {}, close: async () => {} };
  }
  const dynoxide = await startDynoxide(options);
  try {
    await Promise.race([createTable(dynoxide.url, newTable), dynoxide.failed]);
    if (dbPath !== undefined) indexStream(dbPath);
  } catch (error) {
    await dynoxide.close();
    throw new Error(startError(error, dbPath), { cause: error });
  }
  void dynoxide.keepRunning();
  // The proxy is for other programs. This process uses `url`, which is faster and to which no browser connects.
  const proxy = await startProxy(dynoxide.url, proxyPort);
  const close = async () => {
    await Promise.all([proxy.close(), dynoxide.close()]);
  };
  const trim = (delivered: string, now = new Date()) => {
    if (dbPath !== undefined) trimStream(dbPath, delivered, now);
  };
  return { url: dynoxide.url, proxy: proxy.url, trim, close };
};

const startError = (error: unknown, dbPath: string | undefined): string => {
  const message = `The embedded DynamoDB does not start: ${error instanceof Error ? error.message : error}`;
  if (isDiskFull(error)) return `${message}\nFree space on the disk of ${dbPath ?? tmpdir()}, and start again.`;
  if (dbPath === undefined) return message;
  return `${message}\nIf ${dbPath} is damaged, restore the folder from a backup, or choose another one with --data.`;
};
