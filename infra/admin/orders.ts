import type { Command } from "commander";
import { create } from "./change.ts";
import { checkOut } from "./checkout.ts";
import { findAccount } from "./find.ts";
import { accountNames, ofAccounts, ordersOf } from "./lists.ts";
import { type Output, parseId } from "./options.ts";
import { printRecord, printRows } from "./output.ts";
import { withTableProgress } from "./progress.ts";
import { showOrder } from "./show-order.ts";

const list = async ({ account, json }: Output & { account?: string }) => {
  const owner = account === undefined ? undefined : await findAccount(account);
  const orders = await withTableProgress(() => ofAccounts(owner?.id, ordersOf));
  const names = json ? undefined : await accountNames(orders);
  printRows(
    orders.map(({ id, account: of, state, attachment_count }) => ({
      id,
      ...(names && { "account's name": names.get(of) }),
      account: of,
      state,
      attachments: attachment_count,
    })),
    { json },
  );
};

/** `order create | list | show | checkout`. */
export const addOrderCommands = (order: Command): void => {
  order
    .command("create")
    .description("create an order")
    .requiredOption("--account <id>", "the account that owns it", parseId)
    .option("--state <state>", "CART or CHECKED_OUT", "CART")
    .addHelpText("after", "\nExample: npm run admin -- order create --account 01J…")
    .action(async ({ account, state, json }: Output & { account: string; state: string }) =>
      printRecord(await create("orders", { account, state }), { json }),
    );
  order
    .command("list")
    .description("list the orders of one account, or of every account")
    .option("--account <id>", "only those of this account", parseId)
    .action(list);
  order
    .command("show")
    .description("show an order, its requests, their attachments, and what has been forwarded to the carrier")
    .argument("<id>", "the order", parseId)
    .addHelpText("after", "\nExample: npm run admin -- order show 01J…")
    .action((id: string, { json }: Output) => showOrder(id, json));
  order
    .command("checkout")
    .description("check out an order: forward every attachment to the carrier, then check out the carrier's cart")
    .argument("<id>", "the order", parseId)
    .option("--wait", "wait until the run ends and print its progress; exits with 1 unless it SUCCEEDED")
    .addHelpText(
      "after",
      `
Example: npm run admin -- order checkout 01J… --wait

Starting a checkout twice is harmless: an order has one run at a time. After a failure, start it again; it forwards only what
is missing.`,
    )
    .action((id: string, options: Output & { wait?: boolean }) => checkOut(id, options));
};
