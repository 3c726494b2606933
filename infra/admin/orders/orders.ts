import { type Command, InvalidArgumentError, Option } from "commander";
import pLimit from "p-limit";
import { FailureKind } from "../../../shared/checkout/checkout-schema.ts";
import { checkoutLimits } from "../../../shared/checkout/limits.ts";
import { keys } from "../../../shared/table/keys.ts";
import { getMany, leaveOut, parseReadable } from "../../../shared/table/read.ts";
import { requestsOfOrder } from "../../../shared/tenants/orders.ts";
import { forwardedTypes, OrderState, Request } from "../../../shared/tenants/tenant-schema.ts";
import { UsageError } from "../cli/command-errors.ts";
import { askUnless } from "../cli/confirm.ts";
import {
  eachOfAccounts,
  findOrder,
  inOrder,
  namesOfAccounts,
  orderIdsOf,
  parseId,
  printOwned,
  readOrders,
  withAccountNames,
} from "../cli/lookups.ts";
import type { Caller } from "../cli/operator.ts";
import { type Format, printLines, printParts, printRecord } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { add, addChange, parseEventText } from "../cli/usage.ts";
import { failureOf, readActualRun } from "../history/actual-run.ts";
import type { Within } from "./late.ts";

type Selection = Format &
  Within & {
    readonly failed?: boolean;
    readonly failure?: FailureKind;
    readonly waiting?: boolean;
    readonly late?: boolean;
  };

/** The lists that the whole table has few orders in. Each reads an index of its own. */
const selected = async ({ failure, waiting, late, ...within }: Selection, format: Format) => {
  if (late) {
    const { describeChanges, lateOrders } = await import("./late.ts");
    const orders = await lateOrders(within);
    if (format.json) return orders.map(({ name: _, ...order }) => order);
    return orders.map(({ id, name, at, changes }) => ({ id, account: name, at, changes: describeChanges(changes) }));
  }
  const { failedOrders, waitingOrders } = await import("./checkout.ts");
  const orders = waiting
    ? await waitingOrders(within)
    : (await failedOrders(within)).filter((one) => failure === undefined || one.failure === failure);
  if (format.json) return orders;
  const names = await namesOfAccounts(orders);
  // The run's name repeats the order's id.
  return orders.map(({ run: _, account, id, ...order }) => ({ id, account: names.get(account), ...order }));
};

const list = async (selection: Selection) => {
  const { account: of, since, failed, failure, waiting, late, json } = selection;
  const lists = [failed || failure !== undefined, waiting, late].filter(Boolean).length;
  if (lists > 1) throw new UsageError("--failed, --waiting and --late are different lists: pass one of them.");
  if (lists === 1) return printLines(await selected(selection, { json }), { json });
  if (since !== undefined) throw new UsageError("--since needs --failed, --waiting or --late.");
  const rows = inOrder(pagesOf(of), pagesAtOnce, (ids) => listedOrders(ids, { json }));
  const printing = () => printParts(rows, { json });
  // A table shows its progress itself.
  await (json ? withProgress(printing, "Reading the orders …") : printing());
};

/** DynamoDB's limit on the keys of one BatchGetItem. */
const pageSize = 100;

/** One page is read while another one is printed. */
const pagesAtOnce = 2;

/** The ids of the orders of one account, or of every account, page by page. */
async function* pagesOf(account: string | undefined): AsyncGenerator<string[]> {
  const ids: string[] = [];
  for await (const more of eachOfAccounts(account, orderIdsOf)) {
    for (const id of more) ids.push(id);
    while (ids.length >= pageSize) yield ids.splice(0, pageSize);
  }
  yield ids;
}

const unreadable = (error: unknown) => leaveOut(error) ?? ("UNREADABLE" as const);

