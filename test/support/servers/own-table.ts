import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { vi } from "vitest";
import { startFiles } from "../../../infra/local/files.ts";
import { startTable } from "../../../infra/local/table.ts";
import { startFaultProxy } from "../fault-proxy/proxy.ts";
import { serveEndpoints } from "./endpoints.ts";

/**
 * Runs the service in this process with proxies in front of the table and the bucket, for test files that inject faults or
 * count all items. The files of one process take turns, and each starts with a new table and bucket.
 */
const { AWS_ENDPOINT_URL_DYNAMODB = "", AWS_ENDPOINT_URL_S3 = "" } = process.env;

/** The addresses of the embedded DynamoDB and S3 behind the proxies. */
const endpoints = { table: AWS_ENDPOINT_URL_DYNAMODB, files: AWS_ENDPOINT_URL_S3 };

/** The length of shortened timeouts. TEST_TIMING=off allows for a DynamoDB that is slower than the embedded one. */
export const shortTimeoutMs = process.env.TEST_TIMING === "off" ? 1_500 : 300;

// Both are longer than a shortened timeout.
const timing = { lateMs: 2 * shortTimeoutMs, delayMs: 1_700 + shortTimeoutMs };
export const proxies = {
  // A transaction takes 8 ms, as on AWS, and conflicts with overlapping ones.
  table: await startFaultProxy(endpoints.table, { ...timing, transactionMs: 8 }),
  files: await startFaultProxy(endpoints.files, timing),
};

const gateway = await serveEndpoints();

/** Gives the service a new, empty table and bucket. */
export const startOnNewTable = async () => {
  const name = `own-${crypto.randomUUID()}`;
  await Promise.all([startTable(name, { endpoint: endpoints.table }), startFiles(name, { endpoint: endpoints.files })]);
  Object.assign(process.env, { AWS_ENDPOINT_URL_DYNAMODB: proxies.table.url, AWS_ENDPOINT_URL_S3: proxies.files.url });
  Object.assign(process.env, { TABLE_NAME: name, BUCKET_NAME: name });
};

/**
 * Makes retries cost nothing of the SDK's retry quota. The quota refills slowly, so many faults in one process would exhaust it,
 * and later tests would get only one attempt per call.
 */
const liftRetryQuota = async () => {
  const strategy = await new DynamoDBClient({}).config.retryStrategy();
  vi.spyOn(Object.getPrototypeOf(strategy), "getCapacityCost").mockReturnValue(0);
};

/** Directs the tests to this service, with a new table, no faults and no calls in flight. */
export const serveOwnTable = async () => {
  for (const proxy of Object.values(proxies)) {
    proxy.watch(async () => {});
    proxy.choose(() => undefined);
    await proxy.idle();
    proxy.arm();
  }
  await liftRetryQuota();
  process.env.PATCHBAY_URL = gateway.url;
  await startOnNewTable();
};
