import * as z from "zod/mini";
import { keys } from "../table/keys.ts";
import { get } from "../table/read.ts";
import { Order } from "../tenants/schema.ts";
import { limits } from "./limits.ts";
import { forwardedRequests } from "./plan.ts";
import { RequestPage, RunRef } from "./schema.ts";
import { sealParent } from "./seal.ts";

export const Round = z.object({
  ...RunRef.shape,
  /** Of the order's attachments when the round began: everything that the round reads of them is of it or newer. */
  version: z.number(),
  pages: z.array(RequestPage),
});
export type Round = z.infer<typeof Round>;

/** Begins a round: notes the version of the order's attachments, then divides the requests into pages. */
export const beginRound = async ({ order_id, run }: RunRef, loops: number): Promise<Round> => {
  const { attachments_version: version } = z.parse(Order, await get(keys.order(order_id)));
  const ids = await forwardedRequests(order_id);
  const size = Math.max(limits.requestsPerPage, Math.ceil(ids.length / limits.pages));
  const pages: RequestPage[] = [];
  for (let start = 0; start < ids.length; start += size) {
    const through = ids[Math.min(start + size, ids.length) - 1];
    if (through) pages.push({ order_id, run, after: ids[start - 1] ?? null, through, loops, waits: 0 });
  }
  return { order_id, run, version, pages };
};

/** How the pages of a round ended. */
export const RoundResults = z.array(
  z.object({ outcome: z.enum(["SEALED", "FAILED"]), loops: z.number(), reason: z.optional(z.string()) }),
);
type RoundResults = z.infer<typeof RoundResults>;

export type RoundEnd = RunRef & {
  readonly next: "SUBMIT" | "GATHER" | "FAIL";
  /** Left for the next round. */
  readonly loops: number;
  readonly reason?: string;
};

/** Ends a round: where every request is sealed, seals the order; if that does not hold, there is another round. */
export const endRound = async (
  { order_id, run, version }: Pick<Round, "order_id" | "run" | "version">,
  loopsBefore: number,
  results: RoundResults,
): Promise<RoundEnd> => {
  const ref = { order_id, run };
  const loops = Math.min(loopsBefore - 1, ...results.map((page) => page.loops));
  const failed = results.find(({ outcome }) => outcome === "FAILED");
  if (failed) return { ...ref, next: "FAIL", loops, ...(failed.reason && { reason: failed.reason }) };
  if (await sealParent(ref, { type: "order", id: order_id }, version)) return { ...ref, next: "SUBMIT", loops };
  if (loops > 0) return { ...ref, next: "GATHER", loops };
  return { ...ref, next: "FAIL", loops, reason: "The attachments of the order keep changing: try again later." };
};
