import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { responseSchema } from "../../../infra/openapi/schemas.ts";
import type { DocumentedRoute } from "../../../shared/route.ts";
import { routes } from "../../../shared/routes.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { sentUpload } from "../../support/fixtures/uploads.ts";
import { call } from "../../support/requests/client.ts";

/** Sends a route's example from the API reference. */
const sendExample = (route: DocumentedRoute, ids: Readonly<Record<string, string>>, key: string) => {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "");
  if (route.reads.from === "json") return call(route.method, path, { key, json: route.docs.body });
  if (route.reads.from !== "form") return call(route.method, path, { key });
  const body = new FormData();
  for (const [name, part] of Object.entries(route.docs.body ?? {})) body.append(name, String(part));
  body.append("data[file]", new File(["%PDF-1.7 signed"], "loa.pdf"));
  return call(route.method, path, { key, body });
};

/** Creates a tenant with one resource of the route's type from its example; returns all ids that a path may need. */
const prepared = async ({ resource, operation, on, parent }: DocumentedRoute) => {
  const t = await tenants();
  const ids = { account_id: t.account("acme"), order_id: t.order("acme"), request_id: t.request("acme") };
  if (on === "upload" && parent && parent !== "account") {
    const { id: upload_id } = await sentUpload(t.attachments(parent, "acme"), t.key("acme"));
    return { ids: { ...ids, upload_id }, key: t.key("acme") };
  }
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
    expect(z.parse(responseSchema(route), body)).toEqual(body);
    expect(headers.has("x-request-id")).toBe(true);
    expect(headers.has("etag")).toBe(route.operation !== "index");
  });
});
