import type { Command } from "commander";
import { requestsOfOrder } from "../../shared/tenants/orders.ts";
import { create } from "./apply-command.ts";
import { findOrder, parseId, printOwned } from "./find.ts";
import { printRecord } from "./output.ts";
import { showRequest } from "./show-order.ts";

export const addRequestCommands = (request: Command): void => {
  request
    .command("create")
    .description("create a request within an order")
    .requiredOption("--order <id>", "the order", parseId)
    .requiredOption("--type <type>", "ADD_MESSAGING_NUMBERS, or any other type")
    .option("--account <id>", "the account that owns it: the order's account (the default) or one below it", parseId)
    .addHelpText("after", "\nExample: npm run admin -- request create --order 01J… --type ADD_MESSAGING_NUMBERS")
    .action(async ({ order, type, account }: { order: string; type: string; account?: string }) =>
      printRecord(await create("requests", { order, type, ...(account && { account }) })),
    );
  request
    .command("list")
    .description("list the requests of an order")
    .requiredOption("--order <id>", "the order", parseId)
    .action(async ({ order }: { order: string }) =>
      printOwned(await Array.fromAsync(requestsOfOrder((await findOrder(order)).id))),
    );
  request
    .command("show")
    .description("show a request, its attachments, and what has been forwarded to the carrier")
    .argument("<id>", "the request", parseId)
    .action((id: string) => showRequest(id));
};
