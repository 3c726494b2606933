import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { checkOut } from "../support/servers/workflow.ts";

/**
 * `node test/bench/check-out-order.ts <order>`: runs one checkout in a process of its own, against the environment's table,
 * files and carrier, and prints as JSON how it ended and what it took.
 */
setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** In whole megabytes: what the process had of the machine, and what of it was still in use after garbage collection. */
const peak = { rss: 0, inUse: 0 };
const megabytes = (bytes: number) => Math.round(bytes / 1e6);
const sampleRss = () => {
  peak.rss = Math.max(peak.rss, megabytes(process.memoryUsage.rss()));
};
const sampleInUse = () => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  peak.inUse = Math.max(peak.inUse, megabytes(heapUsed + external));
};

// Not resourceUsage().maxRSS: that begins with the memory of the process that forked this one.
const timers = [setInterval(sampleRss, 20), setInterval(sampleInUse, 1000)];
const started = performance.now();
const { status, cause, events } = await checkOut(process.argv[2] ?? "");
const seconds = (performance.now() - started) / 1000;
for (const timer of timers) clearInterval(timer);
sampleRss();
sampleInUse();
console.log(JSON.stringify({ status, cause, events, seconds, peak }));
