import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../support/fault-proxy/table-proxy.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { attachmentOf, form, pageOf, pdf, rawForm } from "../../support/fixtures/attachments.ts";
import { allPermissions, sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call, codeOf, invalidBody } from "../../support/requests/client.ts";

const t = await tenants();

describe.each(sampledParentTypes("order"))("an Idempotency-Key on an upload to a %s", (kind) => {
  const path = t.attachments(kind, "acme");

  const newKey = () => randomUUID();
  const post = (idempotencyKey: string, body = form(), to = path, key = t.key("acme")) =>
    call("POST", to, { key, body, headers: { "idempotency-key": idempotencyKey } });

  const conflict = invalidBody("header", "/Idempotency-Key", {
    detail: "has already been used with another body or path",
    sub_code: "constraint.unique",
  });

  it("returns the first response again, marked as replayed, and creates nothing", async () => {
    const before = pageOf(await call("GET", path, { key: t.key("acme") })).total;
    const key = newKey();
    const first = await post(key);
    expect([first.status, first.headers.get("idempotency-replayed")]).toEqual([201, null]);
    const again = await post(key);
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("etag")).toBe(first.headers.get("etag"));
    expect(pageOf(await call("GET", path, { key: t.key("acme") })).total).toBe(before + 1);
  });

  it("returns the first response even if the attachment has a reference_id, was changed or was deleted", async () => {
    const key = newKey();
    const body = () => form({ "data[reference_id]": "99999999-0000-4000-8000-000000000001" });
    const first = await post(key, body());
    const ownPath = `${path}/${attachmentOf(first).id}`;
    await call("PATCH", ownPath, {
      key: t.key("acme"),
      json: { type: `${kind}_attachment`, data: { name: "changed" } },
    });
    expect((await post(key, body())).body).toEqual(first.body);
    await call("DELETE", ownPath, { key: t.key("acme") });
    expect((await post(key, body())).body).toEqual(first.body);
    expect((await call("GET", ownPath, { key: t.key("acme") })).status).toBe(404);
  });

  it("returns 422 with another name, other notes, another file, file name, media type or parent", async () => {
    const key = newKey();
    await post(key);
    for (const [label, sent] of [
      ["name", form({ "data[name]": "Other" })],
      ["notes", form({ "data[notes]": "x" })],
      ["file", form({}, pdf("loa.pdf", "other bytes"))],
      ["file name", form({}, pdf("other.pdf"))],
      ["media type of the file", form({}, new File(["%PDF-1.7 signed"], "loa.pdf"))],
    ] as const) {
      const response = await post(key, sent);
      expect([response.status, response.body], label).toEqual([422, conflict]);
    }
    const elsewhere = await post(key, form(), t.attachments(kind, "sibling"));
    expect([elsewhere.status, elsewhere.body]).toEqual([422, conflict]);
  });

  it("ignores the multipart boundary, the order of the parts and unknown parts", async () => {
    const key = newKey();
    const name = ['Content-Disposition: form-data; name="data[name]"', "LOA"] as const;
    const file = ['Content-Disposition: form-data; name="data[file]"; filename="a.pdf"', "bytes"] as const;
    const other = ['Content-Disposition: form-data; name="color"', "red"] as const;
    const send = ({ body, headers }: ReturnType<typeof rawForm>) =>
      call("POST", path, { key: t.key("acme"), body, headers: { ...headers, "idempotency-key": key } });
    const first = await send(rawForm(name, file));
    const again = await send(rawForm(other, file, name));
    expect([again.status, again.headers.get("idempotency-replayed"), again.body]).toEqual([201, "true", first.body]);
  });

  it("is shared by the keys of an account, and not with other accounts", async () => {
    const account = t.account("acme");
    const created = await apply({
      users: { u: { account, permissions: allPermissions } },
      keys: { second: { account, user: "u" } },
    });
    const key = newKey();
    const shared = t.attachments(kind, "east");
    const first = await post(key, form(), shared);
    const again = await post(key, form(), shared, created.keys.second?.key ?? "");
    expect([again.headers.get("idempotency-replayed"), again.body]).toEqual(["true", first.body]);
    const other = await post(key, form(), shared, t.key("east"));
    expect([other.status, other.headers.get("idempotency-replayed")]).toEqual([201, null]);
    expect(attachmentOf(other).id).not.toBe(attachmentOf(first).id);
  });

  it("creates one attachment for 20 concurrent POSTs, which all return the same response", async () => {
    const ownList = t.attachments(kind, "done");
    const key = newKey();
    // All but one find the reference_id in use, too.
    const parts = { "data[reference_id]": randomUUID() };
    const responses = await atOnce(20, () => post(key, form(parts), ownList));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
    expect(responses.filter(({ headers }) => headers.get("idempotency-replayed") === null)).toHaveLength(1);
    expect(pageOf(await call("GET", ownList, { key: t.key("acme") })).total).toBe(1);
  });

  it("can be used again after a refused POST", async () => {
    const key = newKey();
    expect((await post(key, form({ "data[name]": "" }))).status).toBe(422);
    expect((await post(key)).status).toBe(201);
  });

  it("does not bypass the access checks", async () => {
    const key = newKey();
    await post(key);
    expect(codeOf(await post(key, form(), path, t.key("other")))).toBe("not_found");
  });
});
