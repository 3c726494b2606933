import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, inject, it } from "vitest";
import * as z from "zod/mini";
import { form, pdf } from "../support/fixtures/attachments.ts";
import { defaultSettings } from "../support/fixtures/switches.ts";
import { call, type ReceivedResponse } from "../support/requests/client.ts";
import { newCustomer } from "./customer.ts";

/**
 * What the interface promises, and nothing beyond it, so that it can judge any implementation: `npm run test:e2e -- --base-url <url>
 * --key <key> --request <id> --order <id>`. It needs no particular state, and deletes what it creates.
 */

const createCustomer = async () => {
  const customer = await newCustomer();
  return {
    key: customer.key("acme"),
    request: customer.id("requests", "acme"),
    order: customer.id("orders", "acme"),
    account: customer.id("accounts", "east"),
    otherKey: customer.key("other"),
    guestKey: customer.key("guest"),
  };
};

const given = inject("given") ?? (await createCustomer());
const { key } = given;

const ulid = expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
const unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const isDate = (time: unknown) =>
  typeof time === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(time) && !Number.isNaN(Date.parse(time));

const Document = z.looseObject({ type: z.string(), data: z.looseObject({ id: z.string() }) });
const List = z.object({
  type: z.literal("list"),
  data: z.object({
    items: z.array(Document),
    page_info: z.object({
      after: z.nullable(z.string()),
      before: z.nullable(z.string()),
      limit: z.int(),
      total: z.int(),
    }),
  }),
});
const Errors = z.object({ errors: z.array(z.looseObject({ code: z.string() })).check(z.minLength(1)) });

const documentOf = ({ body }: ReceivedResponse) => z.parse(Document, body);
const pageOf = ({ body }: ReceivedResponse) => {
  const { items, page_info } = z.parse(List, body).data;
  return { ...page_info, items, ids: items.map(({ data }) => data.id) };
};

const created: string[] = [];
afterAll(async () => {
  for (const path of created) await call("DELETE", path, { key });
});

/** Creates a document, which must return 201, and deletes it at the end. */
const make = async (path: string, sent: Parameters<typeof call>[2]) => {
  const response = await call("POST", path, { key, ...sent });
  expect([response.status, response.text]).toEqual([201, expect.any(String)]);
  const document = documentOf(response);
  const own = `${path.replace(/accounts\/[^/]+\//, "")}/${document.data.id}`;
  created.push(own);
  return { document, own };
};

/** Follows the cursors from the start of a list. */
const walk = async (path: string, query = "") => {
  const items: z.infer<typeof Document>[] = [];
  for (let [after, isLast] = ["", false]; !isLast; ) {
    const cursor = after && `after=${encodeURIComponent(after)}`;
    const response = await call("GET", `${path}?${[query, cursor].filter(Boolean).join("&")}`, { key });
    expect([response.status, path, query]).toEqual([200, path, query]);
    const page = pageOf(response);
    items.push(...page.items);
    after = page.after ?? "";
    isLast = after === "";
    if (isLast) expect(items).toHaveLength(page.total);
  }
  return items;
};

