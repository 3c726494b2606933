import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import * as z from "zod/mini";
import { startCarrier } from "../../infra/local/carrier.ts";
import { startFiles } from "../../infra/local/files.ts";
import { startTable } from "../../infra/local/table.ts";

const Urls = z.object({ table: z.string(), files: z.string() });

/**
 * The embedded parts on free ports, and the environment that names them. `latencyMs` is added to each call of DynamoDB
 * and S3, by a process of its own: embedded, they answer in less time than any network takes.
 */
export const startParts = async (latencyMs = 0) => {
  const aws = { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  Object.assign(process.env, aws, { LOG_LEVEL: "SILENT" });
  const [table, files, carrier] = await Promise.all([startTable("patchbay"), startFiles("files"), startCarrier()]);
  const environment = {
    ...aws,
    TABLE_NAME: "patchbay",
    BUCKET_NAME: "files",
    DYNAMODB_ENDPOINT: table.endpoint,
    S3_ENDPOINT: files.endpoint,
    CARRIER_URL: carrier.url,
    LOG_LEVEL: "SILENT",
  };
  const slow = latencyMs > 0 ? fork(join(import.meta.dirname, "slow-wires.ts")) : undefined;
  if (slow) {
    slow.send({ table: table.endpoint, files: files.endpoint, latencyMs });
    const urls = z.parse(Urls, (await once(slow, "message"))[0]);
    Object.assign(environment, { DYNAMODB_ENDPOINT: urls.table, S3_ENDPOINT: urls.files });
  }
  Object.assign(process.env, environment);
  const stop = async () => {
    slow?.kill();
    await Promise.all([table.stop(), files.stop(), carrier.close()]);
  };
  return { environment, stop };
};
