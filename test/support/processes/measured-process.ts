import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod/mini";

/** Megabytes: resident, and in use after garbage collection. */
const Peak = z.object({ rss: z.number(), inUse: z.number() });

const CheckedOut = z.object({
  status: z.string(),
  cause: z.nullable(z.string()),
  /** The number of events in the execution's history on AWS. */
  events: z.number(),
  seconds: z.number(),
  peak: Peak,
});

const Claimed = z.object({ statuses: z.array(z.number()), peak: Peak });

/**
 * Runs a script in a separate process, so that its memory is that of the functions alone. The heap, above all the space for new
 * objects, is kept small: with more space V8 collects garbage later, and the peak would include garbage.
 */
const measured = async (script: string, ...args: readonly string[]) => {
  const env = { ...process.env, LOG_LEVEL: "SILENT" };
  const flags = ["--max-old-space-size=128", "--max-semi-space-size=1"];
  const path = join(import.meta.dirname, "../../bench", script);
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, path, ...args], { env });
  return JSON.parse(stdout);
};

/** Checks an order out in a separate process. */
export const checkOutMeasured = async (order: string) =>
  z.parse(CheckedOut, await measured("check-out-order.ts", order));

/** Creates the attachment of a direct upload, and calls the other functions, in a separate process. `file` is its declaration. */
export const claimMeasured = async (key: string, request: string, upload: string, file: object) =>
  z.parse(Claimed, await measured("claim-upload.ts", key, request, upload, JSON.stringify(file)));
