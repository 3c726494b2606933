import { randomUUID } from "node:crypto";
import type { Route } from "../../../shared/route.ts";
import { scan } from "../../../shared/table/read.ts";
import type { Tenants } from "../fixtures/tenants.ts";
import { declaredFile, newContent } from "../fixtures/upload-content.ts";
import { fetchFromService, send } from "./client.ts";
import { createResource, requestTo } from "./request-per-endpoint.ts";

/** The id of a route's parent. */
export const parentId = (t: Tenants, { parent }: Route, name = "acme"): string => (parent ? t[parent](name) : "");

/** Creates the resource in a route's path in the account acme. Returns its id, or "" for a route without a resource. */
export const resourceFor = (t: Tenants, route: Route, name: string): Promise<string> =>
  createResource(fetchFromService, route, { key: t.key("acme"), parent: parentId(t, route), data: { name } });

/** The body's data for a resource with this name. */
export const dataOf = ({ document, resource, operation }: Route, name: string) => {
  if (document === "upload") return declaredFile(newContent(), { filename: name });
  return operation === "create" && resource !== "switch" ? { name, reference_id: name } : { name };
};

/** Prepares a request that can be repeated (a POST has an Idempotency-Key), and functions that count the resources it leaves. */
export const repeatableRequest = async (t: Tenants, route: Route, headers: Record<string, string> = {}) => {
  const name = randomUUID();
  const resource = await resourceFor(t, route, `before ${name}`);
  const request = requestTo(route, {
    key: t.key("acme"),
    parent: parentId(t, route),
    resource,
    headers: { ...headers, ...(route.method === "POST" && { "idempotency-key": name }) },
    data: dataOf(route, name),
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
