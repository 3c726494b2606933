import { afterAll, afterEach, describe, expect, it } from "vitest";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { newOrder, type TestOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut } from "../../support/servers/workflow.ts";

/** The forwarding state that callers see, after real checkouts at the simulated carrier. */

const upstream = await carrier();
afterEach(() => upstream.behave());
afterAll(() => upstream.close());

const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/);

const forwardingOf = async ({ key }: TestOrder, path: string, id: string) => {
  const { status, body } = await call("GET", `${path}/${id}?include=forwarding`, { key });
  expect(status).toBe(200);
  return body;
};

const document = (data: unknown) => ({ associations: { forwarding: { type: "forwarding", data } } });

describe("the forwarding of a request's attachment", () => {
  it("is pending in the cart, forwarded after the checkout, and none with a reason for what is added or changed later", async () => {
    const order = await newOrder(addMessagingNumbers);
    const [id = ""] = order.requests;
    const attachment = await order.attach(0);
    const path = order.paths.request(0);
    const pending = { state: "pending", requests: [{ id, state: "pending", at: null, reason: null }] };
    expect(await forwardingOf(order, path, attachment)).toMatchObject(document(pending));
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    const forwarded = { state: "forwarded", requests: [{ id, state: "forwarded", at, reason: null }] };
    expect(await forwardingOf(order, path, attachment)).toMatchObject(document(forwarded));
    const late = await order.attach(0, "Too late");
    const reason = "It was added or changed after the checkout.";
    const none = { state: "none", requests: [{ id, state: "none", at: null, reason }] };
    expect(await forwardingOf(order, path, late)).toMatchObject(document(none));
    const { body } = await call("GET", `${path}?include=forwarding`, { key: order.key });
    expect(body).toMatchObject({ data: { items: [document(forwarded), document(none)] } });
    for (const [data, after] of [
      [{ name: "Renamed" }, none],
      [{ name: "LOA" }, forwarded],
    ] as const) {
      await order.update(0, attachment, data);
      expect(await forwardingOf(order, path, attachment)).toMatchObject(document(after));
    }
    // A call whose outcome nobody knows, such as one that found the cart checked out.
    await transact({ receipt: { update: keys.receipt(id, attachment), set: { state: "pending" }, when: {} } });
    expect(await forwardingOf(order, path, attachment)).toMatchObject(document(none));
  });

  it("is none for requests of other types, and for their order", async () => {
    const order = await newOrder("PORT_IN");
    const none = { state: "none", requests: [{ id: order.requests[0], state: "none", at: null, reason: null }] };
    expect(await forwardingOf(order, order.paths.request(0), await order.attach(0))).toMatchObject(document(none));
    const ofOrder = await forwardingOf(order, order.paths.order, await order.attach("order"));
    expect(ofOrder).toMatchObject(document({ state: "none", requests: [], requests_total: 0 }));
  });

  it("is refused if the carrier refuses it, with the carrier's reason for the customer and nothing else of its message", async () => {
    const order = await newOrder(addMessagingNumbers);
    const attachment = await order.attach(0);
    for (const reason of [undefined, "The letter is not signed."]) {
      const body = { error: "E42: internal", reason };
      await upstream.misbehave({ method: "PUT", action: "status", status: 422, body });
      expect((await checkOut(order.id)).status).toBe("FAILED");
      const document = await forwardingOf(order, order.paths.request(0), attachment);
      const state = reason ? "refused" : "pending";
      const requests = [{ id: order.requests[0], state, at, reason: reason ?? null }];
      expect(Object(document).associations.forwarding.data).toEqual({ state, requests, requests_total: 1 });
    }
  });
});

