import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { startCarrier } from "../../../infra/local/carrier.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { sha256Of } from "../../support/fixtures/upload-content.ts";

const carrier = await startCarrier({ token: "secret" });
afterAll(carrier.close);
const newOrder = () => `ORDER${crypto.randomUUID()}`;

const call = (method: string, path: string, key?: string, body: FormData | string | null = null) =>
  fetch(carrier.url + path, {
    method,
    headers: { authorization: "Bearer secret", ...(key && { "idempotency-key": key }) },
    body,
  });

const metadata = { name: "LOA", notes: null, file_hint: "LOA", filename: "loa.pdf" };
const form = (announced = sha256Of("signed")) => {
  const body = new FormData();
  body.append("metadata", JSON.stringify({ ...metadata, sha256: announced }));
  body.append("file", new Blob(["signed"]), "loa.pdf");
  return body;
};

const stored = (idempotency_key: string, sha256 = sha256Of("signed")) => ({
  request_id: "R",
  id: "A",
  idempotency_key,
  sha256,
});
const manifest = (...attachments: object[]) => JSON.stringify({ attachments });

const place = (order: string) => `/carts/${order}/requests/R/attachments/A`;
const cart = async (order: string) => (await call("GET", `/carts/${order}`)).json();
const misbehave = (fault: object) => fetch(`${carrier.url}/faults`, { method: "POST", body: JSON.stringify(fault) });