/** Returns a row for each order of a page. It has the order's last run and the number of its attachments. The reads share calls. */
export const listedOrders = async (ids: readonly string[], format: Format) => {
  const entries = pLimit(10).map(ids, async (id) => (await Array.fromAsync(requestsOfOrder(id)).catch(leaveOut)) ?? []);
  const [orders, runs, requests] = await Promise.all([
    readOrders(ids),
    Promise.all(ids.map(async (id) => [id, await readActualRun(id).catch(unreadable)] as const)),
    entries.then((found) => getMany(found.flat().map((one) => keys.request(one.id)))),
  ]);
  const lastRuns = new Map(runs);
  const ofRequests = Map.groupBy(parseReadable(Request, requests), ({ order }) => order);
  const rows = orders.map(({ id, account, state, attachment_count }) => {
    const run = lastRuns.get(id);
    const attachments = (ofRequests.get(id) ?? []).reduce((sum, one) => sum + one.attachment_count, attachment_count);
    const last =
      run === "UNREADABLE"
        ? { last_run: run, failure: null, ended_at: null }
        : { last_run: run?.status ?? null, failure: failureOf(run), ended_at: run?.ended_at ?? null };
    return { id, account, state, ...last, attachments };
  });
  return withAccountNames(rows, format);
};

type Settlement = Format &
  Caller & {
    readonly checkedOut?: boolean;
    readonly notCheckedOut?: boolean;
    readonly askedAt?: Date;
    readonly reason: string;
    readonly yes?: boolean;
  };

const msOf: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a time, or how long ago it was, such as `2h`. Returns it in ISO 8601. */
const timeOrAge = (text: string): string => {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count === undefined) return pastTime(text).toISOString();
  return new Date(Date.now() - Number(count) * (msOf[unit] ?? 0)).toISOString();
};

