import { startFiles } from "../../infra/local/files.ts";
import { startTable } from "../../infra/local/table.ts";
import { startFaultProxy } from "../support/fault-proxy/proxy.ts";

/**
 * `aws-process.ts <milliseconds>` runs the embedded DynamoDB and S3 in a separate process, since the S3 server would share the
 * measured thread. Each call takes these milliseconds longer, as over a network.
 */
const latencyMs = Number(process.argv[2]);
const { TABLE_NAME = "", BUCKET_NAME = "" } = process.env;

// It is registered first, so that this process ends even if the benchmark fails at once.
process.on("disconnect", () => process.exit(0));

const proxied = async ({ url }: { readonly url: string }) =>
  latencyMs === 0 ? url : (await startFaultProxy(url, { latencyMs })).url;
process.send?.({
  AWS_ENDPOINT_URL_DYNAMODB: await proxied(await startTable(TABLE_NAME)),
  AWS_ENDPOINT_URL_S3: await proxied(await startFiles(BUCKET_NAME)),
});
