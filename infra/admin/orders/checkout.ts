import pLimit from "p-limit";
import { isOpen, readRun } from "../../../shared/checkout/checkout-run.ts";
import type { CheckoutRun } from "../../../shared/checkout/checkout-schema.ts";
import { leaveOut } from "../../../shared/table/read.ts";
import type { Order } from "../../../shared/tenants/tenant-schema.ts";
import { explain } from "../cli/command-errors.ts";
import { findAccount, findOrder, isBeingErased, ordersInCheckout } from "../cli/lookups.ts";
import { type Format, printRecord, printRows, safe } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { failureOf, readActualRun } from "../history/actual-run.ts";
import type { Within } from "./late.ts";
import { type OrderReport, orderReport, type ReportedReceipt } from "./report.ts";
import { type CheckoutEnd, lastRun, nextStep, startCheckout, waitForCheckout } from "./start-checkout.ts";

export const checkOut = async (given: string, { wait, json }: Format & { wait?: boolean }): Promise<void> => {
  const { id, state } = await findOrder(given);
  if (state === "CHECKED_OUT") {
    // This is not the run whose doubt an operator has settled.
    const last = await readRun(id);
    const run = last?.status === "SUCCEEDED" ? last.run : null;
    return printRecord({ run, status: "SUCCEEDED", reason: "The order is already checked out." }, { json });
  }
  const last = await lastRun(id);
  await printNext(id, last?.status === "CRASHED" ? last : undefined);
  const run = await startCheckout(id);
  if (!wait) return printRecord({ run, status: "RUNNING" }, { json });
  const end = await waitFor(id, run);
  if (end.status !== "SUCCEEDED") process.exitCode = 1;
  printRecord(end, { json });
  await printNext(id, await readRun(id));
};

const printNext = async (id: string, last: CheckoutRun | undefined) => {
  const next = last && (await nextStep(id, last, new Date()));
  if (next) console.error(next);
};

/** Waits for a run to end and prints its progress on stderr. Ctrl-C ends the wait, and the run continues. */
const waitFor = async (order: string, run: string): Promise<CheckoutEnd> => {
  const stopWaiting = () => {
    console.error(
      `\nThe run ${run} continues. \`order show ${order}\` shows its progress; \`order checkout ${order} --wait\` waits for it again.`,
    );
    process.exit(130);
  };
  // Ctrl-C can be pressed twice.
  process.on("SIGINT", stopWaiting);
  console.error(`The run ${run} is in progress. Ctrl-C stops waiting; the run continues.`);
  let last = "";
  const end = await waitForCheckout(order, run, 500, async () => {
    const report = await orderReport(order);
    const progress = report ? progressOf(report) : last;
    if (progress !== last) console.error(safe(`${new Date().toISOString().slice(11, 19)}  ${progress}`));
    last = progress;
  });
  process.off("SIGINT", stopWaiting);
  return end;
};

type Progress = Pick<OrderReport, "checkout" | "seal" | "state"> & {
  readonly requests: readonly { readonly attachments: readonly { readonly receipt: ReportedReceipt | null }[] }[];
};

export const progressOf = ({ requests, checkout, seal, state }: Progress): string => {
  const receipts = requests.flatMap(({ attachments }) => attachments.flatMap(({ receipt }) => receipt ?? []));
  const files = receipts.filter((receipt) => receipt.state !== "withdrawn");
  const forwarded = files.filter((receipt) => receipt.state === "forwarded").length;
  const counted = `${forwarded} of ${files.length} ${files.length === 1 ? "file" : "files"} forwarded`;
  if (state === "CHECKED_OUT") return `${counted}, checked out`;
  if (checkout?.next_try_at) {
    const { waits: attempt, last_answer, next_try_at } = checkout;
    return `${counted}; waiting to try again: ${attempt ? `attempt ${attempt}, ` : ""}${last_answer ?? "no answer"}, next attempt at ${next_try_at}`;
  }
  // Only the receipts show the retries of a step. Once the step gives up, the run shows its wait.
  const retried = files.filter((receipt) => receipt.state === "pending" && receipt.last_answer);
  const [first] = retried;
  if (first) return `${counted}; retrying ${retried.length}: ${first.last_answer}`;
  return seal ? `${counted}, checking out the cart` : counted;
};

const atOnce = 10;

/** What `of` makes of the last runs of the orders whose checkout was started and has not succeeded, newest first. */
const runsInCheckout = async <T>(
  { account, since = "" }: Within,
  of: (order: Order, last: CheckoutRun) => T[],
): Promise<T[]> => {
  if (account !== undefined) await findAccount(account);
  const reading = async () => {
    const orders = (await ordersInCheckout()).filter((order) => account === undefined || order.account === account);
    return pLimit(atOnce).map(orders, async (order) => ({
      order,
      last: (await isBeingErased(order)) ? undefined : await readActualRun(order.id).catch(leaveOut),
    }));
  };
  const found = (await withProgress(reading, "Reading the orders …")).flatMap(({ order, last }) =>
    last ? [{ order, last, at: last.ended_at ?? last.started_at }] : [],
  );
  return found
    .filter(({ at }) => at >= since)
    .sort((a, b) => (a.at > b.at ? -1 : 1))
    .flatMap(({ order, last }) => of(order, last));
};

/** The orders whose last run failed or crashed, newest first. */
export const failedOrders = (within: Within) =>
  runsInCheckout(within, ({ id, account }, last) => {
    const failure = failureOf(last);
    const { run, status, ended_at, reason } = last;
    return failure ? [{ id, account, run, status, failure, ended_at, reason }] : [];
  });

/** The orders whose run waits for the carrier or a scan, newest first: for what, in the carrier's words, and until when. */
export const waitingOrders = (within: Within) =>
  runsInCheckout(within, ({ id, account }, last) => {
    const { run, started_at, waits: attempt, next_try_at, last_answer } = last;
    return isOpen(last) && next_try_at ? [{ id, account, run, started_at, attempt, next_try_at, last_answer }] : [];
  });

export type FailedSelection = Pick<Within, "account"> & { readonly refused?: boolean };

/** `order checkout --failed`. Starts the checkouts again, and prints how each has ended. A refusal needs the customer first. */
export const checkOutFailed = async ({ account, refused }: FailedSelection, format: Format): Promise<void> => {
  const failed = await failedOrders({ account });
  const orders = failed.filter(({ failure }) => failure === "fault" || refused);
  const left = failed.length - orders.length;
  if (left > 0)
    console.error(`${left} refused: their customers replace what the carrier refused. --refused includes them.`);
  console.error(`${orders.length} to check out. Ctrl-C stops waiting; runs that have started continue.`);
  const ends = await pLimit(atOnce).map(orders, async ({ id }) => {
    const end = await startCheckout(id)
      .then((run) => waitForCheckout(id, run, 2_000))
      .catch((error: unknown) => ({ run: null, status: "FAILED", reason: explain(error) }));
    console.error(`${id}  ${end.status}`);
    return { id, ...end };
  });
  if (ends.some(({ status }) => status !== "SUCCEEDED")) process.exitCode = 1;
  printRows(ends, format, { whole: true });
};
