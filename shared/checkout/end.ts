import { keys, type ParentRef } from "../table/keys.ts";
import { transact } from "../table/write.ts";
import { bounded } from "./bounded.ts";
import { limits } from "./limits.ts";
import { forwardedRequests } from "./plan.ts";
import { noteRun, readRun } from "./run.ts";
import type { RunRef } from "./schema.ts";
import { liftSeal } from "./seal.ts";

/** Makes the order CHECKED_OUT, and with it its requests, which have no other state; repeating it is harmless. */
export const finishRun = async ({ order_id, run }: RunRef, now: Date): Promise<void> => {
  const done = { status: "DONE", asked: false, ended_at: now.toISOString() };
  const refused = await transact({
    order: { update: keys.order(order_id), set: { state: "CHECKED_OUT" }, when: { equals: { state: "CART" } } },
    run: { update: keys.checkout(order_id), set: done, when: { equals: { run, status: "RUNNING" } } },
  });
  if (refused.size === 0) return;
  const last = await readRun(order_id);
  if (!(last?.run === run && last.status === "DONE")) throw new Error(`The run ${run} has lost its lock.`);
};

/**
 * Ends a run that has failed: lifts its seals, records the reason, gives up the lock. While nobody knows whether the
 * carrier has checked the cart out, the seals stand: what they say of the carrier's files may be final.
 */
export const failRun = async (ref: RunRef, given: string, now: Date): Promise<{ readonly reason: string }> => {
  const last = await readRun(ref.order_id);
  if (!last || last.run !== ref.run) return { reason: given };
  const reason = last.reason ?? given;
  if (last.status !== "RUNNING" && last.status !== "STOPPING") return { reason };
  if (!last.asked) await liftSeals(ref.order_id);
  const doubt = last.asked ? " Whether the cart is checked out is not known: the next run asks that first." : "";
  const told = reason.endsWith(doubt) ? reason : reason + doubt;
  await noteRun(ref, { status: "FAILED", reason: told, ended_at: now.toISOString() }, last.status);
  return { reason: told };
};

const liftSeals = async (order: string) => {
  const requests = (await forwardedRequests(order)).map((id): ParentRef => ({ type: "request", id }));
  await bounded(limits.concurrency, [{ type: "order", id: order } as const, ...requests], async (parent) => {
    await liftSeal(parent);
  });
};
