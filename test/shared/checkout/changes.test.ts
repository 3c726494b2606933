import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { putFile, removeFile } from "../../../shared/attachments/files.ts";
import { fileKey } from "../../../shared/table/keys.ts";
import { newOrder, type TestOrder } from "../../support/fixtures/orders.ts";
import { add } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";

let upstream: Awaited<ReturnType<typeof carrier>>;
beforeAll(async () => {
  upstream = await carrier();
});
afterAll(() => upstream.close());

const remove = async (order: TestOrder, of: "order" | number, id: string) => {
  const path = of === "order" ? order.paths.order : order.paths.request(of);
  const { status } = await call("DELETE", `${path}/${id}`, { key: order.key });
  if (status !== 200) throw new Error(`delete: ${status}`);
};

/** Where a change falls: before the first call of a step, which has seen nothing of it. */
const moments = ["checkout/gather", "checkout/forward", "checkout/seal"];

describe("an attachment added while the run is on", () => {
  it.each(moments)("to a request, before %s, is at the carrier", async (moment) => {
    const order = await newOrder(add, add);
    let added = "";
    const before = { [moment]: [async () => (added = await order.attach(1))] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([`${order.requests[1]} ${added}`]);
  });

  it.each([...moments, "checkout/close"])(
    "to the order, before %s, is at the carrier under each request",
    async (moment) => {
      const order = await newOrder(add, add);
      let added = "";
      const before = { [moment]: [async () => (added = await order.attach("order"))] };
      expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
      expect(await upstream.held(order.id)).toEqual(order.requests.map((id) => `${id} ${added}`).sort());
    },
  );

  it("after its request's seal is accepted as after the checkout: not forwarded", async () => {
    const order = await newOrder(add);
    let added = "";
    const before = { "checkout/close": [async () => (added = await order.attach(0))] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([]);
    expect(await receipts(order.id)).toEqual([`${order.requests[0]} ${added} none`]);
  });
});

describe("an attachment deleted while the run is on", () => {
  it.each(moments)("from a request, before %s, is not at the carrier", async (moment) => {
    const order = await newOrder(add);
    const id = await order.attach(0);
    expect((await checkOut(order.id, { before: { [moment]: [() => remove(order, 0, id)] } })).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([]);
  });

  it("from the order, after it was forwarded, is withdrawn under each request", async () => {
    const order = await newOrder(add, add);
    const id = await order.attach("order");
    const before = { "checkout/close": [() => remove(order, "order", id)] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([]);
    expect((await upstream.cart(order.id)).withdrawn.length).toBe(2);
    expect(await receipts(order.id)).toEqual(order.requests.map((request) => `${request} ${id} withdrawn`).sort());
  });

  it("after its parent's seal stays at the carrier", async () => {
    const order = await newOrder(add);
    const id = await order.attach(0);
    const before = { "checkout/submit": [() => remove(order, 0, id)] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([`${order.requests[0]} ${id}`]);
  });

  it("between two runs is withdrawn by the second, whatever the first may have sent", async () => {
    const order = await newOrder(add);
    const id = await order.attach(0);
    await upstream.misbehave({ method: "PUT", action: "drop-after" });
    await upstream.misbehave({ method: "PUT", action: "status", status: 422 });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect((await upstream.held(order.id)).length).toBe(1);
    await remove(order, 0, id);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.held(order.id)).toEqual([]);
  });
});

describe("what is no change", () => {
  it("is an attachment's new name: the seal holds", async () => {
    const order = await newOrder(add);
    const id = await order.attach(0);
    const json = { type: "request_attachment", data: { name: "Renamed" } };
    const rename = () => call("PATCH", `${order.paths.request(0)}/${id}`, { key: order.key, json });
    const run = await checkOut(order.id, { before: { "checkout/seal": [rename] } });
    expect(run.called.filter((name) => name === "checkout/forward").length).toBe(1);
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "LOA", received: 1 }]);
  });

  it("is a repeated call's: it says what the first one said", async () => {
    const order = await newOrder(add);
    const id = await order.attach(0);
    await upstream.misbehave({ method: "PUT", times: 4, action: "drop-before" });
    const json = { type: "request_attachment", data: { name: "Renamed" } };
    const rename = () => call("PATCH", `${order.paths.request(0)}/${id}`, { key: order.key, json });
    const run = await checkOut(order.id, { after: { "checkout/forward": [rename] } });
    expect(run.status).toBe("SUCCEEDED");
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "LOA", received: 1 }]);
  });
});

describe("a file", () => {
  const spoiled = async (spoil: (key: string) => Promise<void>) => {
    const order = await newOrder(add);
    const id = await order.attach(0);
    const request = order.requests[0] ?? "";
    await spoil(fileKey({ type: "request", id: request }, id));
    return { order, id, request, run: await checkOut(order.id) };
  };

  it("that is gone while its metadata are there ends the run", async () => {
    const { order, id, request, run } = await spoiled(removeFile);
    expect(run).toMatchObject({
      status: "FAILED",
      cause: `The attachment ${id} cannot be forwarded under the request ${request}: its file is gone from storage.`,
    });
    expect(await receipts(order.id)).toEqual([`${request} ${id} pending`]);
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", seals: 0 });
    expect((await upstream.cart(order.id)).checked_out).toBe(false);
  });

  it.each([
    ["other bytes", "%PDF-1.7 Signed"],
    ["more bytes", "%PDF-1.7 signed and more"],
    ["fewer bytes", "%PDF"],
  ])("with %s than were uploaded never reaches the carrier, and ends the run", async (_, text) => {
    const content = Buffer.from(text);
    const stored = { content, filename: "", contentType: "application/pdf", sha256: sha256(content) };
    const { order, run } = await spoiled((key) => putFile(key, stored));
    expect(run.status).toBe("FAILED");
    expect(run.cause).toMatch(/its stored file is (not the one|longer than the one) uploaded/);
    expect(await upstream.held(order.id)).toEqual([]);
  });
});

const sha256 = (content: Uint8Array) => createHash("sha256").update(content).digest("hex");