describe.each(["request", "order"] as const)("%s attachments", (kind) => {
  const type = `${kind}_attachment`;
  const path = `/api/v1/${kind}s/${given[kind]}/attachments`;
  const makeOne = (parts: Record<string, string> = {}) => make(path, { body: form({ type, ...parts }) });
  const statusOf = async (parts: Record<string, string | undefined>, file: File | null = pdf()) =>
    (await call("POST", path, { key, body: form(parts, file) })).status;

  it("are created with their fields, shown, listed and deleted", async () => {
    const reference_id = randomUUID();
    const parts = { "data[notes]": "Grüße 署名", "data[file_hint]": "LOA", "data[reference_id]": reference_id };
    const { document, own } = await makeOne(parts);
    const fields = { name: "LOA", notes: "Grüße 署名", file_hint: "LOA", reference_id, filename: "loa.pdf" };
    expect(document).toMatchObject({ type, data: { id: ulid, ...fields } });
    expect([isDate(document.data.inserted_at), isDate(document.data.updated_at)]).toEqual([true, true]);
    const associations = { request: { type: "request", data: { id: given.request } } };
    if (kind === "request") expect(document).toMatchObject({ associations });
    const shown = await call("GET", own, { key });
    expect([shown.status, shown.body]).toEqual([200, document]);
    expect(await walk(path)).toContainEqual(document);
    const deleted = await call("DELETE", own, { key });
    expect([deleted.status, deleted.body]).toEqual([200, document]);
    for (const method of ["GET", "DELETE"]) expect((await call(method, own, { key })).status, method).toBe(404);
    expect((await makeOne(parts)).document.data, "the reference_id is free again").toMatchObject({ reference_id });
  });

  it("have defaults, and a filename of their own if it is sent", async () => {
    const { document } = await makeOne();
    expect(document.data).toMatchObject({ notes: null, file_hint: "DEFAULT", reference_id: null, filename: "loa.pdf" });
    expect((await makeOne({ "data[filename]": "other.pdf" })).document.data).toMatchObject({ filename: "other.pdf" });
  });

  it("are updated: what is left out stays as it is", async () => {
    const { document, own } = await makeOne({ "data[notes]": "kept" });
    const patch = (data: object) => call("PATCH", own, { key, json: { type, data } });
    const renamed = await patch({ name: "Signed" });
    expect([renamed.status, documentOf(renamed).data]).toEqual([
      200,
      { ...document.data, name: "Signed", updated_at: expect.any(String) },
    ]);
    const changed = await patch({ notes: "new", file_hint: "LOA" });
    expect(documentOf(changed).data).toMatchObject({ name: "Signed", notes: "new", file_hint: "LOA" });
    expect((await call("GET", own, { key })).body).toEqual(changed.body);
    expect((await patch({ file_hint: "OTHER" })).status).toBe(422);
  });

  it("are a 422 without a file or a name, with an unknown file_hint, and with a reference_id that is taken", async () => {
    expect(await statusOf({ type }, null)).toBe(422);
    expect(await statusOf({ type, "data[name]": undefined })).toBe(422);
    expect(await statusOf({ type, "data[file_hint]": "OTHER" })).toBe(422);
    const reference = { "data[reference_id]": randomUUID() };
    await makeOne(reference);
    expect(await statusOf({ type, ...reference })).toBe(422);
  });

  it("are listed page by page, in both directions", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.push((await makeOne()).document.data.id);
    const seen = (await walk(path, "first=2")).map(({ data }) => data.id);
    expect(seen).toEqual(expect.arrayContaining(ids));
    expect(new Set(seen).size, "each once").toBe(seen.length);
    const page = async (query: string) => pageOf(await call("GET", `${path}?${query}`, { key }));
    const last = await page("last=2");
    expect([last.ids, last.limit, last.total]).toEqual([seen.slice(-2), 2, seen.length]);
    const before = await page(`last=1&before=${encodeURIComponent(last.before ?? "")}`);
    expect(before.ids).toEqual(seen.slice(-3, -2));
  });

  it("are a 404 under a parent that does not exist or is not theirs", async () => {
    const { own, document } = await makeOne();
    expect((await call("GET", own.replace(given[kind], unknown), { key })).status).toBe(404);
    expect((await call("GET", `${path}/${unknown}`, { key })).status).toBe(404);
    const other = kind === "request" ? `orders/${given.order}` : `requests/${given.request}`;
    expect((await call("GET", `/api/v1/${other}/attachments/${document.data.id}`, { key })).status).toBe(404);
  });

  it("are a 401 without a valid key", async () => {
    for (const headers of [
      {},
      { authorization: "Bearer apik_x" },
      { authorization: `Bearer ${key.replace(/^apik_/, "")}` },
    ])
      expect((await call("GET", path, { headers })).status, JSON.stringify(headers)).toBe(401);
  });

  it.runIf(given.guestKey)("are a 403 for a user without permissions", async () => {
    expect((await call("GET", path, { key: given.guestKey })).status).toBe(403);
  });

  it.runIf(given.otherKey)("are hidden from the key of another customer", async () => {
    expect([403, 404]).toContain((await call("GET", path, { key: given.otherKey })).status);
  });
});

