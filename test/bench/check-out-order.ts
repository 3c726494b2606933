import { checkOut } from "../support/servers/workflow.ts";
import { endPeak } from "./peak-memory.ts";

/**
 * `node test/bench/check-out-order.ts <order>`: runs one checkout in a separate process, with the environment's table, bucket
 * and carrier, and prints the outcome, time and memory as JSON.
 */
const started = performance.now();
const { status, cause, events } = await checkOut(process.argv[2] ?? "");
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ status, cause, events, seconds, peak: endPeak() }));
