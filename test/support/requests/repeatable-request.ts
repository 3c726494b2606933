import { randomUUID } from "node:crypto";
import { type Route, routes } from "../../../shared/routes.ts";
import { scan } from "../../../shared/table/read.ts";
import type { Tenants } from "../fixtures/tenants.ts";
import { announcement, newContent } from "../fixtures/upload-content.ts";
import { arrivedUpload } from "../fixtures/uploads.ts";
import { fetchFromService, send } from "./client.ts";
import { createResource, pathOf, requestTo } from "./request-per-endpoint.ts";

/** The id of the thing in a route's path that must be visible. */
export const parentId = (t: Tenants, { parent }: Route, name = "acme"): string => (parent ? t[parent](name) : "");

/** Creates the resource that a route works on, in the tenant's own account; "" for a route that works on none. */
export const resourceFor = (t: Tenants, route: Route, name: string): Promise<string> =>
  createResource(fetchFromService, route, { key: t.key("acme"), parent: parentId(t, route), data: { name } });

/** An endpoint, and which of its bodies: an attachment is created from a form, or from an upload. */
export type Writing = { readonly name: string; readonly route: Route; readonly fromUpload: boolean };

/** An endpoint with its usual body. */
export const plain = (route: Route): Writing => ({ name: route.name, route, fromUpload: false });

/** Every endpoint with each kind of body that it takes. */
export const writings: readonly Writing[] = routes.flatMap((route) => [
  plain(route),
  ...(route.reads.from === "form" ? [{ name: `${route.name} from an upload`, route, fromUpload: true }] : []),
]);

/** The data of a body whose resource is named so; the file of an upload is sent before. */
export const dataOf = async (t: Tenants, { route, fromUpload }: Omit<Writing, "name">, name: string) => {
  if (route.document === "upload") return announcement(newContent(), { filename: name });
  if (route.reads.from !== "form") return { name };
  const path = pathOf(route, { parent: parentId(t, route) });
  const upload_id = fromUpload ? (await arrivedUpload(path, t.key("acme"))).id : undefined;
  return { name, reference_id: name, upload_id };
};

/** A request that can be sent again as it is: a POST carries an Idempotency-Key. Counts what it has left behind. */
export const repeatableRequest = async (
  t: Tenants,
  { route, fromUpload }: Writing,
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
    /** How many resources have the name that the request gives. */
    named: () => countResources((item) => item.name === name || (item.filename === name && isUpload(item.sk))),
    /** How many there are of the resource that it works on. */
    left: () => countResources((item) => item.id === resource),
  };
};

const isUpload = (sk: unknown) => String(sk).startsWith("UPLOAD#");
const isResource = (sk: unknown) => sk === "SWITCH" || String(sk).startsWith("ATTACHMENT#") || isUpload(sk);

const countResources = async (matches: (item: Readonly<Record<string, unknown>>) => boolean): Promise<number> => {
  const items = await Array.fromAsync(scan("all"));
  return items.filter((item) => isResource(item.sk) && matches(item)).length;
};
