import { once } from "node:events";
import * as z from "zod/mini";
import { startFiles } from "../../infra/local/files.ts";
import { startTable } from "../../infra/local/table.ts";
import { startFaultProxy } from "../support/fault-proxy/proxy.ts";

/**
 * Runs the embedded DynamoDB and S3 in a separate process, since the S3 server would share the measured thread. `latencyMs`
 * is added to each call, as the time that a network takes.
 */
const Options = z.object({ table: z.string(), bucket: z.string(), latencyMs: z.number() });

// Registered first, so that this process also ends with a benchmark that fails at once.
process.on("disconnect", () => process.exit(0));

const options = z.parse(Options, (await once(process, "message"))[0]);
const parts = await Promise.all([startTable(options.table), startFiles(options.bucket)]);
const { latencyMs } = options;
const [table, files] = await Promise.all(
  parts.map(async ({ url }) => (latencyMs > 0 ? (await startFaultProxy(url, { latencyMs })).url : url)),
);
process.send?.({ table, files });
