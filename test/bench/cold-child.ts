import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/**
 * One cold start: imports the bundle, hands it an event that takes one round trip to AWS (where there is one), then a
 * whole one, and prints the milliseconds until each response; `first` is that of the first event handed over.
 */
const [bundle = "", eventFile = ""] = process.argv.slice(2);
const { alone, whole } = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { getRemainingTimeInMillis: () => 29_000 };
const start = performance.now();
const { handler } = await import(pathToFileURL(bundle).href);
if (alone) await handler(alone, context);
const early = performance.now() - start;
const answer = await handler(whole, context);
const done = performance.now() - start;
console.log(JSON.stringify({ first: alone ? early : done, whole: done, status: answer?.statusCode ?? 200 }));
process.exit(0);
