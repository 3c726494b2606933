import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { readRun } from "../../../shared/checkout/checkout-run.ts";
import { receiptsOf } from "../../../shared/checkout/plan.ts";
import { newId } from "../../../shared/schema/fields.ts";
import { collections, keys } from "../../../shared/table/keys.ts";
import { get, queryAll } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { newOrder, orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { addMessagingNumbers } from "../../support/fixtures/tenants.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { type CarrierResponse, scriptedCarrier } from "../../support/servers/scripted-carrier.ts";
import { checkOut, loadStep, stateOf } from "../../support/servers/workflow.ts";
import { exhaustive } from "../../support/setup/extent.ts";

/** The manifest of the checkout's POST, and carriers whose cart is not what their confirmations say. */

const comparing = await carrier();
const scripted = await scriptedCarrier();
afterEach(async () => {
  await comparing.behave();
  vi.unstubAllEnvs();
});
afterAll(() => Promise.all([comparing.close(), scripted.close()]));

/** Sends a file to the comparing carrier past Patchbay, as a call that acts late does. */
const putLate = async (path: string, key: string, name: string) => {
  const form = new FormData();
  form.set("metadata", JSON.stringify({ name, notes: null, file_hint: "LOA", filename: "late.pdf" }));
  form.set("file", new File(["%PDF late"], "late.pdf"));
  const headers = { Authorization: "Bearer the-carrier-token", "Idempotency-Key": key };
  const { status } = await fetch(`${comparing.url}${path}`, { method: "PUT", headers, body: form });
  if (status >= 300) throw new Error(`PUT ${path}: ${status}`);
};

const callsOf = async (order: string) =>
  (await comparing.cart(order)).calls.map(
    ({ method, status, idempotency_key }) => `${method} ${status} ${idempotency_key}`,
  );

describe("a carrier that compares its cart with the manifest", () => {
  it("gets the same key for the same manifest until it has decided, and then another", async () => {
    const order = await newOrder(addMessagingNumbers, addMessagingNumbers);
    const shared = await order.attach("order");
    const own = await order.attach(1);
    await order.update(1, own, { name: "Signed" });
    for (const [status, reason] of [
      [403, null],
      [422, "no"],
      [403, null],
    ] as const) {
      await comparing.misbehave({ method: "POST", action: "status", status, body: { reason } });
      await checkOut(order.id);
    }
    await order.update("order", shared, { name: "Terms" });
    await checkOut(order.id);
    const posts = (await comparing.cart(order.id)).calls.filter(({ method }) => method === "POST");
    const posted = [...Map.groupBy(posts, ({ idempotency_key }) => idempotency_key).values()];
    expect(posted.map((calls) => calls.map(({ status }) => status))).toEqual([[403, 422], [403], [200]]);
  });

  it("that has lost its cart gets everything again under new keys, and what was deleted meanwhile is not there", async () => {
    const order = await newOrder(addMessagingNumbers);
    const [letter, shared] = [await order.attach(0), await order.attach("order")];
    await comparing.misbehave({ method: "POST", action: "forget" });
    const run = await checkOut(order.id);
    expect(run.status).toBe("SUCCEEDED");
    const [request] = order.requests;
    const calls = await callsOf(order.id);
    const put = "PUT 201";
    expect(calls.map((call) => call.slice(0, 8).trim())).toEqual([put, put, "POST 412", put, put, "POST 200"]);
    expect(new Set(calls).size).toBe(6);
    expect(new Set(await comparing.forwarded(order.id))).toEqual(
      new Set([`${request} ${letter}`, `${request} ${shared}`]),
    );
    expect(await receiptsOf(request ?? "")).toMatchObject(
      Array(2).fill({ state: "forwarded", held: "yes", attempts: 2 }),
    );
  });

  it("that was changed by late calls is put right: an old name, a deleted letter, and one that the table does not know", async () => {
    const order = await newOrder(addMessagingNumbers);
    const [request = ""] = order.requests;
    const [letter, deleted, unknown] = [await order.attach(0, "Old"), await order.attach(0), newId(Date.now())];
    const pathOf = (id: string) => `/carts/${order.id}/requests/${request}/attachments/${id}`;
    await comparing.misbehave({ method: "POST", action: "status", status: 422 });
    await checkOut(order.id);
    await order.update(0, letter, { name: "New" });
    await order.remove(0, deleted);
    const late = async () => {
      await putLate(pathOf(letter), "a late key", "Old");
      await putLate(pathOf(deleted), "another late key", "Deleted");
      await putLate(pathOf(unknown), "a third late key", "Unknown");
    };
    const run = await checkOut(order.id, { before: { "checkout/submit": [late] } });
    expect([run.status, await stateOf(order.id)]).toMatchObject(["SUCCEEDED", { state: "CHECKED_OUT", reason: null }]);
    const { attachments } = await comparing.cart(order.id);
    expect(attachments).toMatchObject([{ attachment_id: letter, name: "New", bytes: 15 }]);
    const receipts = new Map(
      (await receiptsOf(request)).map(({ attachment, state, held }) => [attachment, { state, held }]),
    );
    const withdrawn = { state: "withdrawn", held: "no" };
    expect(receipts).toEqual(
      new Map([
        [letter, { state: "forwarded", held: "yes" }],
        [deleted, withdrawn],
        [unknown, withdrawn],
      ]),
    );
    // Another key than that of the first withdrawal.
    const { calls } = await comparing.cart(order.id);
    const withdrawals = calls.filter(({ method, path }) => method === "DELETE" && path === pathOf(deleted));
    expect(withdrawals).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(withdrawals[0]?.idempotency_key).not.toBe(withdrawals[1]?.idempotency_key);
    const events = await Array.fromAsync(queryAll(collections.events({ type: "request", id: request })));
    const of = (id: string) => events.filter(({ resource }) => Object(resource).id === id).map(({ type }) => type);
    expect([of(unknown), of(letter).at(-1)]).toEqual([
      ["request_attachment.withdrawn"],
      "request_attachment.forwarded",
    ]);
  });

  it("has what the table lacks after it was restored to an earlier time", async () => {
    const order = await newOrder(addMessagingNumbers);
    const [request = ""] = order.requests;
    const kept = await order.attach(0);
    await comparing.misbehave({ method: "POST", action: "status", status: 422, times: 2 });
    await checkOut(order.id);
    const restored = (await get(keys.receipt(request, kept))) ?? {};
    const readEvents = () => Array.fromAsync(queryAll(collections.events({ type: "request", id: request })));
    const events = new Set((await readEvents()).map(({ sk }) => sk));
    await order.update(0, kept, { name: "Later" });
    const later = await order.attach(0);
    await checkOut(order.id);
    // The table forgets the second run's receipts and events, and the letter that was added before it.
    await order.remove(0, later);
    const forgotten = (await readEvents()).filter(
      ({ sk, type }) => !events.has(sk) && /\.forwarded$/.test(String(type)),
    );
    const removals = forgotten.map(({ pk, sk }) => [String(sk), { delete: { pk: String(pk), sk: String(sk) } }]);
    await transact({
      kept: { put: { ...keys.receipt(request, kept), ...restored } },
      later: { delete: keys.receipt(request, later) },
      ...Object.fromEntries(removals),
    });
    expect((await checkOut(order.id)).status).toBe("SUCCEEDED");
    const { attachments } = await comparing.cart(order.id);
    expect(attachments).toMatchObject([{ attachment_id: kept, name: "Later" }]);
  });
});

/**
 * Checks an order out at the scripted carrier, which confirms everything. It gives these answers to the POSTs in turn, and the last
 * one for ever.
 */
const checkOutWith = async (
  order: Awaited<ReturnType<typeof orderWithOneAttachment>>,
  ...answers: readonly (CarrierResponse | (() => CarrierResponse))[]
) => {
  vi.stubEnv("CARRIER_URL", scripted.url);
  const calls: string[] = [];
  let posts = 0;
  scripted.respondWith((call) => {
    calls.push(call.split(" ")[0] ?? "");
    if (!call.startsWith("POST")) return 204;
    posts += 1;
    const answer = answers[Math.min(posts, answers.length) - 1] ?? 599;
    return typeof answer === "function" ? answer() : answer;
  });
  const run = await checkOut(order.id);
  return { status: run.status, calls, reason: (await readRun(order.id))?.reason };
};

/** The state with which the first step of an order with one attachment submits it. */
const firstSubmitted = async (order_id: string) => {
  const progress = { passes_left: 47, rounds: 0, corrections_left: 5, waits: 0 };
  const { cart } = (await readRun(order_id)) ?? {};
  return { order_id, ...progress, version: 1, read_at: new Date().toISOString(), receipts_version: null, cart };
};

const differs = (body: unknown): CarrierResponse => [412, {}, typeof body === "string" ? body : JSON.stringify(body)];
const done: CarrierResponse = [200, {}, '{"checked_out":true}'];

describe("a 412 to the checkout of the cart", () => {
  const list = (...attachments: readonly object[]) => differs({ error: "it differs", attachments });
  type One = Awaited<ReturnType<typeof orderWithOneAttachment>>;
  const own = ({ requests: [request_id], attachment: id }: One) => ({ request_id, id });

  it("for ever ends the run after five corrections, as a fault with the carrier's words", async () => {
    const order = await orderWithOneAttachment();
    const { status, calls, reason } = await checkOutWith(order, list());
    expect([status, calls]).toEqual(["FAILED", Array(6).fill(["PUT", "POST"]).flat()]);
    expect(reason).toBe(
      `The carrier's cart differs from what it has confirmed, after 5 corrections: 412 {"error":"it differs","attachments":[]}. Ask the carrier what its cart has, then start the checkout again.`,
    );
    expect(await stateOf(order.id)).toMatchObject({ state: "CART", run: "FAILED", sealed: false });
    expect(await readRun(order.id)).toMatchObject({ failure: "fault", outcome_unknown: false });
  });

  it.each<[string, (order: One) => CarrierResponse]>([
    ["is empty", () => differs("")],
    ["has no list", () => differs({ reason: "it differs" })],
    ["has a list that is none", () => differs({ attachments: "none" })],
    ["has a list of something else", (order) => list(own(order), { id: 7 })],
    ["lists nothing", () => list()],
    ["lists another key", (order) => list({ ...own(order), idempotency_key: "another" })],
    ["lists no key", (order) => list({ ...own(order), idempotency_key: null })],
    [
      "lists it twice",
      (order) => list({ ...own(order), idempotency_key: "a" }, { ...own(order), idempotency_key: "b" }),
    ],
    ["lists exactly the manifest", (order) => list({ ...own(order), idempotency_key: scripted.keys.at(-2) })],
    [
      "lists it in lower case",
      (order) => list({ request_id: own(order).request_id?.toLowerCase(), id: order.attachment.toLowerCase() }),
    ],
    ["has four million characters", () => differs(JSON.stringify({ attachments: [], padding: "x".repeat(3_900_000) }))],
  ])("that %s leads to another round, under a new key", async (_, answer) => {
    const order = await orderWithOneAttachment();
    const { status, calls } = await checkOutWith(order, () => answer(order), done);
    expect([status, calls]).toEqual(["SUCCEEDED", ["PUT", "POST", "PUT", "POST"]]);
    expect(new Set(scripted.keys.slice(-4)).size).toBe(4);
  });

  it("without a list leads to the withdrawal even of a deleted letter that its receipt denies", async () => {
    const order = await orderWithOneAttachment();
    const deleted = await order.attach(0);
    vi.stubEnv("CARRIER_URL", scripted.url);
    scripted.respondWith((call) => (call.includes(deleted) ? 404 : 204));
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect((await receiptsOf(order.requests[0] ?? "")).map(({ held }) => held).sort()).toEqual(["no", "yes"]);
    // Before that, the carrier may have confirmed it, if another carrier's confirmation has replaced that receipt.
    await order.remove(0, deleted);
    const { status, calls } = await checkOutWith(order, differs(""), done);
    expect([status, calls.sort()]).toEqual(["SUCCEEDED", ["DELETE", "POST", "POST", "PUT"]]);
  });

  it.each<[string, CarrierResponse]>([
    ["is a page", differs("<html>")],
    ["has no end", differs(`{"attachments":["${"x".repeat(4_100_000)}`)],
  ])("that %s is nobody's word", async (_, answer) => {
    const order = await orderWithOneAttachment();
    const { status, calls, reason } = await checkOutWith(order, answer);
    expect([status, calls]).toEqual(["FAILED", ["PUT", "POST"]]);
    expect(reason).toContain("The carrier did not check the cart out: 412 ");
  });

  it("touches no other order, and names what it cannot correct", async () => {
    const [order, other] = [await orderWithOneAttachment(), await orderWithOneAttachment()];
    const foreign = [
      { ...own(other), idempotency_key: "x" },
      { request_id: "../..", id: "../../checkout" },
    ];
    const itself = () => ({ ...own(order), idempotency_key: scripted.keys.at(-2) });
    const { status, calls, reason } = await checkOutWith(order, () => list(itself(), ...foreign));
    expect([status, calls, reason]).toEqual([
      "FAILED",
      ["PUT", "POST"],
      expect.stringContaining(String(own(other).request_id)),
    ]);
    expect(await receiptsOf(other.requests[0] ?? "")).toEqual([]);
    const { calls: next, status: end } = await checkOutWith(order, list(...foreign), done);
    expect([end, next]).toEqual(["SUCCEEDED", ["POST", "PUT", "POST"]]);
  });

  it("lets no copy of the step seal the order by what the receipts said before", async () => {
    const order = await orderWithOneAttachment();
    vi.stubEnv("CARRIER_URL", scripted.url);
    const calls: string[] = [];
    scripted.respondWith((call) => {
      calls.push(call.split(" ")[0] ?? "");
      return call.startsWith("POST") && calls.length < 3 ? list() : done;
    });
    // The result of the first copy is lost. Its order may have changed so often that its version no longer counts.
    const name = `copied-${order.id}`;
    const copy = async () => {
      const state = { ...(await firstSubmitted(order.id)), rounds: 3 };
      expect(await loadStep("checkout/submit")?.({ run: name, state })).toMatchObject({ next: "FORWARD" });
    };
    const hooks = { after: { "checkout/submit": [copy] } };
    expect((await checkOut(order.id, hooks, name)).status).toBe("SUCCEEDED");
    expect(calls).toEqual(["PUT", "POST", "PUT", "POST"]);
  });

  it.runIf(exhaustive)(
    "of a manifest with more letters than a transaction takes corrects them in several transactions",
    {
      timeout: 300_000,
    },
    async () => {
      const requests = 30;
      const order = await newOrder(...Array<string>(requests).fill(addMessagingNumbers));
      for (let nth = 0; nth < 10; nth += 1) await order.attach("order");
      const { status, calls } = await checkOutWith({ ...order, attachment: "", carrierEntry: "" }, list(), done);
      const count = (method: string) => calls.filter((call) => call === method).length;
      expect([status, count("PUT"), count("POST")]).toEqual(["SUCCEEDED", 2 * 10 * requests, 2]);
    },
  );
});

describe("a refusal of the cart", () => {
  it("that names letters refuses exactly those, each with its reason and event; the next run sends what replaces them", async () => {
    const order = await newOrder(addMessagingNumbers);
    const [request_id = ""] = order.requests;
    const [unsigned, expired, good] = [await order.attach(0), await order.attach("order"), await order.attach(0)];
    const other = await orderWithOneAttachment();
    const attachments = [
      { request_id, id: unsigned, reason: "The signature is missing." },
      { request_id: request_id.toLowerCase(), id: expired.toLowerCase(), reason: "It has expired." },
      { request_id: other.requests[0], id: other.attachment, reason: "Another order's." },
      { id: good, reason: "Of no request." },
      { request_id, id: newId(Date.now()), reason: "Nobody's." },
      "nonsense",
      null,
    ];
    const answer: CarrierResponse = [422, {}, JSON.stringify({ reason: "Two letters are not accepted.", attachments })];
    const all = { ...order, attachment: good, carrierEntry: "" };
    const { status, reason } = await checkOutWith(all, answer);
    expect([status, reason]).toEqual(["FAILED", expect.stringContaining("refused to check the cart out: 422")]);
    expect(await readRun(order.id)).toMatchObject({ failure: "refused", outcome_unknown: false });
    const states = new Map((await receiptsOf(request_id)).map((one) => [one.attachment, [one.state, one.reason]]));
    expect(states).toEqual(
      new Map([
        [unsigned, ["refused", "The signature is missing."]],
        [expired, ["refused", "It has expired."]],
        [good, ["forwarded", null]],
      ]),
    );
    const events = await Array.fromAsync(queryAll(collections.events({ type: "request", id: request_id })));
    const refused = events.filter(({ type }) => String(type).endsWith(".refused"));
    expect(new Set(refused.map(({ type, answer, reason }) => [type, answer, reason]))).toEqual(
      new Set([
        ["request_attachment.refused", { status: 422, text: "The signature is missing." }, "not checked out"],
        ["order_attachment.refused", { status: 422, text: "It has expired." }, "not checked out"],
      ]),
    );
    expect(await receiptsOf(other.requests[0] ?? "")).toEqual([]);
    await order.remove(0, unsigned);
    await order.attach(0, "Signed");
    const { status: end, calls } = await checkOutWith(all, done);
    expect([end, calls.toSorted()]).toEqual(["SUCCEEDED", ["DELETE", "POST", "PUT", "PUT"]]);
  });

  it("with a 409 does so once the GET says that the cart is not checked out", async () => {
    const order = await orderWithOneAttachment();
    vi.stubEnv("CARRIER_URL", scripted.url);
    const verdict = { request_id: order.requests[0], id: order.attachment, reason: "It is not signed." };
    scripted.respondWith((call) => {
      if (call === "GET cart") return [200, {}, '{"checked_out":false}'];
      return call.startsWith("PUT") ? 204 : [409, {}, JSON.stringify({ reason: "no", attachments: [verdict] })];
    });
    expect((await checkOut(order.id)).status).toBe("FAILED");
    expect(await readRun(order.id)).toMatchObject({ failure: "refused" });
    expect(await receiptsOf(order.requests[0] ?? "")).toMatchObject([
      { state: "refused", reason: "It is not signed." },
    ]);
  });
});
