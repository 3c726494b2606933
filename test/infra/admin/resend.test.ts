import { describe, expect, inject, it } from "vitest";
import * as z from "zod/mini";
import { orderReport } from "../../../infra/admin/orders/report.ts";
import { receiptsOf } from "../../../shared/checkout/plan.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { newOrder, orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { admin, adminJson } from "../../support/requests/admin.ts";

const carrierUrl = inject("environment").CARRIER_URL;
const misbehave = (fault: object) => fetch(`${carrierUrl}/faults`, { method: "POST", body: JSON.stringify(fault) });

/** Forwards everything of an order, whose cart the carrier then refuses to check out. */
const forwardOnly = async (order: string) => {
  await misbehave({ method: "POST", path: order, action: "status", status: 422 });
  await adminJson(["order", "checkout", order, "--wait"]).catch(() => undefined);
};

const Cart = z.object({ calls: z.array(z.object({ method: z.string(), idempotency_key: z.nullable(z.string()) })) });

const keysAtCarrier = async (order: string) => {
  const { calls } = z.parse(Cart, await (await fetch(`${carrierUrl}/carts/${order}`)).json());
  return calls.flatMap(({ method, idempotency_key }) => (method === "PUT" ? [idempotency_key] : []));
};

describe("order resend", () => {
  it("makes the next run forward everything, or some attachments, again under new keys, and is in the history", async () => {
    const order = await newOrder(addMessagingNumbers);
    const [request = ""] = order.requests;
    const [letter, terms] = [await order.attach(0), await order.attach("order")];
    await forwardOnly(order.id);
    const one = await admin([
      "order",
      "resend",
      order.id,
      "--attachment",
      letter.toLowerCase(),
      "--on-behalf-of",
      "Acme",
    ]);
    expect(one).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/attachments +1\nnext +`order checkout \S+` forwards them again\.\n/),
    });
    expect(await receiptsOf(request)).toMatchObject([
      { attachment: letter, state: "pending", key: "", held: "perhaps" },
      { attachment: terms, state: "forwarded" },
    ]);
    await forwardOnly(order.id);
    const all = await adminJson(["order", "resend", order.id, "--yes"]);
    expect(all).toEqual({ id: order.id, attachments: expect.arrayContaining([letter, terms]) });
    expect(await adminJson(["order", "checkout", order.id, "--wait"])).toMatchObject({ status: "SUCCEEDED" });
    expect(new Set(await keysAtCarrier(order.id)).size).toBe(5);
    const { events } = await adminJson(["history", "order", order.id]);
    const requested = events.filter(({ type }: { type: string }) => type === "order.resend_requested");
    expect(requested).toMatchObject([
      { actor: { type: "operator", on_behalf_of: "Acme" }, reason: letter },
      { actor: { type: "operator" }, reason: "all attachments" },
    ]);
    expect(await orderReport(order.id)).toMatchObject({ state: "CHECKED_OUT", late_changes: { not_forwarded: 0 } });
  });

  it("refuses an order that is checked out, in progress or in doubt, and what was never sent", async () => {
    const order = await orderWithOneAttachment();
    const resend = async (...options: string[]) => (await admin(["order", "resend", order.id, ...options])).stderr;
    expect(await resend()).toMatch(/Nothing of this order was sent: `order checkout` sends it\./);
    await storeRun(order.id);
    expect(await resend()).toMatch(/Nothing of this order was sent/);
    await storeRun(order.id, { outcome_unknown: true });
    expect(await resend()).toMatch(
      /It is unknown whether the cart is checked out: `order checkout \S+` asks the carrier first\./,
    );
    await storeRun(order.id, { status: "RUNNING", started_at: new Date().toISOString() });
    expect(await resend()).toMatch(/The run last is in progress: wait until it has ended\./);
    await storeRun(order.id);
    await forwardOnly(order.id);
    const unknown = newId(Date.now());
    expect(await resend("--attachment", order.attachment, unknown)).toContain(`Nothing was sent of ${unknown}.`);
    expect(await receiptsOf(order.requests[0] ?? "")).toMatchObject([{ state: "forwarded" }]);
    expect(await adminJson(["order", "checkout", order.id, "--wait"])).toMatchObject({ status: "SUCCEEDED" });
    expect(await resend()).toMatch(/The order is checked out: the carrier takes nothing more of it\./);
  });

  it("changes nothing if a run has begun since it was read", async () => {
    const order = await orderWithOneAttachment();
    await forwardOnly(order.id);
    const isWrite = ({ operation }: TableCall) => operation === "TransactWriteItems";
    beforeTableCall(isWrite, () => storeRun(order.id, { run: "another", status: "RUNNING" }));
    const { code, stderr } = await admin(["order", "resend", order.id]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("has changed meanwhile: run order show")]);
    expect(await receiptsOf(order.requests[0] ?? "")).toMatchObject([{ state: "forwarded" }]);
    expect((await get(keys.order(order.id)))?.receipts_version).toBeUndefined();
  });
});
