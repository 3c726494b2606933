import { beforeAll, describe, expect, it } from "vitest";
import { propertiesOf } from "../../infra/openapi/schemas.ts";
import { parentPermissions } from "../../shared/attachments/routes.ts";
import type { Route } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import { pageParameters } from "../../shared/schema/documents.ts";
import { keys } from "../../shared/table/keys.ts";
import { get } from "../../shared/table/read.ts";
import { transact } from "../../shared/table/write.ts";
import { apply } from "../support/fixtures/apply.ts";
import { pageOf, upload } from "../support/fixtures/attachments.ts";
import { newSwitch } from "../support/fixtures/switches.ts";
import { allPermissions, tenants } from "../support/fixtures/tenants.ts";
import { sentUpload } from "../support/fixtures/uploads.ts";
import { adminJson } from "../support/requests/admin.ts";
import { call, deniedBody, errorBody, notFoundBody, type ReceivedResponse, send } from "../support/requests/client.ts";
import { pathOf, requestTo } from "../support/requests/request-per-endpoint.ts";

/** The responses of every route, above all errors. The cases derive from the route table, so they cover each new row. */

const t = await tenants();
const existing = {
  request: t.request("acme"),
  order: t.order("acme"),
  account: t.account("acme"),
  request_attachment: "",
  order_attachment: "",
  switch: "",
};
/** Keys of each kind that no route accepts. */
const invalidKeys = new Map<string, string | undefined>([
  ["missing", undefined],
  ["empty", ""],
  ["too short", "apik_short"],
  ["unknown", `apik_${"z".repeat(43)}`],
]);
const uploads = new Map<Route["parent"], string>();

/** The keys that lack a permission, by the route and the permission. */
const lackingKeys = new Map<string, string | undefined>();

/** The permissions that a route needs, in the order of the checks. Each has those of a user that lacks it and all later ones. */
const permissionCases = ({ name, parent, permission: own }: Route) => {
  const ofParent = parent === "request" || parent === "order" ? [parentPermissions[parent].CART] : [];
  const needed = [...ofParent, own];
  const isOther = (one: string) => needed.every((each) => each.split(":")[0] !== one.split(":")[0]);
  return needed.map((permission, nth) => {
    const permissions = [...allPermissions.filter(isOther), ...needed.slice(0, nth)];
    return { name: `${name} ${permission}`, permission, permissions };
  });
};

/** For each filter of a list, a value for which the list has fewer items. */
const selective = { reference_id: crypto.randomUUID() };

/** The id in a route's path below its parent. */
const existingIn = ({ on, parent, resource }: Route) => (on === "upload" ? uploads.get(parent) : existing[resource]);

beforeAll(async () => {
  for (const kind of ["request", "order"] as const) {
    await upload(t.attachments(kind, "acme"), t.key("acme"), { "data[reference_id]": selective.reference_id });
    existing[`${kind}_attachment`] = (await upload(t.attachments(kind, "acme"), t.key("acme"))).id;
    uploads.set(kind, (await sentUpload(t.attachments(kind, "acme"), t.key("acme"))).id);
  }
  const account = t.account("acme");
  const cases = routes.flatMap(permissionCases);
  const created = await apply({
    users: {
      enabled: { account, permissions: allPermissions },
      disabled: { account, permissions: allPermissions, disabled: true },
      ...Object.fromEntries(cases.map(({ name, permissions }) => [name, { account, permissions }])),
    },
    keys: {
      ...Object.fromEntries(cases.map(({ name }) => [name, { account, user: name }])),
      expired: { account, user: "enabled", expires_at: "2020-01-01T00:00:00Z" },
      revoked: { account, user: "enabled", revoked: true },
      userless: { account, user: null },
      disabled: { account, user: "disabled" },
    },
  });
  for (const name of ["expired", "revoked", "userless", "disabled"]) invalidKeys.set(name, created.keys[name]?.key);
  for (const { name } of cases) lackingKeys.set(name, created.keys[name]?.key);
  existing.switch = (await newSwitch(t.key("acme"), { name: "existing" })).id;
  for (const [from, to] of storedUnderNoId()) await transact({ copy: { put: { ...(await get(from)), ...to } } });
});

const noId = "0".repeat(26);

