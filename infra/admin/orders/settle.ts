import { isActive, unknownCart, withSentence } from "../../../shared/checkout/checkout-run.ts";
import { checkedOut, lateChanges } from "../../../shared/checkout/late-changes.ts";
import { checkoutLimits } from "../../../shared/checkout/limits.ts";
import type { StoredEvent } from "../../../shared/history/event.ts";
import { recordOf } from "../../../shared/history/record.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { CommandError } from "../cli/command-errors.ts";
import { findOrder } from "../cli/lookups.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printRecord } from "../cli/output.ts";
import { tooLate } from "./show-order.ts";
import { lastRun } from "./start-checkout.ts";

type Outcome = NonNullable<StoredEvent["outcome"]>;

const settled: Readonly<Record<Outcome, string>> = {
  checked_out: "An operator has recorded that the cart is checked out.",
  open: "An operator has recorded that the cart is not checked out.",
};

/** Removes the last sentences of a run's reason, which state that the outcome is unknown. */
const withoutDoubt = (reason: string | null) => reason?.split(unknownCart)[0]?.trim() || null;

/** Throws unless the outcome of an order's last run is unknown and can be settled. */
const doubtedRun = async (order: string, outcome: Outcome, asked: Date | undefined) => {
  const last = await lastRun(order);
  if (last && isActive(last, new Date()))
    throw new CommandError(
      `The run ${last.run} is in progress: wait until it has ended. If it has crashed, \`order checkout ${order}\` notices that after a minute.`,
    );
  if (!last?.outcome_unknown) throw new CommandError("This order has no checkout with an unknown outcome.");
  if (outcome === "open") {
    if (last.checked_out)
      throw new CommandError(
        "The carrier has responded that it has checked the cart out: start the checkout again, which completes the order.",
      );
    const asOf = new Date(Date.parse(last.calls_end_by) + checkoutLimits.clockSkewMs);
    if (!asked || asked <= asOf)
      throw new CommandError(
        `The carrier may check the cart out until ${asOf.toISOString()}: ask it after that, and pass the time of its response as --asked-at.`,
      );
  }
  return last;
};

/**
 * `order settle`. Records whether an order's cart is checked out, as the carrier told an operator. `asked` is the time of that
 * response, because an open cart may be checked out later. Fails if another run starts meanwhile.
 */
export const settle = async (
  given: string,
  outcome: Outcome,
  because: string,
  asked: Date | undefined,
  called: Format & Caller,
): Promise<void> => {
  const { id, account } = await findOrder(given);
  const { run, status, reason, calls_end_by, checked_out } = await doubtedRun(id, outcome, asked);
  // This is after the time of the event that a crashed run gets.
  const origin = await operatorOrigin(called);
  const resource = { type: "order", id, version: null };
  const change = { type: "order.settled", account, resource, outcome, evidence: { reason: because } } as const;
  const late = outcome === "checked_out" ? await lateChanges(id, origin.now) : undefined;
  const unmet = await transact({
    ...(late
      ? await checkedOut(id, late, origin.now)
      : { order: { update: keys.order(id), remove: ["seal"], when: { exists: true } }, open: undefined }),
    run: {
      update: keys.checkout(id),
      set: { outcome_unknown: false, key: "", reason: withSentence(withoutDoubt(reason), settled[outcome]) },
      when: { equals: { run, status, outcome_unknown: true, calls_end_by, checked_out } },
    },
    event: recordOf(change, origin),
  });
  if (unmet) throw new CommandError("The order's checkout has changed meanwhile: run order show.");
  const next = outcome === "open" && !called.json ? { next: `\`order checkout ${id}\` continues.` } : {};
  printRecord({ id, outcome, ...(late && (called.json ? late.counts : tooLate(late.counts))), ...next }, called);
};