describe("the simulated carrier", () => {
  it("stores the size and SHA-256 of each file, and counts how often it was stored", async () => {
    const order = newOrder();
    expect(await cart(order)).toEqual({ checked_out: false, attachments: [], withdrawn: [], calls: [] });
    for (const key of ["k1", "k1", "k2"]) expect((await call("PUT", place(order), key, form())).ok).toBe(true);
    const stored = { ...metadata, bytes: 6, sha256: sha256Of("signed"), idempotency_key: "k2", received: 2 };
    expect(await cart(order)).toEqual({
      checked_out: false,
      attachments: [{ request_id: "R", attachment_id: "A", ...stored }],
      withdrawn: [],
      calls: [201, 201, 200].map((status, n) => ({
        method: "PUT",
        path: place(order),
        status,
        idempotency_key: n < 2 ? "k1" : "k2",
      })),
    });
  });

  it("repeats only a 2xx for an idempotency key: after a 4xx or a 5xx, the key is free", async () => {
    const order = newOrder();
    expect((await call("PUT", place(order), "k", form(sha256Of("other")))).status).toBe(400);
    await misbehave({ method: "PUT", action: "status", status: 503 });
    expect((await call("PUT", place(order), "k", form())).status).toBe(503);
    const stored = await call("PUT", place(order), "k", form());
    expect(stored.status).toBe(201);
    const repeated = await call("PUT", place(order), "k", form(sha256Of("other")));
    expect([repeated.status, await repeated.json()]).toEqual([201, await stored.json()]);
  });

  it("withdraws a file, and checks out once: a retry with the same key succeeds, with another key it returns 409", async () => {
    const order = newOrder();
    await call("PUT", place(order), "k", form());
    expect((await call("DELETE", place(order), "w")).status).toBe(200);
    for (const key of ["c", "c"]) {
      const done = await call("POST", `/carts/${order}/checkout`, key, manifest());
      expect([done.status, await done.json()]).toEqual([200, { checked_out: true }]);
    }
    expect((await call("POST", `/carts/${order}/checkout`, "d", manifest())).status).toBe(409);
    expect((await call("PUT", place(order), "late", form())).status).toBe(409);
    expect((await call("DELETE", place(order), "late")).status).toBe(409);
    expect(await cart(order)).toMatchObject({
      checked_out: true,
      attachments: [],
      withdrawn: [{ attachment_id: "A" }],
    });
  });

  it.each([
    ["lacks a file", manifest()],
    ["names another key", manifest(stored("k2"))],
    ["names another file", manifest(stored("k", sha256Of("other")))],
    ["has one more", manifest(stored("k"), { ...stored("k"), id: "B" })],
    ["names one twice", manifest(stored("k"), stored("k"))],
  ])("does not check out a cart if the manifest %s, and returns what the cart has", async (_, body) => {
    const order = newOrder();
    await call("PUT", place(order), "k", form());
    const refused = await call("POST", `/carts/${order}/checkout`, "c", body);
    expect([refused.status, await refused.json()]).toEqual([
      412,
      {
        error: "the cart differs from the manifest",
        attachments: [{ request_id: "R", id: "A", idempotency_key: "k" }],
      },
    ]);
    // A 412 leaves the key free.
    expect((await call("POST", `/carts/${order}/checkout`, "c", manifest(stored("k")))).status).toBe(200);
  });

  it("returns 400 without a key, and for ids or a size in the metadata that are not those of the call", async () => {
    const order = newOrder();
    for (const method of ["PUT", "DELETE"])
      expect((await call(method, place(order), undefined, method === "PUT" ? form() : null)).status).toBe(400);
    for (const wrong of [{ id: "B" }, { request_id: "S" }, { bytes: 7 }]) {
      const body = new FormData();
      body.append("metadata", JSON.stringify({ ...metadata, ...wrong }));
      body.append("file", new Blob(["signed"]), "loa.pdf");
      expect((await call("PUT", place(order), "k", body)).status, JSON.stringify(wrong)).toBe(400);
    }
    expect(await cart(order)).toMatchObject({ attachments: [] });
  });

  it("checks out any cart if it does not compare", async () => {
    const { url, close } = await startCarrier({ compares: false });
    onTestFinished(close);
    const response = await fetch(`${url}/carts/O/checkout`, {
      method: "POST",
      headers: { "idempotency-key": "c" },
      body: manifest(stored("k")),
    });
    expect([response.status, await response.json()]).toEqual([200, { checked_out: true }]);
  });

  it.each(["", "{", "null", '{"attachments": {}}', '{"attachments": [{"id": "A"}]}'])(
    "returns 400 and what is wrong for the manifest %s",
    async (body) => {
      const response = await call("POST", `/carts/${newOrder()}/checkout`, "c", body);
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: "the body must be JSON with attachments, each with request_id, id, idempotency_key and sha256" },
      ]);
    },
  );

  it("refuses a wrong token and an invalid form", async () => {
    const order = newOrder();
    expect((await fetch(carrier.url + place(order), { method: "PUT", body: form() })).status).toBe(401);
    const headers = { authorization: "Bearer wrong" };
    expect((await fetch(`${carrier.url}/carts/${order}`, { headers })).status).toBe(401);
    expect((await fetch(`${carrier.url}/carts/${order}`)).status).toBe(200);
    expect((await call("PUT", place(order), "k")).status).toBe(400);
    expect(await cart(order)).toMatchObject({ attachments: [] });
  });

  it("misbehaves as often as requested, and then recovers", async () => {
    const order = newOrder();
    const headers = { "retry-after": "7" };
    await misbehave({ method: "PUT", path: "/requests/R/", times: 1, action: "status", status: 429, headers });
    const limited = await call("PUT", place(order), "k", form());
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "7"]);
    for (const action of ["drop-before", "drop-after"]) {
      await misbehave({ method: "PUT", action });
      await expect(call("PUT", place(order), action, form())).rejects.toThrow();
    }
    await misbehave({ action: "cut" });
    await expect(call("PUT", place(order), "cut", form()).then((response) => response.text())).rejects.toThrow();
    await misbehave({ action: "status", times: 100 });
    await fetch(`${carrier.url}/faults`, { method: "DELETE" });
    expect((await call("PUT", place(order), "drop-after", form())).ok).toBe(true);
    expect(await cart(order)).toMatchObject({ attachments: [{ received: 2 }] });
  });

  it("plays what stands before a carrier: pages, empty and compressed responses, and an echo of the token", async () => {
    const order = newOrder();
    const put = async () => {
      const response = await call("PUT", place(order), "k", form());
      return [response.status, response.headers.get("content-type"), await response.text()];
    };
    await misbehave({ action: "status", status: 202, text: "<html>Just a moment</html>" });
    expect(await put()).toEqual([202, "text/html", "<html>Just a moment</html>"]);
    await misbehave({ action: "status", status: 404, text: "" });
    expect(await put()).toEqual([404, "text/html", ""]);
    await misbehave({ action: "status", status: 401, body: { reason: "Unauthorized: $AUTHORIZATION" } });
    expect(await put()).toEqual([401, "application/json", '{"reason":"Unauthorized: Bearer secret"}']);
    expect(await cart(order)).toMatchObject({ attachments: [] });
    for (const encoding of ["gzip", "deflate", "br"]) {
      await misbehave({ action: "pass", encoding });
      const compressed = await call("PUT", place(order), "k", form());
      expect([compressed.headers.get("content-encoding"), await compressed.json()]).toMatchObject([
        encoding,
        { attachment_id: "A" },
      ]);
    }
  });

  it("forgets a cart and its keys, but not the record of its calls", async () => {
    const order = newOrder();
    await call("PUT", place(order), "k", form());
    await misbehave({ method: "POST", action: "forget" });
    const lost = await call("POST", `/carts/${order}/checkout`, "c", manifest(stored("k")));
    expect([lost.status, await lost.json()]).toMatchObject([412, { attachments: [] }]);
    expect(await cart(order)).toMatchObject({ attachments: [], calls: [{ status: 201 }, { status: 412 }] });
    expect((await call("PUT", place(order), "k", form())).status).toBe(201);
  });

  it("refuses an unknown kind of fault", async () => {
    expect((await misbehave({ action: "explode" })).status).toBe(422);
    expect((await misbehave({ action: "status", path: "(" })).status).toBe(422);
  });

  it("keeps its carts in a folder, with their idempotency keys", async () => {
    const folder = newFolder();
    const putAndRead = async () => {
      const { url, close } = await startCarrier({ folder });
      onTestFinished(close);
      const read = async (): Promise<unknown> => (await fetch(`${url}/carts/one`)).json();
      const before = await read();
      const headers = { "idempotency-key": "k" };
      const { status } = await fetch(url + place("one"), { method: "PUT", headers, body: form() });
      return { before, status, after: await read() };
    };
    const first = await putAndRead();
    const second = await putAndRead();
    // A cart that cannot be stored is no refusal.
    mkdirSync(join(folder, "full.json"));
    const { url, close } = await startCarrier({ folder });
    onTestFinished(close);
    await expect(fetch(url + place("full"), { method: "PUT", body: form() })).rejects.toThrow("fetch failed");
    expect(second).toMatchObject({ before: first.after, status: 201, after: { attachments: [{ received: 1 }] } });
  });
});
