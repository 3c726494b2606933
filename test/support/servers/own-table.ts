import { startFiles } from "../../../infra/local/files.ts";
import { startGateway } from "../../../infra/local/gateway.ts";
import { loadEndpoints } from "../../../infra/local/handlers.ts";
import { startTable } from "../../../infra/local/table.ts";
import { routes } from "../../../shared/routes.ts";
import { startWire } from "../fault-proxy/proxy.ts";
import { liftRetryQuota } from "../fault-proxy/retry-quota.ts";

/**
 * The service in this process, with a proxy before the table and one before the bucket, for the files that spoil their
 * calls or count all items. The files of one process take turns; each begins with a table and a bucket of its own.
 */
const { AWS_ENDPOINT_URL_DYNAMODB = "", AWS_ENDPOINT_URL_S3 = "" } = process.env;

/** The embedded DynamoDB and S3 without a proxy before them. */
const endpoints = { table: AWS_ENDPOINT_URL_DYNAMODB, files: AWS_ENDPOINT_URL_S3 };

/** What shortened timeouts are: longer where a sound call may be slow, on another table than the embedded one. */
export const shortTimeoutMs = process.env.TEST_TIMING === "off" ? 1_500 : 300;

// Clients whose timeouts are shortened give up before.
const timing = { lateMs: 2 * shortTimeoutMs, delayMs: 1_700 + shortTimeoutMs };
export const wires = {
  // A transaction takes 8 ms, as it does at DynamoDB, and conflicts with those that overlap with it.
  table: await startWire(endpoints.table, { ...timing, transactionMs: 8 }),
  files: await startWire(endpoints.files, timing),
};

const handlers = await loadEndpoints(routes);
const gateway = await startGateway({ routes, load: ({ name }) => handlers.get(name), port: 0 });

/** From now on the service works on a table and a bucket that are new and empty, and no other process's. */
export const startAfresh = async () => {
  const name = `own-${crypto.randomUUID()}`;
  Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: endpoints.table, AWS_ENDPOINT_URL_S3: endpoints.files });
  await Promise.all([startTable(name), startFiles(name)]);
  Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: wires.table.url, AWS_ENDPOINT_URL_S3: wires.files.url });
  Object.assign(process.env, { TABLE_NAME: name, BUCKET_NAME: name });
};

/** Directs the tests to this service, with nothing left of the file before: no fault, and no call under way. */
export const serveOwnTable = async () => {
  for (const wire of Object.values(wires)) {
    wire.watch(async () => {});
    wire.choose(() => undefined);
    wire.lock(true);
    await wire.idle();
    wire.arm();
  }
  await liftRetryQuota();
  process.env.PATCHBAY_URL = gateway.url;
  await startAfresh();
};
