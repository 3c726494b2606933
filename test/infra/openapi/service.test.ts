import { randomUUID } from "node:crypto";
import { expect, inject, it } from "vitest";
import * as z from "zod/mini";
import { $ZodType } from "zod/v4/core";
import { openapi } from "../../../infra/openapi/document.ts";
import { ErrorDocument } from "../../../infra/openapi/error-examples.ts";
import { propertiesOf, responseSchema } from "../../../infra/openapi/schemas.ts";
import { metadataExample } from "../../../shared/attachments/attachment-schema.ts";
import { limits } from "../../../shared/limits.ts";
import type { DocumentedRoute } from "../../../shared/route.ts";
import { routes } from "../../../shared/routes.ts";
import { settingsExample } from "../../../shared/switches/switch-schema.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { apply } from "../../support/fixtures/apply.ts";
import { form, pageOf, pdf } from "../../support/fixtures/attachments.ts";
import { switchesPath } from "../../support/fixtures/switches.ts";
import { customer, tenants } from "../../support/fixtures/tenants.ts";
import { declaredFile, newContent } from "../../support/fixtures/upload-content.ts";
import { call, fetchFromService, send } from "../../support/requests/client.ts";
import { sendPlain } from "../../support/requests/plain-request.ts";
import { createResource, creatorOf, pathOf, requestTo } from "../../support/requests/request-per-endpoint.ts";

/** The running service does what the document promises. */

const below = (name: string, paths: readonly string[]) => [name, ...paths.map((path) => `${name}.${path}`)];

/** The properties that a schema describes, such as `data.items.data.name`. */
const pathsOf = (schema: unknown): string[] => {
  if (!(schema instanceof $ZodType)) return [];
  const { innerType, element, shape } = Object(schema._zod.def);
  const own = Object.entries(Object(shape)).flatMap(([name, inner]) => below(name, pathsOf(inner)));
  return [...own, ...pathsOf(innerType), ...pathsOf(element)];
};

const pathsIn = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(pathsIn);
  const properties = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return properties.flatMap(([name, inner]) => (inner === null ? [] : below(name, pathsIn(inner))));
};

const missingIn = (bodies: readonly unknown[], expected: readonly string[]) => {
  const seen = new Set(bodies.flatMap(pathsIn));
  return expected.filter((path) => !seen.has(path));
};

const includedBy = ({ reads }: DocumentedRoute) =>
  reads.from === "query" ? (propertiesOf(reads.schema).include?.items?.enum ?? []).map(String) : [];

/** The properties of a route's response, except the associations in its schema that only other routes include. */
const expectedOf = (route: DocumentedRoute) => {
  const included = includedBy(route);
  const others = routes.flatMap(includedBy).filter((name) => !included.includes(name));
  const isReturned = (path: string) => {
    const [, name] = /\bassociations\b\.?(\w*)/.exec(path) ?? [];
    return name === undefined || (name !== "" && !others.includes(name));
  };
  const at = route.operation === "index" ? "data.items.associations" : "associations";
  return [...pathsOf(responseSchema(route)).filter(isReturned), ...included.map((name) => `${at}.${name}`)];
};

const fullData = ({ document, resource }: DocumentedRoute) => {
  if (document === "upload") return declaredFile(newContent());
  if (resource !== "switch") return { ...metadataExample, reference_id: randomUUID() };
  return { ...settingsExample, name: randomUUID(), mms_identity: "patchbay", mms_secret: "correct-horse" };
};

/** A refusal by the carrier. */
const receipt = {
  state: "refused",
  at: "2026-01-02T03:04:05.678Z",
  reason: "The letter is not signed.",
  sent: { name: "LOA", filename: "loa.pdf" },
};

/** Creates a customer with the parent of a route's resource. */
const placeFor = async ({ parent }: DocumentedRoute) => {
  const { key, order, requests, accounts } = await customer();
  const [request = "", account = ""] = [requests[0], accounts[0]];
  return { key, request, parent: parent ? { request, order, account }[parent] : "" };
};

/** Creates three resources, and returns the path of the second or of the list. */
const pathOfThree = async (route: DocumentedRoute, place: Awaited<ReturnType<typeof placeFor>>) => {
  const ids: string[] = [];
  for (const _ of [1, 2, 3]) {
    const { body } = await send(requestTo(creatorOf(route), { ...place, data: fullData(route) }));
    const attachment = Object(body).data.id;
    ids.push(attachment);
    await transact({ receipt: { put: { ...keys.receipt(place.request, attachment), attachment, ...receipt } } });
  }
  return pathOf(route, { ...place, resource: ids[1] ?? "" });
};

