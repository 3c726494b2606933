import * as z from "zod/mini";
import { attachmentDocuments } from "../../../shared/attachments/contract.ts";
import type { Route } from "../../../shared/route.ts";
import { routes } from "../../../shared/routes.ts";
import { declaredFile, newContent, sendFile } from "../fixtures/upload-content.ts";

/** Builds requests to every endpoint from the route table, for all suites and benchmarks. */

/** A request that can be sent with `fetch` or as an event. */
export type EndpointRequest = { readonly method: string; readonly path: string; readonly init: RequestInit };

/** Sends a request to the tests' service or to a benchmark's gateway. */
export type Send = (request: EndpointRequest) => Promise<Response>;

type RequestOptions = {
  readonly key?: string | undefined;
  /** The ids in the path. */
  readonly parent?: string;
  readonly resource?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body's `data`, by default for a simple create or update. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly file?: File;
};

/** A route's path with these ids. */
export const pathOf = ({ path }: Route, { parent = "", resource = "" }: Pick<RequestOptions, "parent" | "resource">) =>
  path
    .replace(/\{(request|order|account)_id\}/, encodeURIComponent(parent))
    .replace(/\{(attachment_id|upload_id|id)\}/, encodeURIComponent(resource));

/** The route that creates the resource in this route's path, or prepares the upload in it. */
export const creatorOf = (route: Route): Route => {
  const type = route.on === "upload" ? "upload" : route.resource;
  const creator = routes.find(
    ({ document, parent, operation, on }) =>
      operation === "create" && on === "collection" && document === type && parent === route.parent,
  );
  if (!creator) throw new Error(`Nothing creates what ${route.name} works on.`);
  return creator;
};

/** Default data: a new name for a create, and for an update a change that needs no other item. */
const plainData = ({ operation, resource, document }: Route): Record<string, unknown> => {
  if (document === "upload") return declaredFile(newContent());
  if (operation !== "create") return resource === "switch" ? { sms_identity: "changed" } : { notes: "changed" };
  if (resource === "switch") return { name: `Switch ${crypto.randomUUID()}` };
  return { name: "Letter of authorization", reference_id: crypto.randomUUID() };
};

const loa = () => new File(["%PDF-1.7 signed"], "loa.pdf", { type: "application/pdf" });

const formOf = (data: Readonly<Record<string, unknown>>, file: File) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(data))
    if (value !== undefined) form.append(`data[${name}]`, String(value));
  form.append("data[file]", file);
  return form;
};

export const requestTo = (route: Route, options: RequestOptions): EndpointRequest => {
  const { key, headers = {}, data = plainData(route), file = loa() } = options;
  const { reads, document, method } = route;
  const own = { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers };
  const path = pathOf(route, options);
  if (reads.from === "form") return { method, path, init: { headers: own, body: formOf(data, file) } };
  if (reads.from !== "json") return { method, path, init: { headers: own } };
  const json = { "content-type": "application/json", ...own };
  return { method, path, init: { headers: json, body: JSON.stringify({ type: document, data }) } };
};

const Created = z.object({ data: z.object({ id: z.string() }) });

/** Creates the resource in a route's path, or sends the file of its upload. Returns the id, or "" for a route without either. */
export const createResource = async (send: Send, route: Route, options: RequestOptions): Promise<string> => {
  if (route.on === "collection") return "";
  const content = newContent();
  const data = route.on === "upload" ? { data: declaredFile(content) } : {};
  const response = await send(requestTo(creatorOf(route), { ...options, ...data }));
  if (response.status !== 201)
    throw new Error(`${creatorOf(route).name} returned ${response.status}: ${await response.text()}`);
  const body = await response.json();
  if (route.on === "upload") {
    const status = await sendFile(z.parse(attachmentDocuments.upload, body).data, content);
    if (status !== 200) throw new Error(`Storage returned ${status}.`);
  }
  return z.parse(Created, body).data.id;
};

/** A key, and the ids of the parents in paths. */
export type KeyAndParents = {
  readonly key: string;
  readonly request: string;
  readonly order: string;
  readonly account: string;
};

/**
 * Returns, by name, functions that prepare a request to each endpoint, or to each of `names`, which may have a query
 * (`switches/list?first=1`). Each call prepares a new request to a new resource. A list by reference_id finds a new attachment.
 */
export const requestPerEndpoint = (
  send: Send,
  place: KeyAndParents,
  names: readonly string[] = routes.map(({ name }) => name),
): Record<string, () => Promise<EndpointRequest>> => {
  const prepare = (named: string) => async () => {
    const [name = "", query] = named.split("?");
    const route = routes.find((one) => one.name === name);
    if (!route) throw new Error(`There is no route ${name}.`);
    const options = { key: place.key, parent: route.parent ? place[route.parent] : "" };
    const reference_id = query === "reference_id=" ? crypto.randomUUID() : "";
    if (reference_id) await send(requestTo(creatorOf(route), { ...options, data: { name: "LOA", reference_id } }));
    const request = requestTo(route, { ...options, resource: await createResource(send, route, options) });
    return query === undefined ? request : { ...request, path: `${request.path}?${query}${reference_id}` };
  };
  return Object.fromEntries(names.map((named) => [named, prepare(named)]));
};