it("the forwarding of an order's attachment lists each forwarded request, and is the least advanced state of all", async () => {
  const order = await newOrder(addMessagingNumbers, "PORT_IN", addMessagingNumbers);
  const [first = "", , last = ""] = order.requests;
  const attachment = await order.attach("order");
  const state = (id: string, name: string, time: unknown = null) => ({ id, state: name, at: time, reason: null });
  const show = () => forwardingOf(order, order.paths.order, attachment);
  const inOrder = (...all: readonly ReturnType<typeof state>[]) => {
    const byId = all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    // The least advanced come first.
    return byId.toSorted((a, b) => Number(a.state === "forwarded") - Number(b.state === "forwarded"));
  };
  expect(await show()).toMatchObject(
    document({ state: "pending", requests: inOrder(state(first, "pending"), state(last, "pending")) }),
  );
  const receivedAt = "2026-01-02T03:04:05.678Z";
  const sent = { name: "LOA", notes: null, file_hint: "DEFAULT", filename: "loa.pdf" };
  const receive = (id: string, name: string) =>
    transact({ receipt: { put: { ...keys.receipt(id, attachment), attachment, state: name, at: receivedAt, sent } } });
  for (const [one, other] of [
    [first, last],
    [last, first],
  ] as const) {
    await transact({ receipt: { delete: keys.receipt(other, attachment) } });
    await receive(one, "forwarded");
    for (const least of ["pending", "refused", "withdrawn", "forwarded"]) {
      if (least !== "pending") await receive(other, least);
      const requests = inOrder(
        state(one, "forwarded", receivedAt),
        state(other, least, least === "pending" ? null : receivedAt),
      );
      expect(await show(), `${least} ${other}`).toMatchObject(document({ state: least, requests, requests_total: 2 }));
    }
  }
});

it("the forwarding of an order's attachment lists at most 100 requests, the least advanced first, and counts all", async () => {
  const order = await newOrder(...Array.from({ length: 103 }, () => addMessagingNumbers));
  const attachment = await order.attach("order");
  const sent = { name: "LOA", notes: null, file_hint: "DEFAULT", filename: "loa.pdf" };
  const receipt = { attachment, at: "2026-01-02T03:04:05.678Z", sent };
  const [refused = "", ...others] = order.requests.toReversed();
  for (const [id, state] of [[refused, "refused"], ...others.slice(0, 5).map((id) => [id, "forwarded"])] as const)
    await transact({ receipt: { put: { ...keys.receipt(id ?? "", attachment), ...receipt, state } } });
  const shown = Object(await forwardingOf(order, order.paths.order, attachment)).associations.forwarding.data;
  const states = shown.requests.map((one: { state: string }) => one.state);
  const expected = [...Array(97).fill("pending"), "refused", "forwarded", "forwarded"];
  expect([shown.state, shown.requests_total, states]).toEqual(["pending", 103, expected]);
  expect(shown.requests[97].id).toBe(refused);
});

it("the ETag of a document with its forwarding changes with the state, and is accepted in If-Match", async () => {
  const order = await newOrder(addMessagingNumbers);
  const attachment = await order.attach(0);
  const path = `${order.paths.request(0)}/${attachment}`;
  const show = async (tag = "") => {
    const headers = { "if-none-match": tag };
    const response = await call("GET", `${path}?include=forwarding`, { key: order.key, headers });
    return response.headers.get("etag") ?? "";
  };
  const tag = await show();
  expect(tag).toMatch(/^"1\.[\w-]{16}"$/);
  expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
  // The response would be a 304 without a body if the ETag were the same.
  const later = await show(tag);
  expect(later).toMatch(/^"1\.[\w-]{16}"$/);
  expect(later).not.toBe(tag);
  const json = { type: "request_attachment", data: { notes: "seen" } };
  const patch = (ifMatch: string) => call("PATCH", path, { key: order.key, json, headers: { "if-match": ifMatch } });
  expect((await patch('"2.AAAAAAAAAAAAAAAA"')).status).toBe(412);
  expect((await patch(tag)).status).toBe(200);
  expect((await patch(tag)).status).toBe(412);
});
