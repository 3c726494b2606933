import { checkOut } from "../support/servers/workflow.ts";
import { endPeak } from "./peak-memory.ts";

/**
 * `node test/bench/check-out-order.ts <order>` runs one checkout in a separate process, with the environment's table, bucket
 * and carrier, and prints the outcome and the memory as JSON.
 */
const { status, cause, events } = await checkOut(process.argv[2] ?? "");
console.log(JSON.stringify({ status, cause, events, peak: endPeak() }));
