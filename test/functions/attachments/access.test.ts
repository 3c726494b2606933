import { describe, expect, it, onTestFinished, vi } from "vitest";
import { apply } from "../../support/fixtures/apply.ts";
import { upload } from "../../support/fixtures/attachments.ts";
import { allPermissions, sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call, codeOf, deniedBody, errorBody } from "../../support/requests/client.ts";

/** The feature and permissions that each operation needs. every-route.test.ts tests keys and the order of the checks. */

const t = await tenants();

// It is repeated here on purpose, so that a mistake in the code's own table fails a test.
const parentPermission = {
  request: { CART: "ordering_cart_requests:show", CHECKED_OUT: "ordering_requests:show" },
  order: { CART: "ordering_carts:show", CHECKED_OUT: "ordering_orders:show" },
};
const operations = [
  ["GET", "", "index"],
  ["GET", "/id", "show"],
  ["POST", "", "create"],
  ["PATCH", "/id", "update"],
  ["DELETE", "/id", "delete"],
  ["POST", "/../uploads", "create"],
] as const;

describe.each(sampledParentTypes("request"))("attachments of a %s", (kind) => {
  it("need the feature of the account that owns the parent, not of the key's account", async () => {
    const list = (name: string) => call("GET", t.attachments(kind, name), { key: t.key("acme") });
    const response = await list("withoutFeature");
    const disabled = errorBody({
      code: "access_denied.ordering_attachment_access",
      title: "Access Denied",
      detail: "Ordering Attachment Access is not enabled for this account.",
      params: { account: { id: t.account("withoutFeature"), type: "account" } },
    });
    expect([response.status, response.body]).toEqual([403, disabled]);
    expect((await list("east")).status).toBe(200);
  });

  it.each([
    ["acme", "CART", "CHECKED_OUT"],
    ["done", "CHECKED_OUT", "CART"],
  ] as const)(
    "on %s, in %s, need the feature, the parent's permission, then their own, of which only the operation can be a wildcard",
    async (name, state, other) => {
      const account = t.account("acme");
      const [parent, wrong] = [parentPermission[kind][state], parentPermission[kind][other]];
      const own = (operation: string) => `ordering_${kind}_attachments:${operation}`;
      const granted: Record<string, readonly string[]> = {
        withoutParent: ["*", "*:*", "*:show", "ordering_*", ...allPermissions.filter((each) => each !== parent)],
        withParentOnly: [parent, wrong],
        ...Object.fromEntries(operations.map(([, , operation]) => [operation, [parent, own(operation)]])),
      };
      const { keys } = await apply({
        users: Object.fromEntries(
          Object.entries(granted).map(([user, permissions]) => [user, { account, permissions }]),
        ),
        keys: Object.fromEntries(Object.keys(granted).map((user) => [user, { account, user }])),
      });
      const disabled = await call("GET", t.attachments(kind, "withoutFeature"), { key: keys.withParentOnly?.key });
      expect(codeOf(disabled)).toBe("access_denied.ordering_attachment_access");
      const { id } = await upload(t.attachments(kind, name), t.key("acme"));
      for (const [method, below, operation] of operations) {
        const send = (user: string) =>
          call(method, t.attachments(kind, name) + below.replace("id", id), { key: keys[user]?.key });
        for (const [user, permission] of [
          ["withoutParent", parent],
          ["withParentOnly", own(operation)],
        ] as const) {
          const response = await send(user);
          expect([response.status, response.body], operation).toEqual([403, deniedBody(permission)]);
        }
        expect([401, 403, 404], operation).not.toContain((await send(operation)).status);
      }
    },
  );
});

it.each([
  ["bearer   KEY", 200],
  ["Bearer KEYx", 401],
  ["xBearer KEY", 401],
  ["BearerKEY", 401],
])("the Authorization %s gets a %i", async (header, status) => {
  const headers = { authorization: header.replace("KEY", t.key("acme")) };
  expect((await call("GET", "/api/v1/switches", { headers })).status).toBe(status);
});

it("a key is valid until the millisecond in which it expires", async () => {
  const [account, expires] = [t.account("acme"), Date.parse("2100-01-01T00:00:00.000Z")];
  const { keys } = await apply({
    users: { user: { account, permissions: allPermissions } },
    keys: { key: { account, user: "user", expires_at: new Date(expires).toISOString() } },
  });
  onTestFinished(() => void vi.useRealTimers());
  for (const [now, status] of [
    [expires - 1, 200],
    [expires, 401],
  ] as const) {
    vi.useFakeTimers({ toFake: ["Date"], now });
    expect((await call("GET", "/api/v1/switches", { key: keys.key?.key })).status).toBe(status);
  }
});
