import type { Command } from "commander";
import type { RequestReport } from "../../shared/checkout/report.ts";
import { CommandError } from "./environment.ts";
import { make, type Output } from "./make.ts";
import { printJson, printRows, printThing, table } from "./output.ts";

/** `order create | list | show | checkout`. */
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
      const { listOrders } = await import("../../shared/tenants/orders.ts");
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
  order
    .command("show")
    .description("show an order, its requests, their attachments, and what of them the carrier has")
    .argument("<id>", "the order")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExample: npm run admin -- order show 01J…")
    .action(async (id: string, { json }: Output) => showOrder(id, json));
  order
    .command("checkout")
    .description("check an order out: forward every attachment to the carrier, then check out the upstream cart")
    .argument("<id>", "the order")
    .option("--wait", "wait for the end; exits with 1 unless it SUCCEEDED")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Example: npm run admin -- order checkout 01J… --wait

Starting it twice is harmless: one run at a time. After a failure, start it again: it forwards only what is missing.`,
    )
    .action(async (id: string, { wait, json }: Output & { wait?: boolean }) => checkOut(id.toUpperCase(), wait, json));
};

const noOrder = (id: string) => new CommandError(`There is no order ${id}: \`order list\` shows those that there are.`);

const showOrder = async (id: string, json?: boolean) => {
  const { orderReport } = await import("../../shared/checkout/report.ts");
  const report = await orderReport(id.toUpperCase());
  if (!report) throw noOrder(id);
  if (json) return printJson(report);
  const { checkout, seal, attachments, requests, ...order } = report;
  const run = checkout && { run: checkout.run, status: checkout.status, reason: checkout.reason };
  printThing({ ...order, sealed: seal !== null, ...run, requests: requests.length }, {});
  console.log(`\nAttachments of the order\n${table(attachments.map(shortAttachment))}`);
  requests.forEach(printRequest);
};

const printRequest = ({ id, type, seal, attachments }: RequestReport) => {
  console.log(`\nRequest ${id}  ${type}${seal ? "  sealed" : ""}`);
  const rows = attachments.map(({ of, receipt, ...one }) => {
    const { state, at, status, answer } = receipt ?? {};
    const told = [status, answer].filter(Boolean).join(" ");
    return {
      ...shortAttachment(one),
      of,
      receipt: state,
      at,
      answer: told.length > 80 ? `${told.slice(0, 79)}…` : told,
    };
  });
  console.log(table(rows));
};

const shortAttachment = ({ id, name, filename }: { id: string; name?: string; filename?: string }) => ({
  id,
  name,
  filename,
});

const checkOut = async (id: string, wait?: boolean, json?: boolean) => {
  const { readOrder } = await import("../../shared/tenants/orders.ts");
  if (!(await readOrder(id))) throw noOrder(id);
  const { startCheckout, waitForCheckout } = await import("./start-checkout.ts");
  const run = await startCheckout(id);
  if (!wait) return printThing({ run, status: "RUNNING" }, { json });
  if (!json) console.error(`The run ${run} is under way …`);
  const end = await waitForCheckout(run);
  if (end.status !== "SUCCEEDED") process.exitCode = 1;
  printThing(end, { json });
};

/** `request create | list | show`. */
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
      const { requestsOfOrder } = await import("../../shared/tenants/orders.ts");
      printRows(await Array.fromAsync(requestsOfOrder(order.toUpperCase())), { json });
    });
  request
    .command("show")
    .description("show a request, its attachments, and what of them the carrier has")
    .argument("<id>", "the request")
    .option("--json", "print JSON")
    .action(async (id: string, { json }: Output) => {
      const { requestReportById } = await import("../../shared/checkout/report.ts");
      const report = await requestReportById(id.toUpperCase());
      if (!report) throw new CommandError(`There is no request ${id}: \`request list\` shows those of an order.`);
      if (json) return printJson(report);
      printRequest(report);
    });
};
