import { checkOut } from "../support/servers/workflow.ts";
import { endPeak } from "./peak-memory.ts";

/**
 * `node test/bench/check-out-order.ts <order>`: runs one checkout in a process of its own, against the environment's table,
 * files and carrier, and prints as JSON how it ended and what it took.
 */
const started = performance.now();
const { status, cause, events } = await checkOut(process.argv[2] ?? "");
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ status, cause, events, seconds, peak: endPeak() }));