/** Parses the time of the carrier's response, which cannot be in the future. */
const pastTime = (text: string): Date => {
  const time = new Date(text);
  if (!/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError("It must be an ISO 8601 date and time with its zone, such as 2030-01-01T00:00:00Z.");
  if (time.getTime() > Date.now() + checkoutLimits.clockSkewMs) throw new InvalidArgumentError("It is in the future.");
  return time;
};

const settleAs = async (id: string, options: Settlement) => {
  const { checkedOut, notCheckedOut, askedAt, reason, yes } = options;
  if (!(checkedOut || notCheckedOut))
    throw new UsageError("Missing: --checked-out or --not-checked-out, whether the carrier has checked the cart out.");
  if (notCheckedOut && !askedAt)
    throw new UsageError("Missing: --asked-at <time>, when the carrier said that the cart is not checked out.");
  const effect = checkedOut ? "becomes CHECKED_OUT, which cannot be undone" : "can be checked out again";
  await askUnless(yes, `The order ${id} ${effect}. Continue?`);
  const { settle } = await import("./settle.ts");
  return settle(id, checkedOut ? "checked_out" : "open", reason, askedAt, options);
};

type Resend = Format & Caller & { readonly attachment?: readonly string[]; readonly yes?: boolean };

export const addOrderCommands = (order: Command): void => {
  addChange(order, "create", "create an order")
    .requiredOption("--account <id>", "the account that owns it", parseId)
    .addOption(new Option("--state <state>", "its state").choices(OrderState.options).default("CART"))
    .action(async ({ account, state, ...called }: Format & Caller & { account: string; state: string }) => {
      const { create } = await import("../accounts/apply-command.ts");
      printRecord(await create("orders", { account, state }, called), called);
    });
  add(order, "list", "list the orders of one account, or of every account")
    .option("--account <id>", "only those of this account", parseId)
    .option("--failed", "only those whose last checkout has failed or crashed, with the reason, newest first")
    .addOption(
      new Option(
        "--failure <kind>",
        "only those that the carrier or the malware scan refused, or those that failed otherwise, crashed ones included",
      ).choices(FailureKind.options),
    )
    .option("--waiting", "only those whose checkout waits: for what, and until when")
    .option("--late", "only those of which an attachment has changed after the checkout, until `order acknowledge`")
    .option("--since <time>", "with these: only what happened since a time, or for so long, such as 2h", timeOrAge)
    .action(list);
  add(
    order,
    "show <id>",
    "show an order, its last runs, its requests, and what the carrier has of their attachments",
  ).action(async (id: string, format: Format) => (await import("./show-order.ts")).showOrder(id, format));
  add(order, "checkout [id]", "forward every attachment to the carrier, then check out its cart")
    .option("--wait", "wait until the run ends and print its progress; exits with 1 unless it SUCCEEDED")
    .option(
      "--failed",
      "check out all orders whose last checkout has crashed or failed by a fault, ten at once, and wait",
    )
    .option("--refused", "with --failed: also those that the carrier or the malware scan refused")
    .option("--account <id>", "with --failed: only those of this account", parseId)
    .addHelpText(
      "after",
      `
Example: ./patchbay order checkout 01J… --wait

Starting a checkout twice is harmless: an order has one run at a time. After a failure, start it again; it forwards only what
is missing.`,
    )
    .action(async (id: string | undefined, options: Selection & { refused?: boolean; wait?: boolean }) => {
      const { checkOut, checkOutFailed } = await import("./checkout.ts");
      const { failed, refused, account } = options;
      if (failed && id === undefined) return checkOutFailed(options, options);
      if (id === undefined || failed || refused || account !== undefined)
        throw new UsageError("Pass the id of an order, or --failed (with --account for those of one account).");
      return checkOut(id, options);
    });
  addChange(order, "settle <id>", "record whether the carrier checked the cart out, where a run could not find out")
    .addOption(
      new Option(
        "--checked-out",
        "it did: the order becomes CHECKED_OUT; later additions and changes are not forwarded",
      ).conflicts("notCheckedOut"),
    )
    .addOption(
      new Option(
        "--not-checked-out",
        "it did not: the seal is lifted; the next run forwards later additions and changes",
      ).conflicts("checkedOut"),
    )
    .option("--asked-at <time>", "when the carrier said so; --not-checked-out needs it", pastTime)
    .requiredOption("--reason <text>", "who at the carrier said so, for the history", parseEventText)
    .option("-y, --yes", "don't ask for confirmation")
    .addHelpText(
      "after",
      '\nExample: ./patchbay order settle 01J… --not-checked-out --asked-at 2030-01-01T09:30:00Z --reason "Ticket 4711"',
    )
    .action(settleAs);
  addChange(order, "acknowledge <id>", "take an order off `order list --late`, once somebody has dealt with it")
    .requiredOption("--reason <text>", "what was done about it, for the history", parseEventText)
    .option("-y, --yes", "don't ask for confirmation")
    .addHelpText("after", '\nExample: ./patchbay order acknowledge 01J… --reason "Sent by e-mail, ticket 4711"')
    .action(async (id: string, { reason, ...called }: Format & Caller & { reason: string; yes?: boolean }) => {
      const { acknowledge } = await import("./late.ts");
      return acknowledge(id, reason, called);
    });
  addChange(
    order,
    "resend <id>",
    "forget what the carrier has confirmed, so that the next run forwards it again under new keys",
  )
    .option("--attachment <id...>", "only these attachments", (text: string, all: readonly string[] = []) => [
      ...all,
      parseId(text),
    ])
    .option("-y, --yes", "don't ask for confirmation")
    .addHelpText(
      "after",
      `
Example: ./patchbay order resend 01J… --attachment 01J…

For a letter that the carrier has lost. A carrier that compares its cart with the manifest gets such a letter again by itself.`,
    )
    .action(async (id: string, { attachment = [], yes, ...called }: Resend) => {
      const what = attachment.length > 0 ? attachment.join(", ") : "all its attachments";
      await askUnless(yes, `The next run of the order ${id} forwards ${what} again. Continue?`);
      const { resend } = await import("./resend.ts");
      return resend(id, attachment, called);
    });
};

type NewRequest = Format & Caller & { readonly order: string; readonly type: string; readonly account?: string };

export const addRequestCommands = (request: Command): void => {
  addChange(request, "create", "create a request within an order")
    .requiredOption("--order <id>", "the order", parseId)
    .requiredOption("--type <type>", `${forwardedTypes.join(", ")}, or any other type`)
    .option("--account <id>", "the account that owns it: the order's account (the default) or one below it", parseId)
    .action(async ({ order, type, account, ...called }: NewRequest) => {
      const { create } = await import("../accounts/apply-command.ts");
      printRecord(await create("requests", { order, type, ...(account && { account }) }, called), called);
    });
  add(request, "list", "list the requests of an order")
    .requiredOption("--order <id>", "the order", parseId)
    .action(async ({ order, json }: Format & { order: string }) =>
      printOwned(await Array.fromAsync(requestsOfOrder((await findOrder(order)).id)), { json }),
    );
  add(request, "show <id>", "show a request, and what the carrier has of its attachments").action(
    async (id: string, format: Format) => (await import("./show-order.ts")).showRequest(id, format),
  );
};
