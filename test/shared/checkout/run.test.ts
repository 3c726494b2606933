import { createHash } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { historyOf } from "../../../infra/admin/history/history.ts";
import { orderReport } from "../../../infra/admin/orders/report.ts";
import { checkoutLimits } from "../../../shared/checkout/limits.ts";
import { beforeTableCall } from "../../support/fault-proxy/table-proxy.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { newOrder, orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { storeRun } from "../../support/fixtures/runs.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";

const upstream = await carrier();
afterAll(() => upstream.close());

describe("a checkout", () => {
  it("forwards every attachment of each request and of the order, then checks out the cart and the order, once", async () => {
    const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
    const [first, second] = order.requests;
    const own = await order.attach(0, "LOA of the first");
    const shared = await order.attach("order", "LOA of all");

    const run = await checkOut(order.id);

    expect(run).toMatchObject({ status: "SUCCEEDED", error: null });
    expect(run.called.map((name) => name.replace("checkout/", ""))).toEqual(["begin", "forward", "submit"]);
    const expected = [`${first} ${own}`, `${first} ${shared}`, `${second} ${shared}`].sort();
    expect(await upstream.forwarded(order.id)).toEqual(expected);
    expect(await upstream.calls(order.id)).toEqual(["PUT 201", "PUT 201", "PUT 201", "POST 200"]);
    expect(await receipts(order.id)).toEqual(expected.map((each) => `${each} forwarded`));
    expect(await stateOf(order.id)).toEqual({ state: "CHECKED_OUT", run: "SUCCEEDED", sealed: true, reason: null });
    expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED", called: ["checkout/begin"] });
    expect(await upstream.calls(order.id)).toHaveLength(4);
  });

  it("sends the carrier the metadata and the same bytes", async () => {
    const order = await newOrder(addMessagingNumbers);
    const content = Buffer.concat([
      Buffer.from('\r\n--patchbay\r\n"'),
      Buffer.alloc(700_000, "ä\0"),
      Buffer.from("\r\n"),
    ]);
    const body = new FormData();
    const parts = { name: "Loa – ü", notes: "signed by hand", file_hint: "LOA", filename: 'l"oa ß.pdf' };
    for (const [name, value] of Object.entries(parts)) body.append(`data[${name}]`, value);
    body.append("data[file]", new File([content], "x.pdf"));
    expect((await call("POST", order.paths.request(0), { key: order.key, body })).status).toBe(201);

    await checkOut(order.id);

    expect((await upstream.cart(order.id)).attachments).toMatchObject([
      { ...parts, bytes: content.length, sha256: createHash("sha256").update(content).digest("hex"), received: 1 },
    ]);
  });

  it("does not forward requests of other types, but checks them out with the order", async () => {
    const order = await newOrder("PORT_IN", addMessagingNumbers);
    await order.attach(0);
    const forwarded = await order.attach(1);
    await checkOut(order.id);
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[1]} ${forwarded}`]);
    const listed = await call("GET", order.paths.request(0), { key: order.key });
    expect(listed.status).toBe(200);
    expect((await stateOf(order.id)).state).toBe("CHECKED_OUT");
  });

  it.each([
    ["without any request", []],
    ["with requests that have no attachments", [addMessagingNumbers, addMessagingNumbers]],
  ])("checks out an order %s", async (_, types) => {
    const order = await newOrder(...types);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.calls(order.id)).toEqual(["POST 200"]);
    expect((await stateOf(order.id)).state).toBe("CHECKED_OUT");
  });

  it("takes no request that is added while it checks the order out, or later", async () => {
    const order = await orderWithOneAttachment();
    const addRequest = () => apply({ requests: { late: { order: order.id, type: addMessagingNumbers } } });
    beforeTableCall(
      ({ operation }) => operation === "TransactWriteItems",
      () => checkOut(order.id),
    );
    const source = { in: "body", pointer: "/requests/late/order" };
    const refusal = { body: { errors: [{ source, sub_code: "constraint.reference" }] } };
    // The second is refused at once.
    for (const _ of ["raced", "later"]) await expect(addRequest()).rejects.toMatchObject(refusal);
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

  it("takes over from one that has ended unnoticed, and records its failure", async () => {
    const order = await newOrder(addMessagingNumbers);
    await order.attach(0);
    const started_at = new Date(Date.now() - checkoutLimits.maxRunMs).toISOString();
    await storeRun(order.id, { run: "lost", status: "RUNNING", started_at });
    expect(await checkOut(order.id)).toMatchObject({ status: "SUCCEEDED" });
    const events = await Array.fromAsync(historyOf({ type: "order", id: order.id }));
    expect(events.filter(({ actor }) => actor.id === "lost").map(({ type, reason }) => [type, reason])).toEqual([
      ["order.checkout_failed", "The run stopped without reporting a result."],
    ]);
  });
});