/** The table keys of the existing items, each with the key that it would have under the id `noId`. */
const storedUnderNoId = () => [
  ...(["request", "order"] as const).flatMap((type) => {
    const parent = { type, id: existing[type] };
    return [
      [keys.parent(parent), keys.parent({ type, id: noId })] as const,
      [keys.attachment(parent, existing[`${type}_attachment`]), keys.attachment(parent, noId)] as const,
      [keys.upload(parent, uploads.get(type) ?? ""), keys.upload(parent, noId)] as const,
    ];
  }),
  [keys.account(existing.account), keys.account(noId)] as const,
  [keys.switch(existing.switch), keys.switch(noId)] as const,
  [keys.switchOwner(existing.switch), keys.switchOwner(noId)] as const,
];

/** A valid ULID that contains AWS, which is not a leak. */
const unknownId = "01AWS3NDEKTSV4RRFFQ69G5FAV";

type Target = { readonly key?: string | undefined; readonly parent?: string; readonly resource?: string };

/** Matches the names of the checks that refuse a request with each status. */
const checksOf: Readonly<Record<number, RegExp>> = {
  401: /^the API key/,
  403: /permission|Ordering Attachment Access/,
  404: /exists|is the key's or below it/,
};

/**
 * Expects `patchbay access` to run the same checks. Only the last one may refuse, with the status and the detail of the response.
 */
const expectSameAccess = async (key: string, method: string, path: string, { status, body }: ReceivedResponse) => {
  const isRefused = [401, 403, 404].includes(status);
  const access = await adminJson(["access", key, method, path]);
  const passed = (check: { ok: boolean }, index: number) =>
    check.ok === (!isRefused || index < access.checks.length - 1);
  expect([access.status, access.checks.every(passed)], path).toEqual([isRefused ? status : null, true]);
  expect(access.remedy === null, `${path}: ${access.remedy}`).toBe(!isRefused);
  if (!isRefused) return;
  const { check, detail } = access.checks.at(-1);
  expect(check).toMatch(checksOf[status] ?? "");
  expect(body).toMatchObject({ errors: [{ detail: detail.split(": ").at(-1) }] });
};

/**
 * Sends a request with an invalid body, an invalid query and the ETag of another version, which are checked last. The ids exist
 * unless others are given.
 */
const sendTo = async (route: Route, { key, parent, resource }: Target): Promise<ReceivedResponse> => {
  const { path, ...request } = requestTo(route, {
    key,
    parent: parent ?? (route.parent ? existing[route.parent] : ""),
    resource: resource ?? existingIn(route) ?? "",
    data: { name: "" },
    headers: { "if-match": '"99"' },
  });
  const response = await send({ ...request, path: `${path}?first=0&include=nothing` });
  if (key?.startsWith("apik_")) await expectSameAccess(key, route.method, path, response);
  return response;
};

/** Texts that no response may contain. They are names of AWS services and resources, stack traces, and keys. */
const internals = /dynamodb|amazon|\baws\b|\bs3\b|bucket|patchbay-|lambda|node_modules|\bat .*\.ts|apik_|zod|ECONN/i;
const ulids = /\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/gi;

const expectError = (response: ReceivedResponse, status: number, body: unknown, label = "") => {
  expect([response.status, response.body], label).toEqual([status, body]);
  expect(response.headers.get("content-type"), label).toBe("application/json");
  expect(response.headers.get("x-request-id"), label).toMatch(/^[\w-]{8,}$/);
  expect(response.headers.get("x-content-type-options"), label).toBe("nosniff");
  // A ULID may contain any of these words.
  expect(response.text.replaceAll(ulids, ""), label).not.toMatch(internals);
};

const all = routes.map((route, index) => [route.name, route, index] as const);

