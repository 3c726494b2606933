import { startFiles } from "../../infra/local/files.ts";
import { startTable } from "../../infra/local/table.ts";
import { startFaultProxy } from "../support/fault-proxy/proxy.ts";

/**
 * `aws-process.ts <table> <bucket> <milliseconds>`: runs the embedded DynamoDB and S3 in a separate process, since the S3 server
 * would share the measured thread. The milliseconds are added to each call, as the time that a network takes.
 */
const [tableName = "", bucket = "", latencyMs = ""] = process.argv.slice(2);

// Registered first, so that this process also ends with a benchmark that fails at once.
process.on("disconnect", () => process.exit(0));

const parts = await Promise.all([startTable(tableName), startFiles(bucket)]);
const proxied = async (url: string) =>
  latencyMs === "0" ? url : (await startFaultProxy(url, { latencyMs: Number(latencyMs) })).url;
const [table, files] = await Promise.all(parts.map(({ url }) => proxied(url)));
process.send?.({ table, files });
