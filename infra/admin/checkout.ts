import { type OrderReport, orderReport } from "../../shared/checkout/report.ts";
import { findOrder } from "./find.ts";
import type { Output } from "./options.ts";
import { printThing, safe } from "./output.ts";
import { type CheckoutEnd, startCheckout, waitForCheckout } from "./start-checkout.ts";

/** `order checkout`. */
export const checkOut = async (given: string, { wait, json }: Output & { wait?: boolean }): Promise<void> => {
  const { id, state } = await findOrder(given);
  if (state === "CHECKED_OUT") {
    const run = (await orderReport(id))?.checkout?.run ?? null;
    return printThing({ run, status: "SUCCEEDED", reason: "The order is checked out already." }, { json });
  }
  const run = await startCheckout(id);
  if (!wait) return printThing({ run, status: "RUNNING" }, { json });
  const end = await waitFor(id, run);
  if (end.status !== "SUCCEEDED") process.exitCode = 1;
  printThing(end, { json });
};

/** Waits for the end of a run and prints each change on stderr. Ctrl-C ends the waiting, not the run. */
const waitFor = async (order: string, run: string): Promise<CheckoutEnd> => {
  const leave = () => {
    console.error(
      `\nThe run ${run} goes on. \`order show ${order}\` shows how far it is, \`order checkout ${order} --wait\` waits for it again.`,
    );
    process.exit(130);
  };
  // npm passes the signal on, so that it may come twice.
  process.on("SIGINT", leave);
  console.error(`The run ${run} is under way. Ctrl-C stops waiting, not the run.`);
  let last = "";
  const end = await waitForCheckout(run, 500, async () => {
    const report = await orderReport(order);
    const progress = report ? progressOf(report) : last;
    if (progress !== last) console.error(safe(`${new Date().toISOString().slice(11, 19)}  ${progress}`));
    last = progress;
  });
  process.off("SIGINT", leave);
  return end;
};

/** How far a checkout is, in one line. */
export const progressOf = ({ requests, checkout, seal, state }: OrderReport): string => {
  const receipts = requests.flatMap(({ attachments }) => attachments.flatMap(({ receipt }) => receipt ?? []));
  const files = receipts.filter((receipt) => receipt.state !== "withdrawn");
  const forwarded = files.filter((receipt) => receipt.state === "forwarded").length;
  const counted = `${forwarded} of ${files.length} ${files.length === 1 ? "file" : "files"} forwarded`;
  if (state === "CHECKED_OUT") return `${counted}, checked out`;
  if (checkout?.next_try_at)
    return `${counted}; waiting for the carrier: attempt ${checkout.waits}, ${checkout.last_answer ?? "no answer"}, next try at ${checkout.next_try_at}`;
  // Within a step, only the receipts know: the run says so once the step has given up for now.
  const held = files.filter((receipt) => receipt.state === "pending" && receipt.last_answer);
  const [first] = held;
  if (first) return `${counted}; the carrier is called again for ${held.length}: ${first.last_answer}`;
  return seal ? `${counted}, checking out the cart` : counted;
};