describe.each(all)("%s", (_, route, index) => {
  it("returns 401 for an invalid key, before any other check", async () => {
    const unauthorized = errorBody({
      code: "unauthorized",
      title: "Unauthorized",
      detail: "The access token is missing or invalid.",
    });
    const ids = [{}, { parent: unknownId, resource: unknownId }, { parent: "not-a-ulid" }];
    for (const [nth, [label, key]] of [...invalidKeys].entries()) {
      const response = await sendTo(route, { key, ...ids[(index + nth) % ids.length] });
      expectError(response, 401, unauthorized, label);
      expect(response.headers.get("www-authenticate"), label).toBe("Bearer");
    }
  });

  it("checks the body and the query last, and after them the ETag in If-Match", async () => {
    const { status } = await sendTo(route, { key: t.key("acme") });
    expect(status).toBe(route.reads.from === "nothing" ? 412 : 422);
  });

  it("returns 403 with the missing permission", async () => {
    for (const { name, permission } of permissionCases(route)) {
      const response = await sendTo(route, { key: lackingKeys.get(name) });
      expectError(response, 403, deniedBody(permission), permission);
    }
  });

  const filters = route.reads.from === "query" ? Object.keys(propertiesOf(route.reads.schema)) : [];
  it.runIf(route.operation === "index")("lists fewer items with each of its filters", async () => {
    const path = pathOf(route, { parent: route.parent ? existing[route.parent] : "" });
    const total = async (query: string) => pageOf(await call("GET", `${path}${query}`, { key: t.key("acme") })).total;
    for (const name of filters.filter((one) => one !== "include" && !Object.hasOwn(pageParameters, one)))
      expect(await total(`?${name}=${new Map(Object.entries(selective)).get(name)}`), name).toBeLessThan(await total(""));
  });

  if (route.parent !== null) {
    const { parent } = route;
    it("returns the same 404 for a parent of another tenant as for one that does not exist", async () => {
      for (const [name, id] of [
        ["other", existing[parent]],
        ["east", existing[parent]],
        ["acme", unknownId],
        ["acme", index % 2 === 0 ? noId : "not-a-ulid"],
      ] as const) {
        const response = await sendTo(route, { key: t.key(name), parent: id });
        expectError(response, 404, notFoundBody(parent, id), `key of ${name}, parent ${id}`);
      }
    });
  }

  if (route.parent === "request" || route.parent === "order") {
    const parent = t[route.parent]("withoutFeature");
    it("returns 403 if the parent's account lacks the feature, before the resource is looked for", async () => {
      const { status, body } = await sendTo(route, { key: t.key("acme"), parent, resource: unknownId });
      const code = "access_denied.ordering_attachment_access";
      expect([status, body]).toMatchObject([403, { errors: [{ code }] }]);
    });
  }

  if (route.on !== "collection") {
    it("returns 404 for a resource that does not exist: a ULID in upper case, even one of zeros, any other id as it was sent, percent-decoded", async () => {
      for (const id of [unknownId.toLowerCase(), "no sense", noId]) {
        const response = await sendTo(route, { key: t.key("acme"), resource: id });
        const returnedId = id === "no sense" ? id : id.toUpperCase();
        expectError(response, 404, notFoundBody(route.on === "upload" ? "upload" : route.resource, returnedId), id);
      }
    });
  }

  if (route.method === "GET") {
    it("responds to HEAD with the status and the headers of GET, without the body", async () => {
      const ids = { parent: route.parent ? existing[route.parent] : "", resource: existingIn(route) ?? "" };
      const { path, init } = requestTo(route, { key: t.key("acme"), ...ids });
      const [get, head] = await Promise.all([
        send({ method: "GET", path, init }),
        send({ method: "HEAD", path, init }),
      ]);
      expect([head.status, head.text]).toEqual([200, ""]);
      for (const name of ["cache-control", "content-type", "etag"])
        expect(head.headers.get(name), name).toBe(get.headers.get(name));
    });
  }

  if (route.reads.from === "form" || route.reads.from === "json") {
    it("returns 415 for another media type", async () => {
      const expected = route.reads.from === "form" ? "multipart/form-data" : "application/json";
      const parent = route.parent ? existing[route.parent] : "";
      const path = pathOf(route, { parent, resource: existingIn(route) ?? "" });
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const response = await call(route.method, path, { key: t.key("acme"), body: "a=1", headers });
      const detail = `The Content-Type must be ${expected}.`;
      const title = "Unsupported Media Type";
      expectError(response, 415, errorBody({ code: "unsupported_media_type", title, detail, params: { expected } }));
    });
  }
});

it.each([
  ["unknown", "the API key exists"],
  ["revoked", "the API key is not revoked"],
  ["expired", "the API key has not expired"],
  ["userless", "the API key's user exists"],
  ["disabled", "the API key's user is not disabled"],
])("patchbay access says why a key is refused that is %s", async (label, check) => {
  const { checks } = await adminJson(["access", invalidKeys.get(label) ?? "", "GET", "/api/v1/switches"]);
  expect(checks.at(-1)).toMatchObject({ check, ok: false });
});
