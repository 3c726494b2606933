import type { Command } from "commander";
import { make, type Output } from "./make.ts";
import { printRows, printThing } from "./output.ts";

/** `order create | list`. */
export const addOrderCommands = (order: Command): void => {
  order
    .command("create")
    .description("create an order, in CART unless told otherwise")
    .requiredOption("--account <id>", "the account that owns it")
    .option("--state <state>", "CART or CHECKED_OUT", "CART")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample: npm run admin -- order create --account 01J…")
    .action(async ({ account, state, json }: Output & { account: string; state: string }) =>
      printThing(await make("orders", { account, state }), { json }),
    );
  order
    .command("list")
    .description("list orders (reads the whole table)")
    .option("--account <id>", "only those of this account")
    .option("--json", "print JSON")
    .action(async ({ account, json }: Output & { account?: string }) => {
      const { listOrders } = await import("../../shared/orders.ts");
      const orders = (await listOrders()).filter((one) => !account || one.account === account.toUpperCase());
      printRows(
        orders.map(({ id, account, state, attachment_count }) => ({
          id,
          account,
          state,
          attachments: attachment_count,
        })),
        { json },
      );
    });
};

/** `request create | list`. */
export const addRequestCommands = (request: Command): void => {
  request
    .command("create")
    .description("create a request within an order")
    .requiredOption("--order <id>", "the order that it belongs to")
    .requiredOption("--type <type>", "ADD_MESSAGING_NUMBERS, or any other text")
    .option("--account <id>", "the account that owns it: the order's (the default) or one below it")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample: npm run admin -- request create --order 01J… --type ADD_MESSAGING_NUMBERS")
    .action(async ({ order, type, account, json }: Output & { order: string; type: string; account?: string }) =>
      printThing(await make("requests", { order, type, ...(account && { account }) }), { json }),
    );
  request
    .command("list")
    .description("list the requests of an order")
    .requiredOption("--order <id>", "the order")
    .option("--json", "print JSON")
    .action(async ({ order, json }: Output & { order: string }) => {
      const { requestsOfOrder } = await import("../../shared/orders.ts");
      printRows(await requestsOfOrder(order.toUpperCase()), { json });
    });
};
