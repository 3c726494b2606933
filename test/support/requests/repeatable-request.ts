import { randomUUID } from "node:crypto";
import type { Route } from "../../../shared/routes.ts";
import { scan } from "../../../shared/table/read.ts";
import type { Tenants } from "../fixtures/tenants.ts";
import { fetchFromService, send } from "./client.ts";
import { createResource, requestTo } from "./request-per-endpoint.ts";

/** The id of the thing in a route's path that must be visible. */
export const parentId = (t: Tenants, { parent }: Route, name = "acme"): string => (parent ? t[parent](name) : "");

/** Creates the resource that a route works on, in the tenant's own account; "" for a route that works on none. */
export const resourceFor = (t: Tenants, route: Route, name: string): Promise<string> =>
  createResource(fetchFromService, route, { key: t.key("acme"), parent: parentId(t, route), data: { name } });

/** A request that can be sent again as it is: a POST carries an Idempotency-Key. Counts what it has left behind. */
export const repeatableRequest = async (t: Tenants, route: Route, headers: Record<string, string> = {}) => {
  const name = randomUUID();
  const resource = await resourceFor(t, route, `before ${name}`);
  const request = requestTo(route, {
    key: t.key("acme"),
    parent: parentId(t, route),
    resource,
    headers: { ...headers, ...(route.method === "POST" && { "idempotency-key": name }) },
    data: { name, ...(route.reads.from === "form" && { reference_id: name }) },
  });
  return {
    path: request.path,
    send: () => send(request),
    /** How many resources have the name that the request gives. */
    named: () => countResources((item) => item.name === name),
    /** How many there are of the resource that it works on. */
    left: () => countResources((item) => item.id === resource),
  };
};

const isResource = (sk: unknown) => sk === "SWITCH" || String(sk).startsWith("ATTACHMENT#");

const countResources = async (matches: (item: Readonly<Record<string, unknown>>) => boolean): Promise<number> => {
  const items = await Array.fromAsync(scan("all"));
  return items.filter((item) => isResource(item.sk) && matches(item)).length;
};
