import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { attachmentOf, form, pageOf, upload } from "../support/fixtures/attachments.ts";
import { call, codeOf, invalidParametersOf, notFoundBody } from "../support/requests/client.ts";
import { type Customer, newCustomer } from "./customer.ts";

let customer: Customer;
beforeAll(async () => {
  customer = await newCustomer();
});

describe.each(["request", "order"] as const)("an attachment of a %s", (kind) => {
  let path: string;
  let key: string;
  beforeAll(() => {
    path = customer.attachments(kind, "acme");
    key = customer.key("acme");
  });
  it("is created, shown, listed, updated and deleted", async () => {
    const reference = randomUUID();
    const parts = { "data[notes]": "Grüße – 署名", "data[file_hint]": "LOA", "data[reference_id]": reference };
    const body = form({ type: `${kind}_attachment`, ...parts });
    const created = await call("POST", path, { key, body });
    expect([created.status, created.headers.get("etag")]).toEqual([201, '"1"']);
    const attachment = attachmentOf(created);
    expect(attachment).toMatchObject({ name: "LOA", notes: "Grüße – 署名", file_hint: "LOA", reference_id: reference });

    const fetched = await call("GET", `${path}/${attachment.id}`, { key });
    expect([fetched.status, fetched.body]).toEqual([200, created.body]);

    const json = { type: `${kind}_attachment`, data: { name: "Signed" } };
    const updated = await call("PATCH", `${path}/${attachment.id}`, { key, json });
    expect([updated.status, updated.headers.get("etag")]).toEqual([200, '"2"']);
    expect(attachmentOf(updated)).toEqual({ ...attachment, name: "Signed", updated_at: expect.any(String) });

    expect(pageOf(await call("GET", path, { key })).ids).toContain(attachment.id);
    const deleted = await call("DELETE", `${path}/${attachment.id}`, { key });
    expect([deleted.status, deleted.body]).toEqual([200, updated.body]);
    const gone = await call("GET", `${path}/${attachment.id}`, { key });
    expect([gone.status, gone.body]).toEqual([404, notFoundBody(`${kind}_attachment`, attachment.id)]);
    expect(pageOf(await call("GET", path, { key })).ids).not.toContain(attachment.id);
  });

  it("is listed page by page, forwards and backwards", async () => {
    const list = customer.attachments(kind, kind === "request" ? "second" : "acme");
    const ids: string[] = [];
    for (const name of ["a", "b", "c"]) ids.push((await upload(list, key, { "data[name]": name })).id);
    const page = async (query: string) => pageOf(await call("GET", `${list}?${query}`, { key }));
    const first = await page("first=2");
    const rest = await page(`first=2&after=${first.after}`);
    const back = await page(`last=2&before=${rest.before}`);
    expect([first.ids, rest.ids, back.ids]).toEqual([ids.slice(0, 2), ids.slice(2), ids.slice(0, 2)]);
  });

  it("returns 401, 403, 404 or 422 as the function decides", async () => {
    const statusAndCode = async (sent: { key?: string }, to = path) => {
      const response = await call("GET", to, sent);
      return [response.status, codeOf(response)];
    };
    expect(await statusAndCode({})).toEqual([401, "unauthorized"]);
    expect(await statusAndCode({ key: customer.key("guest") })).toEqual([403, "access_denied.permission"]);
    expect(await statusAndCode({ key: customer.key("other") })).toEqual([404, "not_found"]);
    const invalid = await call("POST", path, { key, body: form({ "data[name]": undefined }) });
    expect([invalid.status, invalidParametersOf(invalid)]).toEqual([422, ["body /data/name constraint.required"]]);
  });
});
