import { describe, expect, it } from "vitest";
import { expireReceipts } from "../../../shared/checkout/expire-receipts.ts";
import { receiptsOf } from "../../../shared/checkout/plan.ts";
import { collections, keys } from "../../../shared/table/keys.ts";
import { get, queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { forwardableType } from "../../../shared/tenants/tenant-schema.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { stepByStep, storedOrder } from "../../support/fixtures/step-by-step.ts";

await stepByStep();

const notes = "SSN 123-45-6789";
const days = 86_400;

/** An order with two requests, and an attachment with notes of each kind, of which the carrier has both under every request. */
const forwardedOrder = async () => {
  const order = await storedOrder(forwardableType, forwardableType);
  const attached = [await order.attach("order"), await order.attach(0)] as const;
  await order.update("order", attached[0], { notes });
  await order.update(0, attached[1], { notes });
  const sent = { name: "LOA", notes, file_hint: "DEFAULT", filename: "loa.pdf" };
  const told = { status: 201, answer: "", last_answer: null, reason: null, in_flight_until: null };
  const counts = {
    cart: "any",
    key: "any",
    held: "yes",
    version: 2,
    attempts: 1,
    bytes: 15,
    sha256: "0".repeat(64),
  };
  const put = (request = "", attachment: string, of: string, more = {}) => {
    const receipt = { attachment, of, state: "forwarded", at: "then", sent, ...told, ...counts, expires_at: null };
    return transact({ one: { put: { ...keys.receipt(request, attachment), ...receipt, ...more } } });
  };
  for (const request of order.requests) await put(request, attached[0], "order");
  await put(order.requests[0], attached[1], "request");
  /** Those of the order's attachment first. */
  const receipts = async () =>
    (await Promise.all(order.requests.map(receiptsOf)))
      .flat()
      .map(({ of, sent, expires_at }) => ({ of, notes: sent.notes, expires_at }))
      .sort((one, other) => (one.of < other.of ? -1 : 1));
  const finish = () =>
    transact({ order: { update: keys.order(order.order), set: { state: "CHECKED_OUT" }, when: {} } });
  return { ...order, attached, receipts, finish, put };
};

const waiting = async (ids: readonly string[]) =>
  (await Array.fromAsync(queryAll(collections.deletedAttachments()), ({ sk }) => String(sk).split("#")[1])).filter(
    (id) => ids.includes(id ?? ""),
  );

describe("the receipts of a deleted attachment", () => {
  it("lose the notes and expire with its events, under every request, once the order is checked out", async () => {
    const { attached, receipts, finish, remove, order } = await forwardedOrder();
    await storeRun(order);
    await finish();
    const [ofOrder, ofRequest] = attached;
    await remove("order", ofOrder);
    const seconds = Math.floor(Date.now() / 1000) + 400 * days;
    await expireReceipts();
    const ended = { of: "order", notes: null, expires_at: seconds };
    const kept = { of: "request", notes, expires_at: null };
    expect(await receipts()).toEqual([ended, ended, kept]);
    expect(await waiting(attached)).toEqual([]);
    await remove(0, ofRequest);
    await expireReceipts();
    expect(await receipts()).toEqual([ended, ended, { ...ended, of: "request" }]);
  });

  it("stay whole while the order is a cart, whose next run withdraws it", async () => {
    const { attached, receipts, finish, remove, order } = await forwardedOrder();
    await storeRun(order);
    await remove("order", attached[0]);
    const before = await receipts();
    await expireReceipts();
    expect([await receipts(), await waiting(attached)]).toEqual([before, [attached[0]]]);
    // The order was sealed before the attachment was deleted, so no run has withdrawn it.
    await finish();
    await expireReceipts(() => 1_000);
    expect(await receipts()).toEqual(before);
    await expireReceipts();
    expect((await receipts()).map((one) => one.notes)).toEqual([null, null, notes]);
    expect(await waiting(attached)).toEqual([]);
  });

  it("keep the time at which they were withdrawn", async () => {
    const { attached, receipts, finish, remove, requests, put } = await forwardedOrder();
    await finish();
    await put(requests[0], attached[1], "request", { state: "withdrawn", expires_at: 1 });
    await remove(0, attached[1]);
    await expireReceipts();
    expect(await receipts()).toContainEqual({ of: "request", notes, expires_at: 1 });
  });

  it("are not looked for if the order has never been checked out, or is gone", async () => {
    const { attached, remove } = await storedOrder(forwardableType).then(async (order) => ({
      ...order,
      attached: [await order.attach(0), await order.attach("order")] as const,
    }));
    await remove(0, attached[0]);
    await remove("order", attached[1]);
    const key = keys.deletedAttachment(attached[1]);
    const item = { ...(await get(key)), ...key, order: "01J00000000000000000000000" };
    await transact({ item: { put: item } });
    await expireReceipts();
    expect(await waiting(attached)).toEqual([]);
  });
});
