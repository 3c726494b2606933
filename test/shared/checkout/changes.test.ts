import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { orderReport } from "../../../infra/admin/report.ts";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { putFile, removeFile } from "../../../shared/attachments/files.ts";
import { interceptTableCalls } from "../../support/fault-proxy/table-proxy.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { newOrder, type TestOrder } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { checkOut, receipts, stateOf } from "../../support/servers/workflow.ts";
import { byExtent } from "../../support/setup/extent.ts";

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

/** A change happens before the first call of one of these steps. */
const moments = byExtent({ sample: 1, most: 3, all: 3 });
const beforeRequestsSeal = ["checkout/seal", "checkout/forward", "checkout/paginate"].slice(0, moments);
const beforeOrdersSeal = ["checkout/seal-order", ...beforeRequestsSeal];

describe("an attachment added during a run", () => {
  it.each(beforeRequestsSeal)("to a request before %s is forwarded", async (moment) => {
    const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
    let added = "";
    const before = { [moment]: [async () => (added = await order.attach(1))] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[1]} ${added}`]);
  });

  it.each(beforeOrdersSeal)("to the order before %s is forwarded under each request", async (moment) => {
    const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
    let added = "";
    const before = { [moment]: [async () => (added = await order.attach("order"))] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual(order.requests.map((id) => `${id} ${added}`).sort());
  });

  it("after its request's seal is not forwarded", async () => {
    const order = await newOrder(addMessagingNumbers);
    let added = "";
    const before = { "checkout/seal-order": [async () => (added = await order.attach(0))] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([]);
    expect(await receipts(order.id)).toEqual([`${order.requests[0]} ${added} none`]);
  });
});

describe("an attachment deleted during a run", () => {
  it.each(beforeRequestsSeal)("from a request before %s is not left at the carrier", async (moment) => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    expect((await checkOut(order.id, { before: { [moment]: [() => remove(order, 0, id)] } })).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([]);
  });

  it("from the order after it was forwarded is withdrawn under each request", async () => {
    const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
    const id = await order.attach("order");
    const before = { "checkout/seal-order": [() => remove(order, "order", id)] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([]);
    expect((await upstream.cart(order.id)).withdrawn.length).toBe(2);
    expect(await receipts(order.id)).toEqual(order.requests.map((request) => `${request} ${id} withdrawn`).sort());
  });

  it("after its parent's seal stays at the carrier", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const before = { "checkout/submit": [() => remove(order, 0, id)] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${id}`]);
  });

  it("between two runs is withdrawn by the second", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    await upstream.misbehave({ method: "PUT", action: "drop-after" });
    await upstream.misbehave({ method: "PUT", action: "status", status: 422 });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect((await upstream.forwarded(order.id)).length).toBe(1);
    await remove(order, 0, id);
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([]);
  });
});

const patch = async (order: TestOrder, of: "order" | number, id: string, data: object) => {
  const path = of === "order" ? order.paths.order : order.paths.request(of);
  const json = { type: of === "order" ? "order_attachment" : "request_attachment", data };
  const { status } = await call("PATCH", `${path}/${id}`, { key: order.key, json });
  if (status !== 200) throw new Error(`patch: ${status}`);
};

/** The PUTs of an order's attachments, in order, as "key status". */
const puts = async (order: TestOrder) =>
  (await upstream.cart(order.id)).calls
    .filter(({ method }) => method === "PUT")
    .map(({ idempotency_key, status }) => `${idempotency_key} ${status}`);

describe("a request added during a run", () => {
  /** A request under an order that exists, as other systems create them. */
  const addRequest = async (order: TestOrder, type = addMessagingNumbers) => {
    const { requests } = await apply({ requests: { late: { order: order.id, type } } });
    return requests.late?.id ?? "";
  };

  it.each(beforeOrdersSeal)("before %s gets the order's attachments forwarded", async (moment) => {
    const order = await newOrder(addMessagingNumbers);
    const shared = await order.attach("order");
    let added = "";
    const before = { [moment]: [async () => (added = await addRequest(order))] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${shared}`, `${added} ${shared}`].sort());
  });

  it("after the order's seal gets nothing forwarded", async () => {
    const order = await newOrder(addMessagingNumbers);
    const shared = await order.attach("order");
    const before = { "checkout/submit": [() => addRequest(order)] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${shared}`]);
  });

  it("is added to the order as checked out if that happens between the read and the write", async () => {
    const order = await newOrder(addMessagingNumbers);
    const shared = await order.attach("order");
    let raced = false;
    const stopIntercepting = interceptTableCalls(async (call, pass) => {
      if (call.operation === "TransactWriteItems" && !raced) {
        raced = true;
        await checkOut(order.id);
      }
      return pass();
    });
    onTestFinished(() => void stopIntercepting());
    const late = await addRequest(order);
    expect((await orderReport(order.id))?.requests.map(({ id }) => id)).toEqual([...order.requests, late]);
    expect(await upstream.forwarded(order.id)).toEqual([`${order.requests[0]} ${shared}`]);
  });
});

