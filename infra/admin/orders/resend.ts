import { isActive } from "../../../shared/checkout/checkout-run.ts";
import { checkoutLimits } from "../../../shared/checkout/limits.ts";
import { inTransactions, receiptsOfOrder } from "../../../shared/checkout/manifest.ts";
import { forgotten, perhaps, unchanged } from "../../../shared/checkout/receipts.ts";
import { recordOf } from "../../../shared/history/record.ts";
import type { Write } from "../../../shared/table/expressions.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { CommandError } from "../cli/command-errors.ts";
import { findOrder } from "../cli/lookups.ts";
import { type Caller, operatorOrigin } from "../cli/operator.ts";
import { type Format, printRecord } from "../cli/output.ts";
import { lastRun } from "./start-checkout.ts";

/** Throws unless the receipts of an order can be forgotten. Returns its last run. */
const endedRun = async (order: string, state: string) => {
  if (state !== "CART") throw new CommandError("The order is checked out: the carrier takes nothing more of it.");
  const last = await lastRun(order);
  if (!last) throw new CommandError("Nothing of this order was sent: `order checkout` sends it.");
  if (isActive(last, new Date()))
    throw new CommandError(`The run ${last.run} is in progress: wait until it has ended.`);
  if (last.outcome_unknown)
    throw new CommandError(
      `It is unknown whether the cart is checked out: \`order checkout ${order}\` asks the carrier first.`,
    );
  return last;
};

/** Returns the receipts of what was sent and not withdrawn, of these attachments, or of all if there are none. */
const sentReceipts = async (order: string, attachments: readonly string[]) => {
  const all = (await receiptsOfOrder(order)).receipts.filter(({ receipt }) => receipt.state !== "withdrawn");
  const known = new Set(all.map(({ receipt }) => receipt.attachment));
  const unknown = attachments.filter((id) => !known.has(id));
  if (unknown.length > 0) throw new CommandError(`Nothing was sent of ${unknown.join(", ")}.`);
  if (all.length === 0) throw new CommandError("Nothing of this order was sent: `order checkout` sends it.");
  return attachments.length > 0 ? all.filter(({ receipt }) => attachments.includes(receipt.attachment)) : all;
};

/**
 * `order resend`, for what the carrier has lost. Forgets what the receipts of an order say, so that its next run forwards the
 * attachments again under other keys. Fails if a run starts meanwhile.
 */
export const resend = async (given: string, attachments: readonly string[], called: Format & Caller): Promise<void> => {
  const { id, account, state } = await findOrder(given);
  const { run, status } = await endedRun(id, state);
  const receipts = await sentReceipts(id, attachments);
  const origin = await operatorOrigin(called);
  const at = origin.now.toISOString();
  // A carrier that has lost an attachment says so in response to its DELETE, too.
  const writes = receipts.map(({ request, receipt }): Write => {
    const { key, expires_at } = forgotten(receipt, at);
    const set = { state: "pending", at, key, held: perhaps(receipt), expires_at };
    return { update: keys.receipt(request, receipt.attachment), set, when: unchanged(receipt) };
  });
  const ids = new Set(receipts.map(({ receipt }) => receipt.attachment));
  const reason = attachments.length > 0 ? [...ids].join(", ") : "all attachments";
  const change = { type: "order.resend_requested", account, resource: { type: "order", id, version: null } } as const;
  let event: Write | undefined = recordOf({ ...change, evidence: { reason: reason.slice(0, 500) } }, origin);
  for (const some of inTransactions(writes, checkoutLimits.writesAtOnce)) {
    const unmet = await transact({
      ...some,
      event,
      // The version of the receipts moves, so that no copy of a step seals the order by what they have said before.
      order: { update: keys.order(id), add: { receipts_version: 1 }, when: { equals: { state: "CART" } } },
      run: { update: keys.checkout(id), set: { run }, when: { equals: { run, status, outcome_unknown: false } } },
    });
    if (unmet)
      throw new CommandError("The order's checkout has changed meanwhile: run order show, then order resend again.");
    event = undefined;
  }
  if (called.json) return printRecord({ id, attachments: [...ids] }, called);
  printRecord({ id, attachments: ids.size, next: `\`order checkout ${id}\` forwards them again.` }, called);
};
