import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import * as z from "zod/mini";
import { startCarrier } from "../../infra/local/carrier.ts";

const Urls = z.object({ AWS_ENDPOINT_URL_DYNAMODB: z.string(), AWS_ENDPOINT_URL_S3: z.string() });

/**
 * Starts the embedded DynamoDB, S3 and carrier on free ports, and sets the environment. Each call to DynamoDB and S3 takes
 * `latencyMs` longer, since the embedded ones respond faster than any network allows.
 */
export const startParts = async (latencyMs = 0) => {
  const names = { TABLE_NAME: "patchbay", BUCKET_NAME: "files", LOG_LEVEL: "SILENT" };
  const aws = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  Object.assign(process.env, aws, names);
  const child = fork(join(import.meta.dirname, "aws-process.ts"), [String(latencyMs)]);
  const [[message], carrier] = await Promise.all([once(child, "message"), startCarrier()]);
  const environment = { ...aws, ...names, ...z.parse(Urls, message), CARRIER_URL: carrier.url };
  Object.assign(process.env, environment);
  const stop = async () => {
    const gone = once(child, "exit");
    child.disconnect();
    await Promise.all([gone, carrier.close()]);
  };
  return { environment, stop };
};
