import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Watches the memory of a process from when it is loaded on, in whole megabytes. */
setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** What the process had of the machine, and what of it was still in use after garbage collection. */
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
const timers = [setInterval(sampleRss, 20), setInterval(sampleInUse, 250)];

/** Ends the watch. */
export const endPeak = () => {
  for (const timer of timers) clearInterval(timer);
  sampleRss();
  sampleInUse();
  return peak;
};
