import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/**
 * Measures one cold start. Imports the bundle, and calls it with an event that it refuses without AWS. This is a request without a
 * key, or an empty state, for which a step throws. Then calls it with a complete event. Prints the milliseconds until each
 * response, and the processor time until the second.
 */
const [bundle = "", name = "", eventFile = ""] = process.argv.slice(2);
const { refused, complete } = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { getRemainingTimeInMillis: () => 29_000 };
const start = performance.now();
const used = process.cpuUsage();
const { [name]: handler } = await import(pathToFileURL(bundle).href);
await handler(refused, context).catch(() => undefined);
const first = performance.now() - start;
const response = await handler(complete, context);
const whole = performance.now() - start;
const { user, system } = process.cpuUsage(used);
console.log(JSON.stringify({ first, whole, processor: (user + system) / 1000, status: response?.statusCode ?? 200 }));
process.exit(0);
