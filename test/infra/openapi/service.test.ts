import { expect, it } from "vitest";
import * as z from "zod/mini";
import { responseSchema } from "../../../infra/openapi/schemas.ts";
import type { DocumentedRoute } from "../../../shared/route.ts";
import { routes } from "../../../shared/routes.ts";
import { pdf } from "../../support/fixtures/attachments.ts";
import { tenants } from "../../support/fixtures/tenants.ts";
import { call } from "../../support/requests/client.ts";
import { parentId, resourceFor } from "../../support/requests/repeatable-request.ts";
import { pathOf } from "../../support/requests/request-per-endpoint.ts";

const exampleBody = ({ reads, docs }: DocumentedRoute) => {
  if (reads.from === "json") return { json: docs.body };
  if (reads.from !== "form") return {};
  const body = new FormData();
  for (const [name, part] of Object.entries(docs.body ?? {})) body.append(name, String(part));
  body.append("data[file]", pdf());
  return { body };
};

it.each(routes.map((route) => [route.name, route] as const))(
  "the running service at %s accepts the example of the API reference, and its response matches the schema exactly",
  async (_, route) => {
    const t = await tenants();
    const path = pathOf(route, { parent: parentId(t, route), resource: await resourceFor(t, route, "Example") });
    const { status, body, headers } = await call(route.method, path, { key: t.key("acme"), ...exampleBody(route) });
    expect(status).toBe(route.status);
    expect(z.parse(responseSchema(route), body)).toEqual(body);
    expect(headers.has("x-request-id")).toBe(true);
    expect(headers.has("etag")).toBe(route.operation !== "index");
  },
);
