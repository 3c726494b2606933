import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/**
 * One cold start: imports the bundle, hands it an event that it answers by itself (where there is one), then one whose
 * answer needs AWS, and prints the milliseconds until each answer.
 */
const [bundle = "", eventFile = ""] = process.argv.slice(2);
const { alone, whole } = JSON.parse(readFileSync(eventFile, "utf8"));
const context = { getRemainingTimeInMillis: () => 29_000 };
const start = performance.now();
const { handler } = await import(pathToFileURL(bundle).href);
if (alone) await handler(alone, context).catch(() => undefined);
const first = performance.now() - start;
const answer = await handler(whole, context);
console.log(JSON.stringify({ first, whole: performance.now() - start, status: answer?.statusCode ?? 200 }));
process.exit(0);