describe("metadata changed during a run", () => {
  it.each(beforeRequestsSeal)("on a request's attachment before %s are sent to the carrier", async (moment) => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const before = { [moment]: [() => patch(order, 0, id, { name: "Renamed", file_hint: "LOA" })] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "Renamed", file_hint: "LOA" }]);
  });

  it.each(beforeOrdersSeal)("on the order's attachment before %s are sent under each request", async (moment) => {
    const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
    const id = await order.attach("order");
    const before = { [moment]: [() => patch(order, "order", id, { notes: "signed" })] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    const { attachments } = await upstream.cart(order.id);
    expect(attachments.map(({ notes }) => notes)).toEqual(["signed", "signed"]);
  });

  it("after the request's seal are not sent", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const before = { "checkout/seal-order": [() => patch(order, 0, id, { name: "Renamed" })] };
    expect((await checkOut(order.id, { before })).status).toBe("SUCCEEDED");
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "LOA", received: 1 }]);
  });

  it("and changed back are not sent again", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const rename = async () => {
      await patch(order, 0, id, { name: "Renamed" });
      await patch(order, 0, id, { name: "LOA" });
    };
    expect((await checkOut(order.id, { before: { "checkout/seal": [rename] } })).status).toBe("SUCCEEDED");
    expect(await puts(order)).toEqual([`forward-${order.requests[0]}-${id}-1 201`]);
  });
});

describe("metadata changed between two runs", () => {
  it("are sent again for what the first run forwarded", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const other = await order.attach(0);
    await upstream.misbehave({ method: "PUT", path: other, action: "status", status: 422 });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    await patch(order, 0, id, { file_hint: "LOA" });
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    const { attachments } = await upstream.cart(order.id);
    expect(attachments.find(({ attachment_id }) => attachment_id === id)).toMatchObject({ file_hint: "LOA" });
    expect(attachments.length).toBe(2);
  });

  it("are sent with a new Idempotency-Key if the carrier refused the old ones", async () => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const key = `forward-${order.requests[0]}-${id}`;
    await upstream.misbehave({ method: "PUT", action: "status", status: 422 });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    await patch(order, 0, id, { name: "Renamed" });
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    expect(await puts(order)).toEqual([`${key}-1 422`, `${key}-2 201`]);
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "Renamed", received: 1 }]);
  });

  it.each([
    ["has its response", 201],
    ["is refused", 422],
  ])("are sent once the call that may have arrived %s", async (_, status) => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const key = `forward-${order.requests[0]}-${id}`;
    await upstream.misbehave({ method: "PUT", times: 4, action: "drop-before" });
    if (status === 422) await upstream.misbehave({ method: "PUT", action: "status", status });
    const after = { "checkout/forward": [() => patch(order, 0, id, { name: "Renamed" })] };
    expect((await checkOut(order.id, { after })).status).toBe("SUCCEEDED");
    expect((await puts(order)).slice(4)).toEqual([`${key}-1 ${status}`, `${key}-2 ${status === 201 ? 200 : 201}`]);
    expect((await upstream.cart(order.id)).attachments).toMatchObject([{ name: "Renamed" }]);
  });
});

describe("a file", () => {
  const checkOutWithDamagedFile = async (damage: (key: string) => Promise<void>) => {
    const order = await newOrder(addMessagingNumbers);
    const id = await order.attach(0);
    const request = order.requests[0] ?? "";
    await damage(fileKey({ type: "request", id: request }, id));
    return { order, id, request, run: await checkOut(order.id) };
  };

  it("that is missing from storage fails the run", async () => {
    const { order, id, request, run } = await checkOutWithDamagedFile(removeFile);
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
  ])("with %s than were uploaded is not forwarded and fails the run", async (_, text) => {
    const content = Buffer.from(text);
    const stored = { content, filename: "", contentType: "application/pdf", sha256: sha256(content) };
    const { order, run } = await checkOutWithDamagedFile((key) => putFile(key, stored));
    expect(run.status).toBe("FAILED");
    expect(run.cause).toMatch(/its stored file is (not the one|longer than the one) uploaded/);
    expect(await upstream.forwarded(order.id)).toEqual([]);
  });
});

const sha256 = (content: Uint8Array) => createHash("sha256").update(content).digest("hex");
