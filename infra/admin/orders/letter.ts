import { Receipt } from "../../../shared/checkout/checkout-schema.ts";
import { type Key, keys, type ParentRef } from "../../../shared/table/keys.ts";
import { getMany, parseItem } from "../../../shared/table/read.ts";
import { forwardableRequests } from "../../../shared/tenants/orders.ts";
import type { Row } from "../cli/output.ts";
import type { OrderReport } from "./report.ts";

/** The carrier's last response about a letter, in its own words, or why there was none. */
export const responseOf = ({ last_answer, status, answer }: Partial<Receipt>): string | null =>
  last_answer ?? ([status, answer].filter(Boolean).join(" ") || null);

/** Whether somebody has to look at a letter, because it was refused or a call is repeated. */
export const hasProblem = ({ receipt }: { readonly receipt: Partial<Receipt> | null }): boolean =>
  receipt?.state === "refused" || Boolean(receipt?.last_answer);

export type Letters = OrderReport["requests"][number]["attachments"];

/** The letters by state, those with a problem first. */
export const byState = (letters: Letters) => {
  const found = Map.groupBy(letters, ({ receipt }) => receipt?.state ?? "none");
  return (["refused", "pending", "none", "withdrawn", "forwarded"] as const).flatMap((state) => {
    const all = found.get(state);
    return all ? [{ state, all }] : [];
  });
};

/** What the carrier has of an attachment, and what it said, by request. */
export const carrierRows = async (parent: ParentRef, id: string): Promise<Row[]> => {
  const requests = parent.type === "request" ? [parent.id] : await forwardableRequests(parent.id);
  const receipts = await getMany(requests.map((request): Key => keys.receipt(request, id)));
  return receipts.flatMap((item, nth) => {
    if (!item) return [];
    const receipt = parseItem(Receipt, item);
    const { state, at, attempts, bytes, sha256, sent } = receipt;
    const { name, filename } = sent;
    return [
      { request: requests[nth], state, at, attempts, response: responseOf(receipt), name, filename, bytes, sha256 },
    ];
  });
};
