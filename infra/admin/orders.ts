import { type Command, InvalidArgumentError, Option } from "commander";
import pLimit from "p-limit";
import { checkoutLimits } from "../../shared/checkout/limits.ts";
import { readRequest, requestsOfOrder } from "../../shared/tenants/orders.ts";
import type { Order } from "../../shared/tenants/tenant-schema.ts";
import { create } from "./apply-command.ts";
import { checkOut, checkOutFailed, failedOrders } from "./checkout.ts";
import { UsageError } from "./command-errors.ts";
import { confirm } from "./confirm.ts";
import { findOrder, ofAccounts, ordersOf, parseId, printOwned } from "./find.ts";
import { printRecord } from "./output.ts";
import { withProgress } from "./progress.ts";
import { settle } from "./settle.ts";
import { showOrder, showRequest } from "./show-order.ts";
import { readActualRun } from "./start-checkout.ts";
import { add, parseEventText } from "./usage.ts";

type Selection = { readonly account?: string; readonly failed?: boolean };

const list = async ({ account: of, failed }: Selection) => {
  if (failed) return printOwned(await failedOrders(of));
  const orders = await ofAccounts(of, ordersOf);
  await printOwned(await withProgress(() => pLimit(10).map(orders, listed), "Reading the orders …"));
};

/** With the attachments of its requests, and how its last run has ended. */
const listed = async ({ id, account, state, attachment_count }: Order) => {
  const entries = await Array.fromAsync(requestsOfOrder(id));
  const [run, ...requests] = await Promise.all([readActualRun(id), ...entries.map((one) => readRequest(one.id))]);
  const attachments = requests.reduce((sum, request) => sum + (request?.attachment_count ?? 0), attachment_count);
  return { id, account, state, last_run: run?.status ?? null, ended_at: run?.ended_at ?? null, attachments };
};

type Settlement = {
  readonly checkedOut?: boolean;
  readonly notCheckedOut?: boolean;
  readonly askedAt?: Date;
  readonly reason: string;
  readonly yes?: boolean;
};

/** The carrier's answer is about a time, which cannot be in the future. */
const pastTime = (text: string): Date => {
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError("It must be an ISO 8601 date and time with its zone, such as 2030-01-01T00:00:00Z.");
  if (time.getTime() > Date.now() + checkoutLimits.clockSkewMs) throw new InvalidArgumentError("It is in the future.");
  return time;
};

const settleAs = async (id: string, { checkedOut, notCheckedOut, askedAt, reason, yes }: Settlement) => {
  if (!(checkedOut || notCheckedOut))
    throw new UsageError("Missing: --checked-out or --not-checked-out, what the carrier says of the cart.");
  if (notCheckedOut && !askedAt)
    throw new UsageError("Missing: --asked-at <time>, when the carrier said that the cart is not checked out.");
  const effect = checkedOut ? "becomes CHECKED_OUT, which cannot be undone" : "can be checked out again";
  if (!yes && process.stdin.isTTY) await confirm(`The order ${id} ${effect}. Continue?`);
  return settle(id, checkedOut ? "checked_out" : "open", reason, askedAt);
};

export const addOrderCommands = (order: Command): void => {
  add(order, "create", "create an order")
    .requiredOption("--account <id>", "the account that owns it", parseId)
    .option("--state <state>", "CART or CHECKED_OUT", "CART")
    .action(async ({ account, state }: { account: string; state: string }) =>
      printRecord(await create("orders", { account, state })),
    );
  add(order, "list", "list the orders of one account, or of every account")
    .option("--account <id>", "only those of this account", parseId)
    .option("--failed", "only those whose last checkout has failed or crashed, with the reason")
    .action(list);
  add(
    order,
    "show <id>",
    "show an order, its last runs, its requests and what of their attachments was forwarded",
  ).action((id: string) => showOrder(id));
  add(order, "checkout [id]", "forward every attachment to the carrier, then check out its cart")
    .option("--wait", "wait until the run ends and print its progress; exits with 1 unless it SUCCEEDED")
    .option("--failed", "check out all orders whose last checkout has failed or crashed, ten at once, and wait")
    .option("--account <id>", "with --failed: only those of this account", parseId)
    .addHelpText(
      "after",
      `
Example: npm run admin -- order checkout 01J… --wait

Starting a checkout twice is harmless: an order has one run at a time. After a failure, start it again; it forwards only what
is missing.`,
    )
    .action((id: string | undefined, { failed, account, ...options }: Selection & { wait?: boolean }) => {
      if (failed && id === undefined) return checkOutFailed(account);
      if (id === undefined || failed || account !== undefined)
        throw new UsageError("Pass the id of an order, or --failed (with --account for those of one account).");
      return checkOut(id, options);
    });
  add(order, "settle <id>", "record whether the carrier checked the cart out, where a run could not find out")
    .addOption(
      new Option(
        "--checked-out",
        "it did: the order becomes CHECKED_OUT; what was added or changed since is not forwarded",
      ).conflicts("notCheckedOut"),
    )
    .addOption(
      new Option(
        "--not-checked-out",
        "it did not: the seal is lifted; the next run forwards what was added or changed since",
      ).conflicts("checkedOut"),
    )
    .option("--asked-at <time>", "when the carrier said so; --not-checked-out needs it", pastTime)
    .requiredOption("--reason <text>", "who at the carrier said so, for the history", parseEventText)
    .option("-y, --yes", "don't ask for confirmation")
    .addHelpText(
      "after",
      '\nExample: npm run admin -- order settle 01J… --not-checked-out --asked-at 2030-01-01T09:30:00Z --reason "Ticket 4711"',
    )
    .action(settleAs);
};

export const addRequestCommands = (request: Command): void => {
  add(request, "create", "create a request within an order")
    .requiredOption("--order <id>", "the order", parseId)
    .requiredOption("--type <type>", "ADD_MESSAGING_NUMBERS, or any other type")
    .option("--account <id>", "the account that owns it: the order's account (the default) or one below it", parseId)
    .action(async ({ order, type, account }: { order: string; type: string; account?: string }) =>
      printRecord(await create("requests", { order, type, ...(account && { account }) })),
    );
  add(request, "list", "list the requests of an order")
    .requiredOption("--order <id>", "the order", parseId)
    .action(async ({ order }: { order: string }) =>
      printOwned(await Array.fromAsync(requestsOfOrder((await findOrder(order)).id))),
    );
  add(request, "show <id>", "show a request, its attachments, and what has been forwarded to the carrier").action(
    (id: string) => showRequest(id),
  );
};
