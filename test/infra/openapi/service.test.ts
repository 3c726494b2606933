import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { documents } from "../../../infra/openapi/domains.ts";
import { exampleOf } from "../../../infra/openapi/examples/by-route.ts";
import { type Route, routes } from "../../../shared/routes.ts";
import { listOf } from "../../../shared/schema/page-document.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";

/** Sends a route's example from the API reference. */
const sendExample = (route: Route, ids: Readonly<Record<string, string>>, key: string) => {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "");
  const example = exampleOf(route).body;
  if (route.reads.from === "json") return call(route.method, path, { key, json: example });
  if (route.reads.from !== "form") return call(route.method, path, { key });
  const body = new FormData();
  for (const [name, part] of Object.entries(example ?? {}))
    body.append(name, name === "data[file]" ? new File([String(part)], "loa.pdf") : String(part));
  return call(route.method, path, { key, body });
};

/** Creates a tenant with one resource of the route's type from its example; returns all ids that a path may need. */
const prepared = async ({ resource, operation }: Route) => {
  const t = await tenants();
  const ids = { account_id: t.account("acme"), order_id: t.order("acme"), request_id: t.request("acme") };
  const create = routes.find((route) => route.resource === resource && route.operation === "create");
  if (operation === "create" || !create) return { ids, key: t.key("acme") };
  const { body } = await sendExample(create, ids, t.key("acme"));
  const { id } = z.parse(z.object({ data: z.object({ id: z.string() }) }), body).data;
  return { ids: { ...ids, id, attachment_id: id }, key: t.key("acme") };
};

describe.each(routes.map((route) => [route.name, route] as const))("the running service at %s", (_, route) => {
  it("accepts the example of the API reference, and its response matches the schema exactly", async () => {
    const { ids, key } = await prepared(route);
    const { status, body, headers } = await sendExample(route, ids, key);
    expect(status).toBe(route.status);
    const document = documents[route.document];
    expect(z.parse(route.operation === "index" ? listOf(document) : document, body)).toEqual(body);
    expect(headers.has("x-request-id")).toBe(true);
    expect(headers.has("etag")).toBe(route.operation !== "index");
  });
});
