import * as z from "zod/mini";
import { forEachConcurrently } from "../for-each-concurrently.ts";
import { listLateChange } from "../history/record.ts";
import { parseUlid } from "../schema/fields.ts";
import type { Write } from "../table/expressions.ts";
import { keys } from "../table/keys.ts";
import { get, parseItem } from "../table/read.ts";
import { forwardableRequests } from "../tenants/orders.ts";
import { Order, Request } from "../tenants/tenant-schema.ts";
import type { Manifest } from "./carrier.ts";
import { beginningIn, type CarrierResponse } from "./carrier-client.ts";
import type { Receipt, RunRef } from "./checkout-schema.ts";
import { checkoutLimits } from "./limits.ts";
import { isForwarded, parentOf, receiptsOf } from "./plan.ts";
import { forgotten, recordDecision, unchanged, undecided } from "./receipts.ts";

/** What the receipts say that the carrier's cart has, and what to do if the carrier says that it has something else. */

/** Returns the receipts of an order, by request and attachment. */
export const receiptsOfOrder = async (orderId: string) => {
  const requests = (await forwardableRequests(orderId)).sort();
  const found = new Map<string, Receipt[]>();
  await forEachConcurrently(checkoutLimits.requestsAtOnce, requests, async (request) => {
    found.set(request, await receiptsOf(request));
  });
  const receipts = requests.flatMap((request) => (found.get(request) ?? []).map((receipt) => ({ request, receipt })));
  return { requests: new Set(requests), receipts };
};
export type OrderReceipts = Awaited<ReturnType<typeof receiptsOfOrder>>;

export const manifestOf = ({ receipts }: OrderReceipts, cart: string): Manifest => ({
  attachments: receipts
    .filter(({ receipt }) => isForwarded(receipt, cart))
    .map(({ request, receipt }) => ({
      request_id: request,
      id: receipt.attachment,
      idempotency_key: receipt.key,
      sha256: receipt.sha256,
    })),
});

/** What a carrier says in a 412 that its cart has. */
const CartContent = z.object({
  attachments: z.array(
    z.object({ request_id: z.string(), id: z.string(), idempotency_key: z.optional(z.nullable(z.string())) }),
  ),
});

type Correction = { readonly request: string; readonly before?: Receipt; readonly receipt: Receipt };

/**
 * Returns the receipts that contradict what the carrier says, corrected. By them, what it lacks or has under another key is forwarded
 * again, and what it should not have is withdrawn. Without a usable list, any receipt may be wrong. The same holds if it lists exactly
 * the manifest, because then the files differ. Then all are corrected. Returns nothing if only attachments of other orders' requests
 * differ.
 */
export const correctionsOf = ({ requests, receipts }: OrderReceipts, said: unknown, cart: string): Correction[] => {
  const now = new Date().toISOString();
  const all = receipts.flatMap(({ request, receipt }): Correction[] => {
    // The next round forwards or withdraws it anyway.
    const isDue = receipt.state !== "forwarded" && receipt.state !== "withdrawn" && receipt.held !== "no";
    if (receipt.cart === cart && isDue) return [];
    // A carrier that the order has come back to may even have what another one has confirmed, or what its own receipt denies.
    const held = isForwarded(receipt, cart) ? "yes" : "perhaps";
    return [{ request, before: receipt, receipt: { ...forgotten(receipt, now), cart, held } }];
  });
  const { data } = z.safeParse(CartContent, said);
  if (!data) return all;
  const contents = new Map<string, string | null | undefined>();
  let foreign = 0;
  for (const { request_id, id, idempotency_key } of data.attachments) {
    const [request, attachment] = [parseUlid(request_id), parseUlid(id)];
    if (request && attachment && requests.has(request)) contents.set(`${request}/${attachment}`, idempotency_key);
    else foreign += 1;
  }
  const corrections: Correction[] = [];
  for (const { request, receipt } of receipts) {
    const place = `${request}/${receipt.attachment}`;
    const isHeld = contents.has(place);
    const key = isForwarded(receipt, cart) ? receipt.key : undefined;
    const isRight = isHeld ? key !== undefined && contents.get(place) === key : key === undefined;
    contents.delete(place);
    if (isRight) continue;
    const corrected = { ...forgotten(receipt, now), cart, held: isHeld ? "yes" : "no" } as const;
    corrections.push({ request, before: receipt, receipt: corrected });
  }
  for (const place of contents.keys()) {
    const [request = "", attachment = ""] = place.split("/");
    corrections.push({ request, receipt: unknownReceipt(attachment, cart, now) });
  }
  return corrections.length === 0 && foreign === 0 ? all : corrections;
};

