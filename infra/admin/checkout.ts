import { findOrder } from "./find.ts";
import { printRecord, safe } from "./output.ts";
import { type OrderReport, orderReport, type ReportedReceipt } from "./report.ts";
import { type CheckoutEnd, startCheckout, waitForCheckout } from "./start-checkout.ts";

/** `order checkout`. */
export const checkOut = async (given: string, { wait }: { wait?: boolean }): Promise<void> => {
  const { id, state } = await findOrder(given);
  if (state === "CHECKED_OUT") {
    const run = (await orderReport(id))?.checkout?.run ?? null;
    return printRecord({ run, status: "SUCCEEDED", reason: "The order is already checked out." });
  }
  const run = await startCheckout(id);
  if (!wait) return printRecord({ run, status: "RUNNING" });
  const end = await waitFor(id, run);
  if (end.status !== "SUCCEEDED") process.exitCode = 1;
  printRecord(end);
};

/** Waits for a run to end and prints its progress on stderr. Ctrl-C stops waiting; the run continues. */
const waitFor = async (order: string, run: string): Promise<CheckoutEnd> => {
  const stopWaiting = () => {
    console.error(
      `\nThe run ${run} continues. \`order show ${order}\` shows its progress; \`order checkout ${order} --wait\` waits for it again.`,
    );
    process.exit(130);
  };
  // The terminal sends the signal to this process, and npm forwards it: it can arrive twice.
  process.on("SIGINT", stopWaiting);
  console.error(`The run ${run} is in progress. Ctrl-C stops waiting; the run continues.`);
  let last = "";
  const end = await waitForCheckout(run, 500, async () => {
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

/** The progress of a checkout, in one line. */
export const progressOf = ({ requests, checkout, seal, state }: Progress): string => {
  const receipts = requests.flatMap(({ attachments }) => attachments.flatMap(({ receipt }) => receipt ?? []));
  const files = receipts.filter((receipt) => receipt.state !== "withdrawn");
  const forwarded = files.filter((receipt) => receipt.state === "forwarded").length;
  const counted = `${forwarded} of ${files.length} ${files.length === 1 ? "file" : "files"} forwarded`;
  if (state === "CHECKED_OUT") return `${counted}, checked out`;
  if (checkout?.waits_until)
    return `${counted}; waiting until ${checkout.waits_until}: a crashed run may have left calls in progress`;
  if (checkout?.next_try_at)
    return `${counted}; waiting to try again: attempt ${checkout.consecutive_waits}, ${checkout.last_answer ?? "no answer"}, next attempt at ${checkout.next_try_at}`;
  // While a step is retrying, only the receipts show it; the run shows it once the step has given up.
  const retried = files.filter((receipt) => receipt.state === "pending" && receipt.last_answer);
  const [first] = retried;
  if (first) return `${counted}; retrying ${retried.length}: ${first.last_answer}`;
  return seal ? `${counted}, checking out the cart` : counted;
};
