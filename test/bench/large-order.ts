import { parseArgs } from "node:util";
import { startStack } from "../../infra/local/stack.ts";

/**
 * `node test/bench/large-order.ts [--requests 200] [--attachments 20] [--bytes 100000]`: checks a large order out locally,
 * compares the carrier's files with the uploaded ones, and prints the peak memory of it and of a small order.
 */
const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "200" },
    attachments: { type: "string", default: "20" },
    bytes: { type: "string", default: "100000" },
  },
});
const fileBytes = Number(values.bytes);
const stack = await startStack({ port: 0 });
const { CARRIER_URL } = stack.environment;
// Imported only now that the environment has the table's address.
const { largeOrder } = await import("../support/fixtures/large-order.ts");
const { checkOutMeasured } = await import("../support/processes/measured-process.ts");
const { forwardedTo } = await import("../support/servers/carrier.ts");

const measure = async (requests: number, attachments: number) => {
  const { id, expected } = await largeOrder({ requests, attachments, fileBytes });
  const { status, cause, events, seconds, peak } = await checkOutMeasured(id);
  const arrived = await forwardedTo(CARRIER_URL, id);
  const equal = JSON.stringify(arrived) === JSON.stringify(expected);
  if (status !== "SUCCEEDED" || !equal) process.exitCode = 1;
  console.log(
    `${requests} x ${attachments}: ${status} ${cause ?? ""} in ${seconds.toFixed(1)} s, ${arrived.length} files at the carrier, ` +
      `${equal ? "bytes equal" : "NOT as uploaded"}, peak RSS ${peak.rss} MB (${peak.inUse} MB in use), ${events} history events of 25,000`,
  );
};

await measure(2, 2);
await measure(Number(values.requests), Number(values.attachments));
await stack.stop();
