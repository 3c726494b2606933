import { readFileSync } from "node:fs";
import { uploadBare } from "./upload-bare.ts";

/** Runs one upload in a separate process. Prints how far the peak memory exceeds the memory with the event loaded. */
const [mode = "", eventFile = ""] = process.argv.slice(2);
const { request: handler } = await import("../../functions/attachments/create.ts");
const upload = mode === "bare" ? uploadBare : handler;
const [small, event] = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { getRemainingTimeInMillis: () => 29_000 };
// The first request loads the lazy modules.
await Reflect.apply(upload, undefined, [small, context]);
globalThis.gc?.();
const usedMemory = () => {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const before = usedMemory();
let peak = before;
const watch = setInterval(() => {
  peak = Math.max(peak, usedMemory());
}, 1);
const { statusCode } = await Reflect.apply(upload, undefined, [event, context]);
clearInterval(watch);
console.log(JSON.stringify({ extra: Math.max(peak, usedMemory()) - before, status: statusCode }));
process.exit(0);
