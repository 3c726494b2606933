import { randomUUID } from "node:crypto";
import { type Route, routes } from "../../../shared/routes.ts";
import { scan } from "../../../shared/table/read.ts";
import type { Tenants } from "../fixtures/tenants.ts";
import { declaredFile, newContent } from "../fixtures/upload-content.ts";
import { sentUpload } from "../fixtures/uploads.ts";
import { fetchFromService, send } from "./client.ts";
import { createResource, pathOf, requestTo } from "./request-per-endpoint.ts";

/** The id of a route's parent. */
export const parentId = (t: Tenants, { parent }: Route, name = "acme"): string => (parent ? t[parent](name) : "");

/** Creates the resource of a route in the account acme; returns its id, or "" for a route without one. */
export const resourceFor = (t: Tenants, route: Route, name: string): Promise<string> =>
  createResource(fetchFromService, route, { key: t.key("acme"), parent: parentId(t, route), data: { name } });

/** An endpoint and one of its kinds of body: an attachment is created from a form or from a direct upload. */
export type EndpointCase = { readonly name: string; readonly route: Route; readonly fromUpload: boolean };

/** An endpoint with its usual body. */
export const withUsualBody = (route: Route): EndpointCase => ({ name: route.name, route, fromUpload: false });

/** Every endpoint with each kind of body that it accepts. */
export const endpointCases: readonly EndpointCase[] = routes.flatMap((route) => [
  withUsualBody(route),
  ...(route.reads.from === "form" ? [{ name: `${route.name} from an upload`, route, fromUpload: true }] : []),
]);

/** The data of a body for a resource with this name. Sends the file of a direct upload first. */
export const dataOf = async (t: Tenants, { route, fromUpload }: Omit<EndpointCase, "name">, name: string) => {
  if (route.document === "upload") return declaredFile(newContent(), { filename: name });
  if (route.reads.from !== "form") return { name };
  const path = pathOf(route, { parent: parentId(t, route) });
  const upload_id = fromUpload ? (await sentUpload(path, t.key("acme"))).id : undefined;
  return { name, reference_id: name, upload_id };
};

/** Prepares a request that can be sent repeatedly, a POST with an Idempotency-Key, and counts the resources that it leaves. */
export const repeatableRequest = async (
  t: Tenants,
  { route, fromUpload }: EndpointCase,
  headers: Record<string, string> = {},
) => {
  const name = randomUUID();
  const resource = await resourceFor(t, route, `before ${name}`);
  const request = requestTo(route, {
    key: t.key("acme"),
    parent: parentId(t, route),
    resource,
    headers: { ...headers, ...(route.method === "POST" && { "idempotency-key": name }) },
    fromUpload,
    data: await dataOf(t, { route, fromUpload }, name),
  });
  return {
    path: request.path,
    send: () => send(request),
    /** Counts the resources with the name in the request. */
    countNamed: () => countResources((item) => item.name === name || (item.filename === name && isUpload(item.sk))),
    /** Counts the copies of the resource that the request shows, changes or deletes. */
    countRemaining: () => countResources((item) => item.id === resource),
  };
};

const isUpload = (sk: unknown) => String(sk).startsWith("UPLOAD#");
const isResource = (sk: unknown) => sk === "SWITCH" || String(sk).startsWith("ATTACHMENT#") || isUpload(sk);

const countResources = async (matches: (item: Readonly<Record<string, unknown>>) => boolean): Promise<number> => {
  const items = await Array.fromAsync(scan());
  return items.filter((item) => isResource(item.sk) && matches(item)).length;
};
