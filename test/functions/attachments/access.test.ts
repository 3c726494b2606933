import { describe, expect, it } from "vitest";
import { setPermissions } from "../../../shared/tenants/administration.ts";
import { apply } from "../../../shared/tenants/apply.ts";
import { attachmentOf, form, upload } from "../../support/fixtures/attachments.ts";
import { allPermissions, kinds, tenants } from "../../support/fixtures/tenants.ts";
import { call, codeOf, errorBody, notFoundBody } from "../../support/requests/client.ts";

const t = await tenants();

// Written out again, so that a slip in the code's own table is seen.
const parentPermission = {
  request: { CART: "ordering_cart_requests:show", CHECKED_OUT: "ordering_requests:show" },
  order: { CART: "ordering_carts:show", CHECKED_OUT: "ordering_orders:show" },
};

describe.each(kinds)("attachments of a %s", (kind) => {
  const path = (name: string) => t.attachments(kind, name);
  const parentId = (name: string) => (kind === "request" ? t.request(name) : t.order(name));

  const unauthorizedBody = errorBody({
    code: "unauthorized",
    title: "Unauthorized",
    detail: "The access token is missing or invalid.",
  });

  describe("a key", () => {
    const refused = async (headers: Record<string, string>, label = JSON.stringify(headers)) => {
      const answer = await call("GET", path("acme"), { headers });
      expect(answer.status, label).toBe(401);
      expect(answer.body, label).toEqual(unauthorizedBody);
      expect(answer.headers.get("www-authenticate"), label).toBe("Bearer");
      expect(answer.headers.get("x-request-id"), label).toMatch(/.+/);
    };

    it("is refused when it is missing, malformed or unknown", async () => {
      const key = t.key("acme");
      await refused({});
      for (const value of [
        "",
        "Bearer",
        `Basic ${key}`,
        key,
        `Bearer ${key.slice(5)}`,
        `Bearer ${key}x`,
        `Bearer ${key.slice(0, -1)}`,
      ])
        await refused({ authorization: value });
      await refused({ authorization: `Bearer apik_${"A".repeat(43)}` });
    });

    it("is refused when it is expired, revoked, without a user, or of a disabled user", async () => {
      const account = t.account("acme");
      const made = await apply({
        users: {
          ok: { account, permissions: allPermissions },
          off: { account, permissions: allPermissions, disabled: true },
        },
        keys: {
          expired: { account, user: "ok", expires_at: new Date(Date.now() - 1).toISOString() },
          revoked: { account, user: "ok", revoked: true },
          userless: { account, user: null },
          disabled: { account, user: "off" },
          fine: { account, user: "ok", expires_at: "2100-01-01T00:00:00+02:00" },
        },
      });
      for (const name of ["expired", "revoked", "userless", "disabled"])
        await refused({ authorization: `Bearer ${made.keys[name]?.key}` }, name);
      expect(
        (await call("GET", path("acme"), { headers: { authorization: `bearer ${made.keys.fine?.key}` } })).status,
      ).toBe(200);
    });

    it("sees its own account and those below it, and nothing else", async () => {
      for (const [key, request, status] of [
        ["acme", "acme", 200],
        ["acme", "east", 200],
        ["east", "east", 200],
        ["east", "acme", 404],
        ["other", "acme", 404],
        ["other", "east", 404],
      ] as const) {
        const answer = await call("GET", path(request), { key: t.key(key) });
        const label = `${key} asks for ${request}`;
        expect(answer.status, label).toBe(status);
        if (status === 404) expect(answer.body, label).toEqual(notFoundBody(kind, parentId(request)));
      }
    });
  });

  describe("a parent that cannot be seen", () => {
    it("answers exactly as one that does not exist, on every operation", async () => {
      const unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
      const { id } = await upload(path("acme"), t.key("acme"));
      for (const method of ["GET", "PATCH", "DELETE"])
        for (const request of [parentId("acme"), unknown]) {
          const answer = await call(method, `${path("acme").replace(parentId("acme"), request)}/${id}`, {
            key: t.key("other"),
          });
          expect([answer.status, answer.body], `${method} ${request}`).toEqual([404, notFoundBody(kind, request)]);
        }
      const posted = await call("POST", path("acme"), { key: t.key("other"), body: form() });
      expect([posted.status, posted.body]).toEqual([404, notFoundBody(kind, parentId("acme"))]);
      const odd = await call("GET", path("acme").replace(parentId("acme"), "nonsense"), { key: t.key("other") });
      expect([odd.status, odd.body]).toEqual([404, notFoundBody(kind, "nonsense")]);
    });
  });

  describe("the feature", () => {
    it("is judged on the account that owns the parent, not on the key's", async () => {
      const answer = await call("GET", path("dark"), { key: t.key("acme") });
      expect(answer.status).toBe(403);
      expect(answer.body).toEqual(
        errorBody({
          code: "access_denied.ordering_attachment_access",
          title: "Access Denied",
          detail: "Ordering Attachment Access is not enabled for this account.",
          params: { account: { id: t.account("dark"), type: "account" } },
        }),
      );
      expect((await call("GET", path("east"), { key: t.key("acme") })).status).toBe(200);
    });
  });

  describe("permissions", () => {
    const operations = {
      index: (path: string) => ["GET", path] as const,
      show: (path: string, id: string) => ["GET", `${path}/${id}`] as const,
      create: (path: string) => ["POST", path] as const,
      update: (path: string, id: string) => ["PATCH", `${path}/${id}`] as const,
      delete: (path: string, id: string) => ["DELETE", `${path}/${id}`] as const,
    };

    const keyWith = async (permissions: readonly string[]) => {
      const account = t.account("acme");
      const made = await apply({ users: { u: { account } }, keys: { k: { account, user: "u" } } });
      // Past `apply`, which takes known permissions only.
      await setPermissions({ id: made.users.u?.id ?? "", account, permissions: [], disabled: false }, permissions);
      return made.keys.k?.key ?? "";
    };

    const missing = (permission: string) =>
      errorBody({
        code: "access_denied.permission",
        title: "Access Denied",
        detail: `The user lacks the permission ${permission}.`,
        params: { permission },
      });

    it.each([
      ["acme", "CART", "CHECKED_OUT"],
      ["done", "CHECKED_OUT", "CART"],
    ] as const)("of %s, in %s: the parent's first, then the operation's own", async (request, state, otherState) => {
      const parent = parentPermission[kind][state];
      const wrong = parentPermission[kind][otherState];
      const list = path(request);
      const { id } = await upload(list, t.key("acme"));
      const all = allPermissions.filter((permission) => permission !== parent);
      const withoutParent = await keyWith(all);
      const withParentOnly = await keyWith([parent, wrong]);
      for (const [operation, target] of Object.entries(operations)) {
        const [method, url] = target(list, id);
        const first = await call(method, url, { key: withoutParent });
        expect([first.status, first.body], operation).toEqual([403, missing(parent)]);
        const own = `ordering_${kind}_attachments:${operation}`;
        const second = await call(method, url, { key: withParentOnly });
        expect([second.status, second.body], operation).toEqual([403, missing(own)]);
        const exact = await call(method, url, { key: await keyWith([parent, own]) });
        expect([401, 403, 404], operation).not.toContain(exact.status);
      }
    });

    it("are exact strings: only a wildcard operation grants more", async () => {
      const list = path("acme");
      for (const permissions of [
        ["*"],
        ["*:*"],
        [parentPermission[kind].CART, `ordering_${kind}_attachments`],
        [parentPermission[kind].CART, `ordering_${kind}_attachments:inde*`],
        [parentPermission[kind].CART, "ordering_*:index"],
      ])
        expect(codeOf(await call("GET", list, { key: await keyWith(permissions) })), permissions.join(" ")).toBe(
          "access_denied.permission",
        );
      const wild = await keyWith([parentPermission[kind].CART.replace("show", "*"), `ordering_${kind}_attachments:*`]);
      expect((await call("GET", list, { key: wild })).status).toBe(200);
    });

    it("come before whether the attachment exists, and that before what is wrong with the body", async () => {
      const unknown = `${path("acme")}/01ARZ3NDEKTSV4RRFFQ69G5FAV`;
      expect(codeOf(await call("PATCH", unknown, { key: await keyWith([]), body: "{" }))).toBe(
        "access_denied.permission",
      );
      expect(codeOf(await call("PATCH", unknown, { key: t.key("acme"), body: "{" }))).toBe("not_found");
      const { id } = await upload(path("acme"), t.key("acme"));
      const answer = await call("PATCH", `${path("acme")}/${id}`, { key: t.key("acme"), body: "{" });
      expect(codeOf(answer)).toBe("unsupported_media_type");
      expect(attachmentOf(await call("GET", `${path("acme")}/${id}`, { key: t.key("acme") })).id).toBe(id);
    });
  });
});
