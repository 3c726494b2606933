import type { Command } from "commander";
import { requestsOfOrder } from "../../shared/tenants/orders.ts";
import { create } from "./apply-command.ts";
import { findOrder, parseId, printOwned } from "./find.ts";
import { printRecord } from "./output.ts";
import { showRequest } from "./show-order.ts";
import { add } from "./usage.ts";

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
