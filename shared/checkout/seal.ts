import * as z from "zod/mini";
import { keys, type ParentRef } from "../table/keys.ts";
import { get, parseItem } from "../table/read.ts";
import { transact } from "../table/write.ts";
import { forwardableRequests } from "../tenants/orders.ts";
import { forwardableType, Order } from "../tenants/tenant-schema.ts";
import { stopRun } from "./checkout-run.ts";
import { isSealedSince, RequestPage, RunRef, type Seal, Sealed } from "./checkout-schema.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { checkoutLimits } from "./limits.ts";
import { attachmentsOf, planOf } from "./plan.ts";

/** What a parent must still have when it is sealed. Of a request that is its seal, too: another copy may have sealed it since. */
type Unchanged = { readonly attachments_version: number; readonly seal?: Seal | undefined };

type Sealable = { readonly parent: ParentRef; readonly unchanged: Unchanged };

/** A transaction has at most 100 writes, and one of them is to the lock. */
const sealsPerTransaction = 99;

/**
 * Seals parents with one transaction for each 99. It succeeds only if the attachments of each and their metadata, and an
 * order's requests, have not changed since they were read, and if the run still has its lock.
 */
const sealAll = async (
  { order_id, run, passes_left }: Pick<RequestPage, "order_id" | "run" | "passes_left">,
  parents: readonly Sealable[],
): Promise<"SEALED" | "CHANGED" | "FAILED"> => {
  const isRunning = { run, status: "RUNNING" };
  for (let start = 0; start < parents.length; start += sealsPerTransaction) {
    const seals = parents.slice(start, start + sealsPerTransaction).map(({ parent, unchanged }) => {
      const seal: Seal = { run, version: unchanged.attachments_version, at: new Date().toISOString(), passes_left };
      return [parent.id, { update: keys.parent(parent), set: { seal }, when: { equals: unchanged } }] as const;
    });
    const lock = { update: keys.checkout(order_id), set: isRunning, when: { equals: isRunning } };
    const failed = await transact({ ...Object.fromEntries(seals), lock });
    if (failed.size > 0) return failed.has("lock") ? "FAILED" : "CHANGED";
  }
  return "SEALED";
};

export const liftSeal = async (parent: ParentRef, runs: readonly string[]): Promise<void> => {
  const key = keys.parent(parent);
  const { seal } = parseItem(Sealed, await get(key));
  if (seal && runs.includes(seal.run))
    await transact({ seal: { update: key, remove: ["seal"], when: { equals: { seal } } } });
};

export const Round = z.object({
  ...RunRef.shape,
  /** The order's version at the beginning of the round. Everything that the round reads of the order is at least as new. */
  version: z.number(),
  pages: z.array(RequestPage),
});
export type Round = z.infer<typeof Round>;

/** Begins a round: reads the order's version, then divides its requests into pages. */
export const beginRound = async ({ order_id, run }: RunRef, passes_left: number): Promise<Round> => {
  const { attachments_version: version } = parseItem(Order, await get(keys.order(order_id)));
  const ids = await forwardableRequests(order_id);
  const size = Math.max(checkoutLimits.requestsPerPage, Math.ceil(ids.length / checkoutLimits.pages));
  const pages: RequestPage[] = [];
  for (let start = 0; start < ids.length; start += size) {
    const through = ids[Math.min(start + size, ids.length) - 1];
    if (through)
      pages.push({ order_id, run, after: ids[start - 1] ?? null, through, passes_left, consecutive_waits: 0 });
  }
  return { order_id, run, version, pages };
};

/** Seals a page's requests if none of them has anything left to forward or withdraw. */
const sealRequests = async (page: RequestPage) => {
  const complete: Sealable[] = [];
  const ofOrder = await attachmentsOf({ type: "order", id: page.order_id });
  const requests = await forwardableRequests(page.order_id, page);
  await forEachConcurrently(checkoutLimits.concurrency, requests, async (id) => {
    const { version, seal, forward, withdraw } = await planOf(id, ofOrder);
    if (forward.length + withdraw.length > 0 || isSealedSince(seal, page)) return;
    complete.push({ parent: { type: "request", id }, unchanged: { attachments_version: version, seal } });
  });
  return complete.length < requests.length ? "CHANGED" : sealAll(page, complete);
};

type SealedPage = RequestPage & { readonly outcome: "SEALED" | "CHANGED" | "FAILED" };

/** Seals a page's requests. If one has changed since it was forwarded, the page is forwarded again first. */
export const sealPage = async (page: RequestPage): Promise<SealedPage> => {
  const outcome = await sealRequests(page);
  if (outcome !== "CHANGED" || page.passes_left > 0) return { ...page, outcome };
  await stopRun(page, `The attachments of ${forwardableType} requests keep changing: try again later.`);
  return { ...page, outcome: "FAILED" };
};

export const RoundResults = z.array(
  z.object({ outcome: z.enum(["SEALED", "FAILED"]), passes_left: z.number(), reason: z.optional(z.string()) }),
);
type RoundResults = z.infer<typeof RoundResults>;

type RoundEnd = RunRef & {
  readonly next: "SUBMIT" | "PAGINATE" | "FAIL";
  readonly passes_left: number;
  readonly reason?: string;
};

/** Ends a round: seals the order if every request is sealed. If the order has changed, another round follows. */
export const endRound = async (
  { order_id, run, version }: Pick<Round, "order_id" | "run" | "version">,
  passesBefore: number,
  results: RoundResults,
): Promise<RoundEnd> => {
  const ref = { order_id, run };
  const passes_left = Math.min(passesBefore - 1, ...results.map((page) => page.passes_left));
  const failed = results.find(({ outcome }) => outcome === "FAILED");
  if (failed) return { ...ref, next: "FAIL", passes_left, ...(failed.reason && { reason: failed.reason }) };
  const order = { parent: { type: "order", id: order_id }, unchanged: { attachments_version: version } } as const;
  const outcome = await sealAll({ ...ref, passes_left }, [order]);
  if (outcome === "SEALED") return { ...ref, next: "SUBMIT", passes_left };
  if (outcome === "FAILED") return { ...ref, next: "FAIL", passes_left };
  if (passes_left > 0) return { ...ref, next: "PAGINATE", passes_left };
  return { ...ref, next: "FAIL", passes_left, reason: "The attachments of the order keep changing: try again later." };
};
