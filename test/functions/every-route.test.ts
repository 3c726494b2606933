import { beforeAll, describe, expect, it } from "vitest";
import { ownPermission, parentPermissions, type Route, routes } from "../../shared/routes.ts";
import { apply } from "../../shared/tenants/apply.ts";
import { upload } from "../support/fixtures/attachments.ts";
import { makeSwitch } from "../support/fixtures/switches.ts";
import { allPermissions, tenants } from "../support/fixtures/tenants.ts";
import { type Answered, call, errorBody, notFoundBody, send } from "../support/requests/client.ts";
import { pathOf, requestTo } from "../support/requests/request-per-endpoint.ts";

/** What every route must refuse, derived from the route table: a new row is covered the moment it is added. */

let t: Awaited<ReturnType<typeof tenants>>;
const existing = { request: "", order: "", request_attachment: "", order_attachment: "", account: "", switch: "" };

beforeAll(async () => {
  t = await tenants();
  Object.assign(existing, { request: t.request("acme"), order: t.order("acme"), account: t.account("acme") });
  for (const kind of ["request", "order"] as const)
    existing[`${kind}_attachment`] = (await upload(t.attachments(kind, "acme"), t.key("acme"))).id;
  existing.switch = (await makeSwitch(t.key("acme"), { name: "existing" })).id;
});

/** Spells AWS and S3, as a ULID may: that gives nothing away. */
const unknownId = "01AWS3NDEKTSV4RRFFQ69G5FAV";

type Target = { readonly key?: string | undefined; readonly parent?: string; readonly resource?: string };

/** A request to a route on what exists, unless it names other ids. */
const sendTo = (route: Route, { key, parent, resource }: Target): Promise<Answered> =>
  send(
    requestTo(route, {
      key,
      parent: parent ?? (route.parent ? existing[route.parent] : ""),
      resource: resource ?? existing[route.resource],
    }),
  );

/** What no response may name: where things are stored, and how the code failed. */
const internals = /dynamodb|amazon|\baws\b|\bs3\b|bucket|patchbay-|lambda|node_modules|\bat .*\.ts|apik_|zod|ECONN/i;
const ulids = /\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/gi;

const expectError = (answer: Answered, status: number, body: unknown, label = "") => {
  expect([answer.status, answer.body], label).toEqual([status, body]);
  expect(answer.headers.get("content-type"), label).toBe("application/json");
  expect(answer.headers.get("x-request-id"), label).toMatch(/^[\w-]{8,}$/);
  // A ULID may spell any of them.
  expect(answer.text.replaceAll(ulids, ""), label).not.toMatch(internals);
};

describe.each(routes.map((route) => [route.name, route] as const))("%s", (_, route) => {
  it("answers 401 to each kind of bad key, and nothing before that", async () => {
    const account = t.account("acme");
    const made = await apply({
      users: {
        on: { account, permissions: allPermissions },
        off: { account, permissions: allPermissions, disabled: true },
      },
      keys: {
        expired: { account, user: "on", expires_at: "2020-01-01T00:00:00Z" },
        revoked: { account, user: "on", revoked: true },
        userless: { account, user: null },
        disabled: { account, user: "off" },
      },
    });
    const unauthorized = errorBody({
      code: "unauthorized",
      title: "Unauthorized",
      detail: "The access token is missing or invalid.",
    });
    const bad = {
      missing: undefined,
      empty: "",
      "too short": "apik_short",
      unknown: `apik_${"z".repeat(43)}`,
      ...Object.fromEntries(Object.entries(made.keys).map(([name, { key }]) => [name, key])),
    };
    for (const [label, key] of Object.entries(bad))
      for (const ids of [{}, { parent: unknownId, resource: unknownId }]) {
        const answer = await sendTo(route, { key, ...ids });
        expectError(answer, 401, unauthorized, label);
        expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      }
  });

  it("answers 403 with the permission that is missing", async () => {
    const parents =
      route.parent === "request" || route.parent === "order" ? [parentPermissions[route.parent].CART] : [];
    const needed = [...parents, ownPermission(route)];
    for (const [index, permission] of needed.entries()) {
      const account = t.account("acme");
      const granted = needed.slice(0, index);
      const others = allPermissions.filter((other) => other.split(":")[0] !== permission.split(":")[0]);
      for (const permissions of [granted, [...others, ...granted]]) {
        const made = await apply({ users: { u: { account, permissions } }, keys: { k: { account, user: "u" } } });
        const answer = await sendTo(route, { key: made.keys.k?.key });
        const detail = `The user lacks the permission ${permission}.`;
        expectError(
          answer,
          403,
          errorBody({ code: "access_denied.permission", title: "Access Denied", detail, params: { permission } }),
          `with ${permissions.join(" ")}`,
        );
      }
    }
  });

  if (route.parent !== null) {
    const { parent } = route;
    it("answers 404 for a parent of another tenant exactly as for one that does not exist", async () => {
      for (const [name, id] of [
        ["other", existing[parent]],
        ["east", existing[parent]],
        ["acme", unknownId],
        ["acme", "not-a-ulid"],
      ] as const) {
        const answer = await sendTo(route, { key: t.key(name), parent: id });
        expectError(answer, 404, notFoundBody(parent, id), `${name} asks for ${id}`);
      }
    });
  }

  if (route.operation === "show" || route.operation === "update" || route.operation === "delete") {
    it("answers 404 for what does not exist, whether or not its id is a ULID", async () => {
      for (const id of [unknownId, unknownId.toLowerCase(), "nonsense"]) {
        const shown = id === "nonsense" ? id : id.toUpperCase();
        expectError(
          await sendTo(route, { key: t.key("acme"), resource: id }),
          404,
          notFoundBody(route.resource, shown),
          id,
        );
      }
    });
  }

  if (route.reads.from === "form" || route.reads.from === "json") {
    it("answers 415 to another media type", async () => {
      const expected = route.reads.from === "form" ? "multipart/form-data, application/json" : "application/json";
      const parent = route.parent ? existing[route.parent] : "";
      const path = pathOf(route, { parent, resource: existing[route.resource] });
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const answer = await call(route.method, path, { key: t.key("acme"), body: "a=1", headers });
      const detail = `The Content-Type must be ${expected.replace(", ", " or ")}.`;
      const title = "Unsupported Media Type";
      expectError(answer, 415, errorBody({ code: "unsupported_media_type", title, detail, params: { expected } }));
    });
  }
});