/** The receipt of an attachment that the carrier has and the table does not know. It was stored after the time to which the table was restored. */
const unknownReceipt = (attachment: string, cart: string, at: string): Receipt => ({
  ...undecided,
  attachment,
  of: "request",
  at,
  sha256: "",
  bytes: 0,
  cart,
  key: "",
  held: "yes",
  sent: { name: "(unknown)", notes: null, file_hint: "DEFAULT", filename: "(unknown)" },
  version: 0,
  attempts: 1,
  in_flight_until: null,
});

/** Splits corrections into the writes of transactions, each of which has two more. */
export const correctionWrites = (corrections: readonly Correction[]): Readonly<Record<string, Write>>[] => {
  const writes = corrections.map(({ request, before, receipt }): Write => {
    const update = keys.receipt(request, receipt.attachment);
    if (!before) return { put: { ...update, ...receipt }, when: { exists: false } };
    const { state, at, cart, held, key, expires_at } = receipt;
    return { update, set: { state, at, cart, held, key, expires_at }, when: unchanged(before) };
  });
  return inTransactions(writes, checkoutLimits.writesAtOnce);
};

const Verdicts = z.object({ attachments: z.array(z.unknown()) });
const Verdict = z.object({ request_id: z.string(), id: z.string(), reason: z.catch(z.string(), "") });

/**
 * Returns the writes of the verdicts on letters in the carrier's refusal to check the cart out, and those that list the letters as late.
 * Their transactions each have two more writes. A verdict without a reason has that of the refusal. Ignores verdicts that are malformed,
 * and those on anything that the carrier has not confirmed for this order.
 */
export const verdictWrites = async (
  ref: RunRef,
  { receipts }: OrderReceipts,
  { json, status, text, reason: common }: CarrierResponse,
  cart: string,
) => {
  const said = z.safeParse(Verdicts, json).data?.attachments ?? [];
  const reasons = new Map<string, string | null>();
  for (const one of said) {
    const { data } = z.safeParse(Verdict, one);
    const own = beginningIn(data?.reason.trim() ?? "");
    if (data) reasons.set(`${parseUlid(data.request_id)}/${parseUlid(data.id)}`, own || common);
  }
  const now = new Date();
  const [decided, late]: [Write[], Write[]] = [[], []];
  for (const { request, receipt } of receipts) {
    const reason = reasons.get(`${request}/${receipt.attachment}`);
    if (reason === undefined || !isForwarded(receipt, cart)) continue;
    const accounts = {
      order: parseItem(Order, await get(keys.order(ref.order_id))).account,
      request: parseItem(Request, await get(keys.request(request))).account,
    };
    const verdict = { state: "refused", at: now.toISOString(), status, answer: reason ?? text, reason } as const;
    const refused = { ...receipt, ...verdict };
    decided.push(
      { update: keys.receipt(request, receipt.attachment), set: verdict, when: unchanged(receipt) },
      recordDecision({ ref, request, accounts }, refused, "refused", "not checked out", now),
    );
    const { attachment: id, of, sent } = receipt;
    const parent = parentOf(of, ref.order_id, request);
    late.push(listLateChange({ order: ref.order_id, id, parent, name: sent.name, change: "updated", at: verdict.at }));
  }
  const most = checkoutLimits.writesAtOnce / 3;
  const listed = inTransactions(late, most, "late");
  return inTransactions(decided, 2 * most).map((some, index) => ({ decided: some, late: listed[index] }));
};

/** Names writes by their position, for transactions of at most `most` of them. */
export const inTransactions = (
  writes: readonly Write[],
  most: number,
  name = "write",
): Readonly<Record<string, Write>>[] => {
  const length = Math.ceil(writes.length / most);
  return Array.from({ length }, (_, index) =>
    Object.fromEntries(writes.slice(index * most, (index + 1) * most).map((write, nth) => [`${name} ${nth}`, write])),
  );
};
