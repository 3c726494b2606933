import type { Command } from "commander";
import { requestsOfOrder } from "../../shared/tenants/orders.ts";
import { create } from "./change.ts";
import { findOrder } from "./find.ts";
import { accountNames } from "./lists.ts";
import { type Output, parseId } from "./options.ts";
import { printRecord, printRows } from "./output.ts";
import { showRequest } from "./show-order.ts";

/** `request create | list | show`. */
export const addRequestCommands = (request: Command): void => {
  request
    .command("create")
    .description("create a request within an order")
    .requiredOption("--order <id>", "the order", parseId)
    .requiredOption("--type <type>", "ADD_MESSAGING_NUMBERS, or any other type")
    .option("--account <id>", "the account that owns it: the order's account (the default) or one below it", parseId)
    .addHelpText("after", "\nExample: npm run admin -- request create --order 01J… --type ADD_MESSAGING_NUMBERS")
    .action(async ({ order, type, account, json }: Output & { order: string; type: string; account?: string }) =>
      printRecord(await create("requests", { order, type, ...(account && { account }) }), { json }),
    );
  request
    .command("list")
    .description("list the requests of an order")
    .requiredOption("--order <id>", "the order", parseId)
    .action(async ({ order, json }: Output & { order: string }) => {
      const requests = await Array.fromAsync(requestsOfOrder((await findOrder(order)).id));
      if (json) return printRows(requests, { json });
      const names = await accountNames(requests);
      printRows(
        requests.map(({ id, type, account }) => ({ id, type, "account's name": names.get(account), account })),
        {},
      );
    });
  request
    .command("show")
    .description("show a request, its attachments, and what has been forwarded to the carrier")
    .argument("<id>", "the request", parseId)
    .action((id: string, { json }: Output) => showRequest(id, json));
};