describe("switches", () => {
  const path = "/api/v1/switches";
  const settings = {
    sms_enabled: true,
    sms_auth_method: "BASIC",
    sms_protocol: "HTTP",
    sms_endpoints: ["https://example.com/sms"],
    sms_identity: "patchbay",
    sms_message_format: "LEGACY_SMS_2_0",
    sms_secret: "secret",
    mms_enabled: true,
    mms_auth_method: "BEARER",
    mms_protocol: "HTTP",
    mms_endpoints: ["https://example.com/mms"],
    mms_identity: null,
    mms_message_format: "SERVICE_SMS_1_0",
    mms_secret: "token",
  };
  const named = (data: object = {}) => ({ name: `Interface ${randomUUID()}`, ...data });
  const makeOne = (data: object = named(settings), to = path) => make(to, { json: { type: "switch", data } });

  it("are created with all fields, shown, listed and deleted", async () => {
    const data = named(settings);
    const { document, own } = await makeOne(data);
    expect(document).toMatchObject({ type: "switch", data: { id: ulid, ...data } });
    expect([isDate(document.data.inserted_at), isDate(document.data.updated_at)]).toEqual([true, true]);
    expect(Object.keys(document.data)).toEqual(expect.arrayContaining(Object.keys(defaultSettings)));
    const shown = await call("GET", own, { key });
    expect([shown.status, shown.body]).toEqual([200, document]);
    expect(await walk(path)).toContainEqual(document);
    const deleted = await call("DELETE", own, { key });
    expect([deleted.status, deleted.body]).toEqual([200, document]);
    expect((await makeOne(data)).document.data, "the name is free again").toMatchObject(data);
  });

  it("are updated with the whole document", async () => {
    const { document, own } = await makeOne();
    const data = { ...named(settings), sms_protocol: "MAILBOX", sms_endpoints: [], sms_auth_method: "NONE" };
    const updated = await call("PATCH", own, { key, json: { type: "switch", data } });
    expect([updated.status, documentOf(updated).data]).toMatchObject([200, { id: document.data.id, ...data }]);
    expect((await call("GET", own, { key })).body).toEqual(updated.body);
  });

  it("are a 422 that names the parameter, with a name that is taken and with an unknown protocol", async () => {
    const { document, own } = await makeOne();
    const { name } = document.data;
    const other = await makeOne();
    const taken = {
      code: "invalid_parameter",
      source: { in: "body", pointer: "/data/name" },
      sub_code: "constraint.unique",
    };
    for (const response of [
      await call("POST", path, { key, json: { type: "switch", data: { ...settings, name } } }),
      await call("PATCH", other.own, { key, json: { type: "switch", data: { ...settings, name } } }),
    ]) {
      expect(response.status).toBe(422);
      expect(z.parse(Errors, response.body).errors).toMatchObject([{ ...taken, detail: expect.any(String) }]);
    }
    const data = { ...settings, name, sms_protocol: "MM4" };
    const wrong = await call("PATCH", own, { key, json: { type: "switch", data } });
    expect(wrong.status).toBe(422);
    const source = { in: "body", pointer: "/data/sms_protocol" };
    expect(z.parse(Errors, wrong.body).errors).toContainEqual(
      expect.objectContaining({ code: "invalid_parameter", source }),
    );
  });

  it("are a 404 with the id and the type if they do not exist", async () => {
    for (const method of ["GET", "PATCH", "DELETE"]) {
      const json = { type: "switch", data: named(settings) };
      const response = await call(method, `${path}/${unknown}`, { key, ...(method === "PATCH" && { json }) });
      const resource = { id: unknown, type: "switch" };
      const error = { code: "not_found", title: "Not Found", params: { resource }, sub_code: "none" };
      expect([response.status, response.body], method).toMatchObject([404, { errors: [error] }]);
    }
  });

  it.runIf(given.account)("of a sub-account are in the list of the account above", async () => {
    const { document, own } = await makeOne(named(settings), `/api/v1/accounts/${given.account}/switches`);
    expect((await call("GET", own, { key })).body).toEqual(document);
    expect(await walk(path)).toContainEqual(document);
  });

  it.runIf(given.otherKey)("of one customer are hidden from another", async () => {
    const { own } = await makeOne();
    expect([403, 404]).toContain((await call("GET", own, { key: given.otherKey })).status);
  });

  it("are a 401 without a valid key", async () => {
    expect((await call("GET", path)).status).toBe(401);
  });
});
