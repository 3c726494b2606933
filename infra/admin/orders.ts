import { type Command, Option } from "commander";
import pLimit from "p-limit";
import { readRequest, requestsOfOrder } from "../../shared/tenants/orders.ts";
import type { Order } from "../../shared/tenants/tenant-schema.ts";
import { create } from "./apply-command.ts";
import { checkOut, checkOutFailed, failedOrders } from "./checkout.ts";
import { UsageError } from "./command-errors.ts";
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

type Settlement = { readonly checkedOut?: boolean; readonly open?: boolean; readonly because: string };

const settleAs = (id: string, { checkedOut, open, because }: Settlement) => {
  if (!(checkedOut || open))
    throw new UsageError("Missing: --checked-out or --open, what the carrier says of the cart.");
  return settle(id, checkedOut ? "checked_out" : "open", because);
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
  add(order, "settle <id>", "end a run's doubt whether the carrier has checked the cart out, after asking the carrier")
    .addOption(
      new Option(
        "--checked-out",
        "it has: the order becomes CHECKED_OUT, and what was added or changed since is not forwarded",
      ).conflicts("open"),
    )
    .addOption(
      new Option(
        "--open",
        "it has not: the seals are lifted, and the next run forwards what was added or changed since",
      ).conflicts("checkedOut"),
    )
    .requiredOption("--because <text>", "who at the carrier has said so, for the history", parseEventText)
    .addHelpText("after", '\nExample: npm run admin -- order settle 01J… --open --because "Their support, ticket 4711"')
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
