import { doubt, isActive } from "../../shared/checkout/checkout-run.ts";
import { liftSeals } from "../../shared/checkout/end.ts";
import { leftBehind } from "../../shared/checkout/plan.ts";
import type { StoredEvent } from "../../shared/history/event.ts";
import { recordOf } from "../../shared/history/record.ts";
import { keys } from "../../shared/table/keys.ts";
import { transact } from "../../shared/table/write.ts";
import { operatorOrigin } from "./apply-command.ts";
import { CommandError } from "./command-errors.ts";
import { findOrder } from "./find.ts";
import { format, printRecord } from "./output.ts";
import { tooLate } from "./show-order.ts";
import { lastRun } from "./start-checkout.ts";

type Outcome = NonNullable<StoredEvent["outcome"]>;

/** What the reason of the run says from then on. */
const settled: Readonly<Record<Outcome, string>> = {
  checked_out: "An operator has settled that the cart is checked out.",
  open: "An operator has settled that the cart is not checked out.",
};

/** The last run of an order, if it has left a doubt that can be ended. */
const doubtedRun = async (order: string, outcome: Outcome, now: Date) => {
  const last = await lastRun(order);
  if (last && isActive(last, now))
    throw new CommandError(`The run ${last.run} is in progress: wait until it has ended.`);
  if (!last?.outcome_unknown)
    throw new CommandError(
      "There is nothing to settle: its last run has left no doubt whether the cart is checked out.",
    );
  if (outcome === "open" && Date.parse(last.calls_end_by) > now.getTime())
    throw new CommandError(`The carrier may still check the cart out until ${last.calls_end_by}: ask it after that.`);
  return last;
};

/** `order settle`: ends a doubt about an order's cart, as an operator has found out. Fails if another run has started meanwhile. */
export const settle = async (given: string, outcome: Outcome, because: string): Promise<void> => {
  const { id, account } = await findOrder(given);
  const origin = await operatorOrigin();
  const { run, status, earlier_runs, reason } = await doubtedRun(id, outcome, origin.now);
  const resource = { type: "order", id, version: null };
  const change = { type: "order.settled", account, resource, outcome, evidence: { reason: because } } as const;
  const order = keys.order(id);
  const failed = await transact({
    run: {
      update: keys.checkout(id),
      set: { outcome_unknown: false, reason: reason?.replace(doubt, settled[outcome]) ?? null },
      when: { equals: { run, status, outcome_unknown: true } },
    },
    order:
      outcome === "open"
        ? { update: order, remove: ["seal"], when: { exists: true } }
        : { update: order, set: { state: "CHECKED_OUT" }, when: { equals: { state: "CART" } } },
    open: outcome === "open" ? undefined : { delete: keys.openCheckout(id) },
    event: recordOf(change, origin),
  });
  if (failed.size > 0) throw new CommandError("Another run has started meanwhile: wait until it has ended.");
  if (outcome === "open") await liftSeals(id, [run, ...earlier_runs]);
  const left = outcome === "checked_out" ? await leftBehind(id) : undefined;
  printRecord({ id, outcome, ...(left && (format.json ? left : tooLate(left))) });
};
