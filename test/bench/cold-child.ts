import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/**
 * Measures one cold start: imports the bundle, calls it with an event that takes one round trip to AWS, if there is one, and
 * then with a complete request. Prints the milliseconds until each response; `first` is the response to the first event.
 */
const [bundle = "", eventFile = ""] = process.argv.slice(2);
const { alone, whole } = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { getRemainingTimeInMillis: () => 29_000 };
const start = performance.now();
const { handler } = await import(pathToFileURL(bundle).href);
if (alone) await handler(alone, context);
const early = performance.now() - start;
const response = await handler(whole, context);
const done = performance.now() - start;
console.log(JSON.stringify({ first: alone ? early : done, whole: done, status: response?.statusCode ?? 200 }));
process.exit(0);
