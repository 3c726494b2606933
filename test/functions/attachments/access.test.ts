import { describe, expect, it } from "vitest";
import { apply } from "../../support/fixtures/apply.ts";
import { attachmentOf, upload } from "../../support/fixtures/attachments.ts";
import { allPermissions, sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call, codeOf, errorBody } from "../../support/requests/client.ts";

const t = await tenants();

// Repeated here on purpose: a mistake in the code's own table fails a test.
const parentPermission = {
  request: { CART: "ordering_cart_requests:show", CHECKED_OUT: "ordering_requests:show" },
  order: { CART: "ordering_carts:show", CHECKED_OUT: "ordering_orders:show" },
};

describe.each(sampledParentTypes("request"))("attachments of a %s", (kind) => {
  const path = (name: string) => t.attachments(kind, name);

  const unauthorizedBody = errorBody({
    code: "unauthorized",
    title: "Unauthorized",
    detail: "The access token is missing or invalid.",
  });

  describe("a key", () => {
    const expectUnauthorized = async (headers: Record<string, string>, label = JSON.stringify(headers)) => {
      const response = await call("GET", path("acme"), { headers });
      expect(response.status, label).toBe(401);
      expect(response.body, label).toEqual(unauthorizedBody);
      expect(response.headers.get("www-authenticate"), label).toBe("Bearer");
      expect(response.headers.get("x-request-id"), label).toMatch(/.+/);
    };

    it("is refused when it is missing, malformed or unknown", async () => {
      const key = t.key("acme");
      await expectUnauthorized({});
      for (const value of [
        "",
        "Bearer",
        `Basic ${key}`,
        key,
        `Bearer ${key.slice(5)}`,
        `Bearer ${key}x`,
        `Bearer ${key.slice(0, -1)}`,
      ])
        await expectUnauthorized({ authorization: value });
      await expectUnauthorized({ authorization: `Bearer apik_${"A".repeat(43)}` });
    });

    it("may expire at a time with an offset, and is sent with `bearer` in any case", async () => {
      const account = t.account("acme");
      const { keys } = await apply({
        users: { u: { account, permissions: allPermissions } },
        keys: { k: { account, user: "u", expires_at: "2100-01-01T00:00:00+02:00" } },
      });
      const headers = { authorization: `bearer ${keys.k?.key}` };
      expect((await call("GET", path("acme"), { headers })).status).toBe(200);
    });
  });

  describe("the account feature", () => {
    it("is read from the account that owns the parent, not from the key's account", async () => {
      const response = await call("GET", path("withoutFeature"), { key: t.key("acme") });
      expect(response.status).toBe(403);
      expect(response.body).toEqual(
        errorBody({
          code: "access_denied.ordering_attachment_access",
          title: "Access Denied",
          detail: "Ordering Attachment Access is not enabled for this account.",
          params: { account: { id: t.account("withoutFeature"), type: "account" } },
        }),
      );
      expect((await call("GET", path("east"), { key: t.key("acme") })).status).toBe(200);
    });
  });

  describe("the permission check", () => {
    const operations = {
      index: (path: string) => ["GET", path] as const,
      show: (path: string, id: string) => ["GET", `${path}/${id}`] as const,
      create: (path: string) => ["POST", path] as const,
      update: (path: string, id: string) => ["PATCH", `${path}/${id}`] as const,
      delete: (path: string, id: string) => ["DELETE", `${path}/${id}`] as const,
    };

    const keyWith = async (permissions: readonly string[]) => {
      const account = t.account("acme");
      const created = await apply({ users: { u: { account, permissions } }, keys: { k: { account, user: "u" } } });
      return created.keys.k?.key ?? "";
    };

    const missingPermission = (permission: string) =>
      errorBody({
        code: "access_denied.permission",
        title: "Access Denied",
        detail: `The user lacks the permission ${permission}.`,
        params: { permission },
      });

    it.each([
      ["acme", "CART", "CHECKED_OUT"],
      ["done", "CHECKED_OUT", "CART"],
    ] as const)(
      "on %s, in %s, asks for the parent's permission first, then for the operation's own",
      async (request, state, otherState) => {
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
          expect([first.status, first.body], operation).toEqual([403, missingPermission(parent)]);
          const own = `ordering_${kind}_attachments:${operation}`;
          const second = await call(method, url, { key: withParentOnly });
          expect([second.status, second.body], operation).toEqual([403, missingPermission(own)]);
          const exact = await call(method, url, { key: await keyWith([parent, own]) });
          expect([401, 403, 404], operation).not.toContain(exact.status);
        }
      },
    );

    it("compares exact strings, and knows no wildcard but that of an operation", async () => {
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
      const wildcardKey = await keyWith([
        parentPermission[kind].CART.replace("show", "*"),
        `ordering_${kind}_attachments:*`,
      ]);
      expect((await call("GET", list, { key: wildcardKey })).status).toBe(200);
    });

    it("comes before the check that the attachment exists, and before the validation of the body", async () => {
      const unknown = `${path("acme")}/01ARZ3NDEKTSV4RRFFQ69G5FAV`;
      expect(codeOf(await call("PATCH", unknown, { key: await keyWith([]), body: "{" }))).toBe(
        "access_denied.permission",
      );
      expect(codeOf(await call("PATCH", unknown, { key: t.key("acme"), body: "{" }))).toBe("not_found");
      const { id } = await upload(path("acme"), t.key("acme"));
      const response = await call("PATCH", `${path("acme")}/${id}`, { key: t.key("acme"), body: "{" });
      expect(codeOf(response)).toBe("unsupported_media_type");
      expect(attachmentOf(await call("GET", `${path("acme")}/${id}`, { key: t.key("acme") })).id).toBe(id);
    });
  });
});
