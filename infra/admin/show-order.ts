import { type OrderReport, orderReport, type RequestReport, requestReportById } from "../../shared/checkout/report.ts";
import { readAccount } from "../../shared/tenants/accounts.ts";
import { CommandError } from "./command-error.ts";
import { findOrder } from "./find.ts";
import { printLatest } from "./history.ts";
import { printHeading, printJson, printRecord, table } from "./output.ts";
import { withProgress } from "./progress.ts";

const readReport = async (id: string): Promise<OrderReport> => {
  const order = await findOrder(id);
  const report = await withProgress(
    () => "Reading the order …",
    () => orderReport(order.id),
  );
  if (!report) throw new CommandError(`There is no order ${id}: \`order list\` lists the existing ones.`);
  return report;
};

/** `order show`. */
export const showOrder = async (id: string, json?: boolean): Promise<void> => {
  const report = await readReport(id);
  if (json) return printJson(report);
  const { checkout, seal, attachments, requests, account, ...order } = report;
  const owner = await readAccount(account);
  const run = checkout && {
    run: checkout.run,
    status: checkout.status,
    reason: checkout.reason,
    ...(checkout.next_try_at && {
      attempt: checkout.consecutive_waits,
      last_answer: checkout.last_answer,
      next_try_at: checkout.next_try_at,
    }),
  };
  printRecord(
    { ...order, account, "account's name": owner?.name, sealed: seal !== null, ...run, requests: requests.length },
    {},
  );
  printHeading("Attachments of the order");
  console.log(table(attachments.map(summary)));
  printWarnings(attachments);
  requests.forEach(printRequest);
  await printLatest({ type: "order", id: order.id });
};

/** `request show`. */
export const showRequest = async (id: string, json?: boolean): Promise<void> => {
  const report = await requestReportById(id);
  if (!report) throw new CommandError(`There is no request ${id}: \`request list\` lists the requests of an order.`);
  if (json) return printJson(report);
  printRequest(report);
  await printLatest({ type: "request", id: report.id });
};

const printRequest = ({ id, type, seal, attachments }: RequestReport) => {
  printHeading(`Request ${id}  ${type}${seal ? "  sealed" : ""}`);
  const waiting = attachments.some(({ receipt }) => receipt?.next_try_at);
  const rows = attachments.map(({ of, receipt, ...attachment }) => {
    const { state, at, status, answer, attempts, last_answer, next_try_at } = receipt ?? {};
    const response = last_answer ?? ([status, answer].filter(Boolean).join(" ") || null);
    return {
      ...summary(attachment),
      of,
      receipt: state,
      at,
      ...(waiting && { attempts, next_try_at }),
      answer: response && response.length > 80 ? `${response.slice(0, 79)}…` : response,
    };
  });
  console.log(table(rows));
  printWarnings(attachments);
};

/** The carrier may reject such a file days later, so the operator should ask for another one now. */
const printWarnings = (attachments: readonly { id: string; warning?: string | null }[]) => {
  for (const { id, warning } of attachments) if (warning) console.log(`Warning: attachment ${id}: ${warning}`);
};

const summary = ({ id, name, filename }: { id: string; name?: string; filename?: string }) => ({ id, name, filename });
