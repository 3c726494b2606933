import { readFileSync } from "node:fs";
import { uploadBare } from "./upload-bare.ts";

/** One upload in a process of its own: prints by how much its peak memory exceeds what it held with the event in hand. */
const [mode = "", eventFile = ""] = process.argv.slice(2);
const { handler } = await import("../../functions/request-attachments/create.ts");
const upload = mode === "bare" ? uploadBare : handler;
const [small, event] = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { getRemainingTimeInMillis: () => 29_000 };
// The first answer loads what is loaded lazily.
await Reflect.apply(upload, undefined, [small, context]);
globalThis.gc?.();
const held = () => {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const before = held();
let peak = before;
const watch = setInterval(() => {
  peak = Math.max(peak, held());
}, 1);
const { statusCode } = await Reflect.apply(upload, undefined, [event, context]);
clearInterval(watch);
console.log(JSON.stringify({ extra: Math.max(peak, held()) - before, status: statusCode }));
process.exit(0);