/** Sends a request whose response is as full as possible. It has all associations and, for a list, the middle page of three. */
const fullResponse = async (route: DocumentedRoute) => {
  const place = await placeFor(route);
  const { key } = place;
  if (route.method !== "GET") {
    const resource = await createResource(fetchFromService, route, { ...place, data: fullData(route) });
    const data = route.operation === "create" && { data: fullData(route) };
    return send(requestTo(route, { ...place, resource, ...data }));
  }
  const path = await pathOfThree(route, place);
  const include = `include=${includedBy(route)}`;
  if (route.operation === "show") return call("GET", `${path}?${include}`, { key });
  const { after } = pageOf(await call("GET", `${path}?first=1`, { key }));
  return call("GET", `${path}?first=1&after=${after}&${include}`, { key });
};

const exampleBody = ({ reads, docs }: DocumentedRoute) => {
  if (reads.from === "json") return { json: docs.body };
  if (reads.from !== "form") return {};
  const body = new FormData();
  for (const [name, part] of Object.entries(docs.body ?? {})) body.append(name, String(part));
  body.append("data[file]", pdf());
  return { body };
};

it.each(routes.map((route) => [route.name, route] as const))(
  "%s accepts the example of the API reference, and its response matches the schema exactly",
  async (_, route) => {
    const place = await placeFor(route);
    const resource = await createResource(fetchFromService, route, { ...place, data: { name: "Example" } });
    const path = pathOf(route, { ...place, resource });
    const { status, body, headers } = await call(route.method, path, { ...place, ...exampleBody(route) });
    expect(status).toBe(route.status);
    expect(z.parse(responseSchema(route), body)).toEqual(body);
    expect(headers.has("x-request-id")).toBe(true);
    expect(headers.has("etag")).toBe(route.operation !== "index");
  },
);

it.each(routes.map((route) => [route.name, route] as const))(
  "%s has a response with every property of its schema but what is reserved, and every association that it can include",
  async (_, route) => {
    const { status, body } = await fullResponse(route);
    const missing = missingIn([body], expectedOf(route));
    expect([status, missing.filter((path) => !/\b(sms|mms)_options$/.test(path))]).toEqual([route.status, []]);
  },
);

it("the errors of the service have every property of their schema", async () => {
  const t = await tenants();
  const account = t.account("acme");
  const file = { users: { none: { account, permissions: [] } }, keys: { none: { account, user: "none" } } };
  const created = await apply(file);
  const key = t.key("acme");
  const attachments = t.attachments("request", "acme");
  const tooLarge = form({}, pdf("loa.pdf", "%".repeat(limits.fileBytes + 1)));
  const responses = await Promise.all([
    call("GET", t.attachments("request", "withoutFeature"), { key }),
    call("GET", switchesPath, { key: created.keys.none?.key }),
    call("GET", attachments, { key: t.key("other") }),
    call("GET", `${switchesPath}?first=0`, { key }),
    call("GET", `${switchesPath}?include=file`, { key }),
    call("POST", switchesPath, { key, body: "" }),
    call("POST", attachments, { key, body: tooLarge }),
  ]);
  expect(responses.map(({ status }) => status)).toEqual([403, 403, 404, 422, 422, 415, 413]);
  const bodies = responses.map(({ body }) => body);
  expect(missingIn(bodies, pathsOf(ErrorDocument))).toEqual([]);
});

it("takes the form of the introduction, byte by byte", async () => {
  const [, lines = ""] = /```http\n(.*?)```/s.exec(openapi().info.description) ?? [];
  const [head = "", ...rest] = lines.replaceAll("\n", "\r\n").split("\r\n\r\n");
  const [, method = "", path = ""] = /^(\w+) (\S+) HTTP\/1.1\r\n/.exec(head) ?? [];
  const t = await tenants();
  const headers = Object.fromEntries(
    head
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(": ")),
  );
  const url = inject("baseUrl") + path.replace("{request_id}", t.request("acme"));
  const sent = { ...headers, Host: new URL(url).host, Authorization: `Bearer ${t.key("acme")}` };
  const response = await sendPlain(url, { method, headers: sent }, rest.join("\r\n\r\n"));
  expect([response.status, JSON.parse(response.body)]).toMatchObject([
    201,
    { data: { name: "Letter of authorization", file_hint: "LOA", filename: "loa.pdf" } },
  ]);
});

it("returns the page of the introduction to a first request", async () => {
  const [, page = ""] = /```json\n(.*?)```/s.exec(openapi().info.description) ?? [];
  const t = await tenants();
  expect((await call("GET", switchesPath, { key: t.key("acme") })).body).toEqual(JSON.parse(page));
});
