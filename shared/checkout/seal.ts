import { keys, type ParentRef } from "../table/keys.ts";
import { update } from "../table/write.ts";
import { bounded } from "./bounded.ts";
import { limits } from "./limits.ts";
import { attachmentsOf, forwardedRequests, planOf } from "./plan.ts";
import { stopRun } from "./run.ts";
import type { RequestPage, RunRef, Seal } from "./schema.ts";
import { forwardedType } from "./schema.ts";

/**
 * Seals a parent: one conditional write, which holds only while its attachments are those of `version`. Every attachment
 * confirmed before this write is in that version, and none that was deleted before it.
 */
export const sealParent = ({ run }: Pick<RunRef, "run">, parent: ParentRef, version: number): Promise<boolean> => {
  const seal: Seal = { run, version, at: new Date().toISOString() };
  return update({ update: keys.parent(parent), set: { seal }, when: { equals: { attachments_version: version } } });
};

/** Lifts a parent's seal. */
export const liftSeal = (parent: ParentRef): Promise<boolean> =>
  update({ update: keys.parent(parent), remove: ["seal"], when: { exists: true } });

/** Seals each request of a page, unless something is left to forward or to withdraw; whether all are sealed. */
export const sealRequests = async (page: RequestPage): Promise<boolean> => {
  let sealed = true;
  const ofOrder = await attachmentsOf({ type: "order", id: page.order_id });
  await bounded(limits.concurrency, await forwardedRequests(page.order_id, page), async (id) => {
    const { version, forward, withdraw } = await planOf(id, ofOrder);
    const complete = forward.length === 0 && withdraw.length === 0;
    if (!(complete && (await sealParent(page, { type: "request", id }, version)))) sealed = false;
  });
  return sealed;
};

export type SealedPage = RequestPage & { readonly outcome: "SEALED" | "CHANGED" | "FAILED" };

/** Seals a page's requests; what has changed since it was forwarded is to be forwarded first. */
export const sealPage = async (page: RequestPage): Promise<SealedPage> => {
  if (await sealRequests(page)) return { ...page, outcome: "SEALED" };
  if (page.loops > 0) return { ...page, outcome: "CHANGED" };
  await stopRun(page, `The attachments of ${forwardedType} requests keep changing: try again later.`);
  return { ...page, outcome: "FAILED" };
};
