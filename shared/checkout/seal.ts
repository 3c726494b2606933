import * as z from "zod/mini";
import { keys, type ParentRef } from "../table/keys.ts";
import { get, parseItem } from "../table/read.ts";
import { update } from "../table/write.ts";
import { forwardedType, Order } from "../tenants/schema.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { limits } from "./limits.ts";
import { attachmentsOf, forwardedRequests, planOf } from "./plan.ts";
import { stopRun } from "./run.ts";
import { RequestPage, RunRef, type Seal } from "./schema.ts";

/**
 * Seals a parent with one conditional write. It succeeds only if the parent's attachments and their metadata, and an order's
 * requests, have not changed since `version`.
 */
const sealParent = ({ run }: Pick<RunRef, "run">, parent: ParentRef, version: number): Promise<boolean> => {
  const seal: Seal = { run, version, at: new Date().toISOString() };
  return update({ update: keys.parent(parent), set: { seal }, when: { equals: { attachments_version: version } } });
};

export const liftSeal = (parent: ParentRef): Promise<boolean> =>
  update({ update: keys.parent(parent), remove: ["seal"], when: { exists: true } });

export const Round = z.object({
  ...RunRef.shape,
  /**
   * The order's version at the beginning of the round. Everything that the round reads of the order is at least as new.
   */
  version: z.number(),
  pages: z.array(RequestPage),
});
export type Round = z.infer<typeof Round>;

/** Begins a round: reads the order's version, then divides its requests into pages. */
export const beginRound = async ({ order_id, run }: RunRef, loops: number): Promise<Round> => {
  const { attachments_version: version } = parseItem(Order, await get(keys.order(order_id)));
  const ids = await forwardedRequests(order_id);
  const size = Math.max(limits.requestsPerPage, Math.ceil(ids.length / limits.pages));
  const pages: RequestPage[] = [];
  for (let start = 0; start < ids.length; start += size) {
    const through = ids[Math.min(start + size, ids.length) - 1];
    if (through) pages.push({ order_id, run, after: ids[start - 1] ?? null, through, loops, waits: 0 });
  }
  return { order_id, run, version, pages };
};

/** Seals each request of a page that has nothing left to forward or withdraw. Returns whether all are sealed. */
const sealRequests = async (page: RequestPage): Promise<boolean> => {
  let sealed = true;
  const ofOrder = await attachmentsOf({ type: "order", id: page.order_id });
  await forEachConcurrently(limits.concurrency, await forwardedRequests(page.order_id, page), async (id) => {
    const { version, forward, withdraw } = await planOf(id, ofOrder);
    const complete = forward.length === 0 && withdraw.length === 0;
    if (!(complete && (await sealParent(page, { type: "request", id }, version)))) sealed = false;
  });
  return sealed;
};

type SealedPage = RequestPage & { readonly outcome: "SEALED" | "CHANGED" | "FAILED" };

/** Seals a page's requests. A request that has changed since it was forwarded is forwarded again first. */
export const sealPage = async (page: RequestPage): Promise<SealedPage> => {
  if (await sealRequests(page)) return { ...page, outcome: "SEALED" };
  if (page.loops > 0) return { ...page, outcome: "CHANGED" };
  await stopRun(page, `The attachments of ${forwardedType} requests keep changing: try again later.`);
  return { ...page, outcome: "FAILED" };
};

/** The outcomes of a round's pages. */
export const RoundResults = z.array(
  z.object({ outcome: z.enum(["SEALED", "FAILED"]), loops: z.number(), reason: z.optional(z.string()) }),
);
type RoundResults = z.infer<typeof RoundResults>;

type RoundEnd = RunRef & {
  readonly next: "SUBMIT" | "GATHER" | "FAIL";
  /** How many are left for the next round. */
  readonly loops: number;
  readonly reason?: string;
};

/** Ends a round: seals the order if every request is sealed. If the order has changed, another round follows. */
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
