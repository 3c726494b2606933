import { afterAll, describe, expect, it } from "vitest";
import { orderReport } from "../../../infra/admin/report.ts";
import { beforeTableCall } from "../../support/fault-proxy/table-proxy.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { newOrder, orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";

const upstream = await carrier();
afterAll(() => upstream.close());

/** Adds a request under an order that exists, as other systems do. */
const addRequest = async (order: string) => {
  const { requests } = await apply({ requests: { late: { order, type: addMessagingNumbers } } });
  return requests.late?.id ?? "";
};

/** Changes of the first request's attachments, or of the order's and its requests, before a step. */
const changes = [
  ["first and order", "checkout/forward", "reach the carrier"],
  ["first and order", "checkout/seal", "reach the carrier, which had the old ones"],
  ["first", "checkout/seal-order", "come too late"],
  ["order", "checkout/seal-order", "reach the carrier, which had the old ones"],
  ["first and order", "checkout/submit", "come too late"],
] as const;

describe("changes of an order during its checkout", () => {
  it.each(changes)("of the %s before %s %s", async (changed, step, effect) => {
    const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
    const attach = async (name: "first" | "order") => {
      const of = name === "first" ? 0 : name;
      await order.attach(of, `${name} kept`);
      return {
        name,
        of,
        old: await order.attach(of, `${name} old`),
        gone: await order.attach(of, `${name} gone`),
      } as const;
    };
    const attached = await Promise.all([attach("first"), attach("order")]);
    let late = "";
    const change = async () => {
      for (const { name, of, old, gone } of attached.filter((each) => changed.includes(each.name))) {
        await order.update(of, old, { name: `${name} new` });
        await order.remove(of, gone);
        await order.attach(of, `${name} added`);
        if (of === "order") late = await addRequest(order.id);
      }
    };
    expect((await checkOut(order.id, { before: { [step]: [change] } })).status).toBe("SUCCEEDED");

    const isNew = (name: string) => effect !== "come too late" && changed.includes(name);
    const hadOld = effect === "reach the carrier, which had the old ones";
    /** What the carrier must have of a parent, and how often it received it. */
    const sent = (name: string, newTimes = hadOld ? 2 : 1) =>
      isNew(name)
        ? [`${name} added 1`, `${name} kept 1`, `${name} new ${newTimes}`]
        : [`${name} gone 1`, `${name} kept 1`, `${name} old 1`];
    const { attachments, withdrawn } = await upstream.cart(order.id);
    const received = [...order.requests, late].map((id) =>
      attachments.flatMap((one) => (one.request_id === id ? `${one.name} ${one.received}` : [])).sort(),
    );
    expect(received).toEqual([
      [...sent("first"), ...sent("order")],
      sent("order"),
      // It gets what has changed at once.
      isNew("order") ? sent("order", 1) : [],
    ]);
    const [ofFirst, ofOrder] = attached.map(({ name, gone }) => (isNew(name) && hadOld ? [gone] : []));
    expect(withdrawn.map((one) => one.attachment_id).sort()).toEqual(
      [ofFirst, ofOrder, ofOrder].flatMap((ids) => ids ?? []).sort(),
    );
  });

  it("to its requests come too late if the order is checked out between the read and the write", async () => {
    const order = await orderWithOneAttachment();
    beforeTableCall(
      ({ operation }) => operation === "TransactWriteItems",
      () => checkOut(order.id),
    );
    const source = { in: "body", pointer: "/requests/late/order" };
    const refusal = { body: { errors: [{ source, sub_code: "constraint.reference" }] } };
    // The second is refused at once.
    for (const _ of ["raced", "later"]) await expect(addRequest(order.id)).rejects.toMatchObject(refusal);
    expect((await orderReport(order.id))?.requests.map(({ id }) => id)).toEqual(order.requests);
    expect(await upstream.forwarded(order.id)).toEqual([order.carrierEntry]);
    const other = await apply({ requests: { other: { order: order.id, type: "PORT_IN" } } });
    expect(other.requests.other?.id).toEqual(expect.any(String));
    const { account } = (await orderReport(order.id)) ?? {};
    const imported = await apply({
      orders: { imported: { account, state: "CHECKED_OUT" } },
      requests: { late: { order: "imported", type: addMessagingNumbers } },
    });
    const again = { requests: { late: { order: imported.orders.imported?.id, type: addMessagingNumbers } } };
    expect((await apply(again)).requests.late?.id).toEqual(expect.any(String));
  });
});
