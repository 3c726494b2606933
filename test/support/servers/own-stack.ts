import { afterAll } from "vitest";
import { startFiles } from "../../../infra/local/files.ts";
import { startStack } from "../../../infra/local/stack.ts";
import { startTable } from "../../../infra/local/table.ts";
import { startWire } from "../fault-proxy/proxy.ts";

/**
 * A whole service for one test file, in its own process, with a wire before its table and one before its bucket. The
 * setup of the tests in test/faults loads it before anything makes a client.
 */
Object.assign(process.env, {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "local",
  AWS_SECRET_ACCESS_KEY: "local",
  LOG_LEVEL: "SILENT",
});
const parts = await Promise.all([startTable("patchbay"), startFiles("patchbay-files")]);
const [tablePart, filesPart] = parts;
// 2 ms is what a transaction takes at least; the tests of conflicts let it take as long as DynamoDB does.
const tableWire = await startWire(tablePart.endpoint, { delayMs: 2_000, transactionMs: 2 });
const filesWire = await startWire(filesPart.endpoint, { delayMs: 2_000 });
Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: tableWire.url, AWS_ENDPOINT_URL_S3: filesWire.url });
const stack = await startStack({ port: 0 });
process.env.PATCHBAY_URL = stack.url;

export const wires = { table: tableWire, files: filesWire };

/** The table and the bucket without a wire before them. */
export const endpoints = { table: tablePart.endpoint, files: filesPart.endpoint };

const own = crypto.randomUUID().slice(0, 8);
let generation = 0;

/** From now on the service works on a table and a bucket that are new and empty, and no other process's. */
export const startAfresh = async () => {
  generation += 1;
  const [tableName, bucketName] = [`patchbay-${own}-${generation}`, `files-${own}-${generation}`];
  Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: endpoints.table, AWS_ENDPOINT_URL_S3: endpoints.files });
  await Promise.all([startTable(tableName), startFiles(bucketName)]);
  Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: tableWire.url, AWS_ENDPOINT_URL_S3: filesWire.url });
  Object.assign(process.env, { TABLE_NAME: tableName, BUCKET_NAME: bucketName });
};

// The embedded parts may be those of all tests, where the environment names them.
await startAfresh();

afterAll(async () => {
  await stack.stop();
  await Promise.all([tableWire.close(), filesWire.close()]);
  for (const part of parts) await part.stop();
});
