import { bounded } from "./bounded.ts";
import { forwardOne, type Settled, withdrawOne } from "./forward-one.ts";
import { limits, pauseSeconds } from "./limits.ts";
import { attachmentsOf, forwardedRequests, planOf } from "./plan.ts";
import { stopRun } from "./run.ts";
import type { RequestPage } from "./schema.ts";

/** A page as `forward` leaves it: all there, to be gone on with at once or after a while, or the end of the run. */
export type ForwardedPage = RequestPage & {
  readonly outcome: "FORWARDED" | "MORE" | "WAIT" | "FAILED";
  readonly wait_seconds: number;
};

/** Forwards what the carrier lacks of a page's requests and withdraws what was deleted, as far as time allows. */
export const forwardPage = async (page: RequestPage): Promise<ForwardedPage> => {
  const until = Date.now() + limits.workMs;
  let progress = false;
  let ending: Ending | undefined;
  const ofOrder = await attachmentsOf({ type: "order", id: page.order_id });
  for (const request of await forwardedRequests(page.order_id, page)) {
    const { forward, withdraw } = await planOf(request, ofOrder);
    const place = { ref: page, request };
    const calls = [
      ...withdraw.map((receipt) => () => withdrawOne(place, receipt)),
      ...forward.map((planned) => () => forwardOne(place, planned)),
    ];
    await bounded(limits.concurrency, calls, async (call) => {
      if (!ending && Date.now() > until) ending = { kind: "time" };
      if (ending) return;
      const settled = await call();
      if (settled.kind === "done") progress = true;
      else ending = graver(ending, settled);
    });
    if (ending) break;
  }
  return next({ ...page, waits: progress ? 0 : page.waits, loops: page.loops - 1 }, ending);
};

/** Why a page is left before it is done. */
type Ending = Exclude<Settled, { kind: "done" }> | { readonly kind: "time" };

/** Of two endings the one to go by: the end of the run before any wait, the longest wait before going on at once. */
const graver = (one: Ending | undefined, other: Ending): Ending => {
  if (!one || one.kind === "time" || other.kind === "stop") return other;
  if (one.kind === "stop" || other.kind === "time") return one;
  return other.wait_seconds > one.wait_seconds ? other : one;
};

const next = async (page: RequestPage, ending: Ending | undefined): Promise<ForwardedPage> => {
  if (ending === undefined) return { ...page, waits: 0, outcome: "FORWARDED", wait_seconds: 0 };
  if (ending.kind === "stop") return { ...page, outcome: "FAILED", wait_seconds: 0 };
  if (page.loops <= 0 || page.waits >= limits.waits) {
    await stopRun(page, ending.kind === "time" ? "There is more to forward than one run can take." : ending.reason);
    return { ...page, outcome: "FAILED", wait_seconds: 0 };
  }
  if (ending.kind === "time") return { ...page, outcome: "MORE", wait_seconds: 0 };
  const wait_seconds = pauseSeconds(page.waits, ending.wait_seconds, Math.random);
  return { ...page, waits: page.waits + 1, outcome: "WAIT", wait_seconds };
};
