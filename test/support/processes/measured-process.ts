import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod/mini";

/** Megabytes: of the machine's memory, and in use after garbage collection. */
const Peak = z.object({ rss: z.number(), inUse: z.number() });

const CheckedOut = z.object({
  status: z.string(),
  cause: z.nullable(z.string()),
  /** That AWS would write into the execution's history. */
  events: z.number(),
  seconds: z.number(),
  peak: Peak,
});

const Claimed = z.object({ statuses: z.array(z.number()), peak: Peak });

/**
 * Runs a script in a process of its own, whose memory is that of the functions alone. Its heap is kept small, the space for
 * new objects above all: where there is plenty, V8 takes its time to collect garbage, and what is held could not be told
 * from what is not.
 */
const measured = async (script: string, ...args: readonly string[]) => {
  const env = { ...process.env, LOG_LEVEL: "SILENT" };
  const flags = ["--max-old-space-size=128", "--max-semi-space-size=1"];
  const path = join(import.meta.dirname, "../../bench", script);
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, path, ...args], { env });
  return JSON.parse(stdout);
};

/** Checks an order out. */
export const checkOutMeasured = async (order: string) =>
  z.parse(CheckedOut, await measured("check-out-order.ts", order));

/** Creates the attachment of a direct upload, and calls the other functions of one. `file` is what is said of it. */
export const claimMeasured = async (key: string, request: string, upload: string, file: object) =>
  z.parse(Claimed, await measured("claim-upload.ts", key, request, upload, JSON.stringify(file)));
