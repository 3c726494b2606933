import * as z from "zod/mini";
import { isActive, markCrashed, readRun } from "../../shared/checkout/run.ts";
import { OrderId } from "../../shared/checkout/schema.ts";
import { log } from "../../shared/log.ts";

const Detail = z.object({ name: z.string(), status: z.string(), input: z.string() });
const Input = z.object({ order_id: OrderId });

/** Runs after a checkout's execution has failed. Releases the lock if the execution's own failure path could not. */
export const handler = async (event: unknown): Promise<void> => {
  const { name: run, status, input } = z.parse(z.object({ detail: Detail }), event).detail;
  const order = z.safeParse(Input, JSON.parse(input)).data?.order_id;
  const last = order && (await readRun(order));
  const isLocked = last && last.run === run && isActive(last, new Date());
  const released = isLocked ? await markCrashed(order, last, new Date()) : false;
  log.info("release-lock", { order_id: order, run, status, released });
};
