import { randomUUID } from "node:crypto";
import type { Route } from "../../../shared/routes.ts";
import { scan } from "../../../shared/table/read.ts";
import { form, upload } from "../fixtures/attachments.ts";
import { makeSwitch } from "../fixtures/switches.ts";
import type { tenants } from "../fixtures/tenants.ts";
import { call } from "./client.ts";

export type Tenants = Awaited<ReturnType<typeof tenants>>;

/** The id of the thing in a route's path that must be visible. */
export const parentId = (t: Tenants, { parent }: Route, name = "acme"): string => (parent ? t[parent](name) : "");

/** A route's path with its parent's id and its resource's in their places. */
export const fill = ({ path }: Route, ids: { readonly parent: string; readonly resource: string }): string =>
  path
    .replace(/\{(request|order|account)_id\}/, encodeURIComponent(ids.parent))
    .replace(/\{(attachment_id|id)\}/, encodeURIComponent(ids.resource));

export const worksOnOne = ({ operation }: Route) => ["show", "update", "delete"].includes(operation);

/** Makes the resource that a route works on; "" for a route that works on none. */
export const makeResource = async (t: Tenants, route: Route, name: string, of = "acme"): Promise<string> => {
  if (!worksOnOne(route)) return "";
  if (route.parent === "request" || route.parent === "order") {
    const made = await upload(t.attachments(route.parent, of), t.key("acme"), { "data[name]": name });
    return made.id;
  }
  return (await makeSwitch(t.key("acme"), { name }, `/api/v1/accounts/${t.account(of)}/switches`)).id;
};

/** What a route takes, with this name. */
export const bodyOf = (route: Route, name: string, reference?: string) => {
  if (route.reads.from === "form") return { body: form({ "data[name]": name, "data[reference_id]": reference }) };
  return route.reads.from === "json" ? { json: { type: route.resource, data: { name } } } : {};
};

/** One call to an endpoint that can be repeated as it is; POSTs carry an Idempotency-Key. */
export const prepare = async (t: Tenants, route: Route, more: Record<string, string> = {}) => {
  const name = randomUUID();
  const resource = await makeResource(t, route, `before ${name}`);
  const path = fill(route, { parent: parentId(t, route), resource });
  const headers: Record<string, string> = { ...more, ...(route.method === "POST" && { "idempotency-key": name }) };
  const send = () => call(route.method, path, { key: t.key("acme"), headers, ...bodyOf(route, name, name) });
  return { path, headers, name, send, made: () => countNamed(name), left: () => countId(resource) };
};

const isResource = (sk: unknown) => sk === "SWITCH" || String(sk).startsWith("ATTACHMENT#");

const resources = async () => (await Array.fromAsync(scan("all"))).filter(({ sk }) => isResource(sk));

/** How many attachments and switches there are of a name, and of an id. */
const countNamed = async (name: string) => (await resources()).filter((item) => item.name === name).length;
const countId = async (id: string) => (await resources()).filter((item) => item.id === id).length;
