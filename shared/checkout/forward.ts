import { keys } from "../table/keys.ts";
import { get, parseItem } from "../table/read.ts";
import { forwardableRequests } from "../tenants/orders.ts";
import { Order } from "../tenants/tenant-schema.ts";
import { forwarding, stopRun, updateRun } from "./checkout-run.ts";
import type { Receipt, RequestPage } from "./checkout-schema.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { type CallResult, forwardOne, withdrawOne } from "./forward-attachment.ts";
import { checkoutLimits, pauseSeconds } from "./limits.ts";
import { attachmentsOf, type Plan, planOf } from "./plan.ts";
import { replaceReceipt, type Target } from "./receipts.ts";

/** The state of a page after `forward`: complete, to be continued now or later, or a failure of the run. */
type ForwardedPage = RequestPage & {
  readonly outcome: "FORWARDED" | "MORE" | "WAIT" | "FAILED";
  readonly wait_seconds: number;
};

/** Forwards what the carrier lacks of a page's requests and withdraws what was deleted, until time is up. */
export const forwardPage = async (page: RequestPage): Promise<ForwardedPage> => {
  const until = Date.now() + checkoutLimits.workMs;
  const postponed: Postponed[] = [];
  let progress = false;
  let ending: Ending | undefined;
  let unscanned: Ending | undefined;
  const { account } = parseItem(Order, await get(keys.order(page.order_id)));
  const ofOrder = await attachmentsOf({ type: "order", id: page.order_id });
  for (const request of await forwardableRequests(page.order_id, page)) {
    const plan = await planOf(request, ofOrder);
    const calls = callsOf({ ref: page, request, accounts: { order: account, request: plan.account } }, plan);
    await forEachConcurrently(checkoutLimits.concurrency, calls, async (call) => {
      if (!ending && Date.now() > until) ending = { kind: "time" };
      if (ending) return;
      const result = await call();
      if (result.kind === "done") progress = true;
      else if (result.kind === "wait" && result.unscanned) unscanned = result;
      else ending = mostSevere(ending, result);
      if (result.kind === "wait") postponed.push({ request, receipt: result.receipt });
    });
    if (ending) break;
  }
  if (progress && page.consecutive_waits > 0)
    await updateRun(page, { consecutive_waits: 0, last_answer: null, next_try_at: null }, forwarding);
  const result = await pageResult(
    { ...page, consecutive_waits: progress ? 0 : page.consecutive_waits, passes_left: page.passes_left - 1 },
    ending ?? unscanned,
  );
  if (result.outcome === "WAIT") await recordNextTry(postponed, result.wait_seconds);
  return result;
};

const callsOf = (target: Target, { forward, withdraw }: Plan): (() => Promise<CallResult>)[] => [
  ...withdraw.map((receipt) => () => withdrawOne(target, receipt)),
  ...forward.map((planned) => () => forwardOne(target, planned)),
];

/** Why the work on a page ends before the page is complete. */
type Ending = Exclude<CallResult, { kind: "done" }> | { readonly kind: "time" };

type Postponed = { readonly request: string; readonly receipt: Receipt };

/** Returns the more severe of two endings: the end of the run, then the longer wait, then the end of the time. */
export const mostSevere = (one: Ending | undefined, other: Ending): Ending =>
  one && severityOf(one) >= severityOf(other) ? one : other;

const severityOf = (ending: Ending): number => {
  if (ending.kind === "wait") return ending.wait_seconds;
  return ending.kind === "stop" ? Number.POSITIVE_INFINITY : -1;
};

const pageResult = async (page: RequestPage, ending: Ending | undefined): Promise<ForwardedPage> => {
  if (ending === undefined) return { ...page, consecutive_waits: 0, outcome: "FORWARDED", wait_seconds: 0 };
  if (ending.kind === "stop") return { ...page, outcome: "FAILED", wait_seconds: 0 };
  if (page.passes_left <= 0 || page.consecutive_waits >= checkoutLimits.consecutiveWaits) {
    await stopRun(page, ending.kind === "time" ? "There is more to forward than one run can take." : ending.reason);
    return { ...page, outcome: "FAILED", wait_seconds: 0 };
  }
  if (ending.kind === "time") return { ...page, outcome: "MORE", wait_seconds: 0 };
  const wait_seconds = pauseSeconds(page.consecutive_waits, ending.wait_seconds, Math.random);
  const consecutive_waits = page.consecutive_waits + 1;
  const waiting = { last_answer: ending.receipt.last_answer, next_try_at: inSeconds(wait_seconds) };
  if (!(await updateRun(page, { consecutive_waits, ...waiting }, forwarding)))
    return { ...page, outcome: "FAILED", wait_seconds: 0 };
  return { ...page, consecutive_waits, outcome: "WAIT", wait_seconds };
};

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

const recordNextTry = (postponed: readonly Postponed[], wait_seconds: number) =>
  forEachConcurrently(checkoutLimits.concurrency, postponed, async ({ request, receipt }) => {
    await replaceReceipt(request, receipt, { ...receipt, next_try_at: inSeconds(wait_seconds) });
  });
