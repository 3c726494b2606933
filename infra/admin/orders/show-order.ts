import { finder, ownerOf, requestHint } from "../cli/lookups.ts";
import { type Format, printHeading, printJson, printRecord, type Row, table } from "../cli/output.ts";
import { formatCount, withProgress } from "../cli/progress.ts";
import { readActualRun } from "../history/actual-run.ts";
import { lastRuns, printLatest } from "../history/history.ts";
import { describeChanges, lateChangesOf } from "./late.ts";
import { responseOf } from "./letter.ts";
import { type OrderReport, orderReport, type RequestReport, requestReportById } from "./report.ts";
import { nextStep } from "./start-checkout.ts";

const counted = (count: number, what: string) =>
  `${formatCount(count)} ${count === 1 ? "attachment that was" : "attachments that were"} ${what} too late`;

export const tooLate = ({ not_forwarded, not_withdrawn }: NonNullable<OrderReport["late_changes"]>) => ({
  ...(not_forwarded > 0 && { "the carrier lacks": counted(not_forwarded, "added or changed") }),
  ...(not_withdrawn > 0 && { "the carrier still has": counted(not_withdrawn, "deleted") }),
});

/** What an order is, as the command and the console show it to people. */
export const orderRecord = async (report: OrderReport): Promise<Row> => {
  const { checkout, late_changes, seal, attachments: _, requests, account: _account, ...order } = report;
  const { run, status, reason, consecutive_waits: attempt, last_answer, next_try_at } = checkout ?? {};
  const next = checkout && order.state === "CART" && (await nextStep(order.id, checkout, new Date()));
  const late = order.state === "CHECKED_OUT" ? await lateChangesOf(order.id) : [];
  return {
    ...order,
    ...(await ownerOf(report, { json: false })),
    sealed: seal !== null,
    ...(checkout && { run, status, reason }),
    ...(next && { next }),
    ...(next_try_at && { ...(attempt && { attempt }), last_answer, next_try_at }),
    ...(late_changes && tooLate(late_changes)),
    ...(late.length > 0 && { "not acknowledged": `${describeChanges(late)}: \`order acknowledge ${order.id}\`` }),
    requests: requests.length,
  };
};

export const showOrder = async (id: string, { json }: Format): Promise<void> => {
  const find = finder("order", (one) => orderReport(one, readActualRun));
  const report = await withProgress(() => find(id), "Reading the order …");
  const runs = await lastRuns(report.id, report.checkout?.attempt ?? 0);
  if (json) return printJson({ ...report, runs });
  const { id: orderId, attachments, requests } = report;
  printRecord(await orderRecord(report), { json });
  printHeading("Last runs of the checkout");
  console.log(table(runs, { whole: true }));
  printHeading("Attachments of the order");
  console.log(table(attachments.map(summary)));
  printWarnings(attachments);
  requests.forEach(printRequest);
  await printLatest({ type: "order", id: orderId });
};

export const showRequest = async (id: string, { json }: Format): Promise<void> => {
  const report = await finder("request", requestReportById, requestHint)(id);
  if (json) return printJson(report);
  printRecord({ id: report.id, order: report.order, ...(await ownerOf(report, { json })) }, { json });
  printRequest(report);
  await printLatest({ type: "request", id: report.id });
};

/** A row for each attachment of a request, with what the carrier has of it. */
export const letterRows = ({ attachments }: RequestReport): Row[] => {
  const waiting = attachments.some(({ receipt }) => receipt?.last_answer);
  return attachments.map(({ of, receipt, ...attachment }) => {
    const { state, at, attempts, sent, bytes, sha256 } = receipt ?? {};
    const response = receipt && responseOf(receipt);
    return {
      // These are the metadata that were sent, even if they were changed or deleted since.
      ...summary({ ...attachment, ...sent }),
      "attached to": of,
      "carrier state": state,
      at,
      bytes,
      sha256,
      ...(waiting && { attempts }),
      "carrier response": response,
    };
  });
};

/** Each letter is a line. `attachment show` prints the whole response. */
const beginningOf = (response: unknown) =>
  typeof response === "string" && response.length > 80 ? `${response.slice(0, 79)}…` : response;

const printRequest = (request: RequestReport) => {
  printHeading(`Request ${request.id}  ${request.type}`);
  const rows = letterRows(request).map((row) => ({ ...row, "carrier response": beginningOf(row["carrier response"]) }));
  console.log(table(rows));
  printWarnings(request.attachments);
};

/** The carrier may reject such a file days later, so the operator should ask for another one now. */
const printWarnings = (attachments: readonly { id: string; warning?: string | null }[]) => {
  for (const { id, warning } of attachments) if (warning) console.log(`Warning: attachment ${id}: ${warning}`);
};

const summary = ({ id, name, filename }: { id: string; name?: string; filename?: string }) => ({ id, name, filename });
