import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Measures the peak memory of this process in megabytes, from the import of this module on. */
setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Resident memory, and memory in use after garbage collection. */
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

// Samples replace resourceUsage().maxRSS, which starts with the memory of the parent process.
const timers = [setInterval(sampleRss, 20), setInterval(sampleInUse, 250)];

export const endPeak = () => {
  for (const timer of timers) clearInterval(timer);
  sampleRss();
  sampleInUse();
  return peak;
};
