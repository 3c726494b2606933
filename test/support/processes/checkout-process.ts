import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as z from "zod/mini";

const Measured = z.object({
  status: z.string(),
  cause: z.nullable(z.string()),
  /** That AWS would write into the execution's history. */
  events: z.number(),
  seconds: z.number(),
  /** Megabytes: of the machine's memory, and in use after garbage collection. */
  peak: z.object({ rss: z.number(), inUse: z.number() }),
});

const script = new URL("../../bench/check-out-order.ts", import.meta.url).pathname;

/**
 * Checks an order out in a process of its own, whose memory is that of the workflow alone. Its heap is kept small: where
 * there is plenty, V8 takes its time to collect garbage, and what is held could not be told from what is not.
 */
export const checkOutMeasured = async (order: string) => {
  const env = { ...process.env, LOG_LEVEL: "SILENT" };
  const { stdout } = await promisify(execFile)(process.execPath, ["--max-old-space-size=128", script, order], { env });
  return z.parse(Measured, JSON.parse(stdout));
};
