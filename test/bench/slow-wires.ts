import { once } from "node:events";
import * as z from "zod/mini";
import { startWire } from "../support/wire.ts";

/** A process between a benchmark and its table and bucket, which adds to each call what a network takes. */
const Targets = z.object({ table: z.string(), files: z.string(), latencyMs: z.number() });

const { table, files, latencyMs } = z.parse(Targets, (await once(process, "message"))[0]);
const wires = await Promise.all([table, files].map((target) => startWire(target, { latencyMs })));
process.send?.({ table: wires[0]?.url, files: wires[1]?.url });
process.on("disconnect", () => process.exit(0));
