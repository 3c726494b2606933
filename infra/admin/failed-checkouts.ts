import pLimit from "p-limit";
import { isOpen, readRun } from "../../shared/checkout/checkout-run.ts";
import type { Order } from "../../shared/tenants/tenant-schema.ts";
import { explain } from "./command-errors.ts";
import { findAccount, ordersInCheckout } from "./find.ts";
import { printRows } from "./output.ts";
import { withProgress } from "./progress.ts";
import { isExecuting, startCheckout, waitForCheckout } from "./start-checkout.ts";

const atOnce = 10;

/** How the last run of an order has failed, if it has. A run whose execution has ended without recording it has crashed. */
const failureOf = async ({ id, account }: Order) => {
  const before = await readRun(id);
  if (!before || (isOpen(before) && (await isExecuting(before.run)))) return [];
  const last = isOpen(before) ? ((await readRun(id)) ?? before) : before;
  if (last.run !== before.run || last.status === "SUCCEEDED") return [];
  const { run, ended_at, reason } = last;
  return [{ id, account, run, status: isOpen(last) ? "CRASHED" : last.status, ended_at, reason }];
};

/** The orders of one account, or of all, whose last run has failed or crashed. */
export const failedOrders = async (account: string | undefined) => {
  if (account !== undefined) await findAccount(account);
  const reading = async () => {
    const orders = (await ordersInCheckout()).filter((order) => account === undefined || order.account === account);
    return (await pLimit(atOnce).map(orders, failureOf)).flat();
  };
  return withProgress(reading, "Reading the orders …");
};

/** `order checkout --failed`: starts the checkouts again, and prints how each has ended. */
export const checkOutFailed = async (account: string | undefined): Promise<void> => {
  const orders = await failedOrders(account);
  console.error(`${orders.length} to check out. Ctrl-C stops waiting; runs that have started continue.`);
  const ends = await pLimit(atOnce).map(orders, async ({ id }) => {
    const end = await startCheckout(id)
      .then((run) => waitForCheckout(run, 2_000))
      .catch((error: unknown) => ({ run: null, status: "FAILED", reason: explain(error) }));
    console.error(`${id}  ${end.status}`);
    return { id, ...end };
  });
  if (ends.some(({ status }) => status !== "SUCCEEDED")) process.exitCode = 1;
  printRows(ends, true);
};
