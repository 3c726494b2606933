import { once } from "node:events";
import * as z from "zod/mini";
import { startFiles } from "../../infra/local/files.ts";
import { startTable } from "../../infra/local/table.ts";
import { startWire } from "../support/fault-proxy/proxy.ts";

/**
 * The embedded DynamoDB and S3 in a process of their own, as AWS's are: S3's server would run on the thread that is
 * measured. `latencyMs` is what a network takes, added to each call.
 */
const Wanted = z.object({ table: z.string(), bucket: z.string(), latencyMs: z.number() });

// Registered first: a benchmark that fails at once must not leave this behind.
process.on("disconnect", () => process.exit(0));

const wanted = z.parse(Wanted, (await once(process, "message"))[0]);
const parts = await Promise.all([startTable(wanted.table), startFiles(wanted.bucket)]);
const { latencyMs } = wanted;
const [table, files] = await Promise.all(
  parts.map(async ({ endpoint }) => (latencyMs > 0 ? (await startWire(endpoint, { latencyMs })).url : endpoint)),
);
process.send?.({ table, files });
