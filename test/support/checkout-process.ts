import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as z from "zod/mini";

const Measured = z.object({
  status: z.string(),
  cause: z.nullable(z.string()),
  /** That AWS would write into the execution's history. */
  events: z.number(),
  seconds: z.number(),
  peakMegabytes: z.number(),
});

const script = new URL("../bench/check-out-order.ts", import.meta.url).pathname;

/** Checks an order out in a process of its own, whose memory is that of the workflow alone. */
export const checkOutMeasured = async (order: string, environment: Readonly<Record<string, string>> = {}) => {
  const env = { ...process.env, POWERTOOLS_LOG_LEVEL: "SILENT", ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [script, order], { env });
  return z.parse(Measured, JSON.parse(stdout));
};
