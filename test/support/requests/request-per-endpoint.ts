import * as z from "zod/mini";
import { attachmentDocuments } from "../../../shared/attachments/documents.ts";
import { type Route, routes } from "../../../shared/routes.ts";
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
  /** Sends JSON with a direct upload instead of a form. */
  readonly fromUpload?: boolean;
};

/** A route's path with these ids. */
export const pathOf = ({ path }: Route, { parent = "", resource = "" }: Pick<RequestOptions, "parent" | "resource">) =>
  path
    .replace(/\{(request|order|account)_id\}/, encodeURIComponent(parent))
    .replace(/\{(attachment_id|id)\}/, encodeURIComponent(resource));

/** Whether a route's path ends with the id of a resource. */
export const hasResourceId = ({ operation }: Route) => ["show", "update", "delete"].includes(operation);

/** The route that creates the resource of this route. */
export const creatorOf = (route: Route): Route => {
  const creator = routes.find(
    ({ resource, parent, operation }) =>
      operation === "create" && resource === route.resource && parent === route.parent,
  );
  if (!creator) throw new Error(`Nothing creates what ${route.name} works on.`);
  return creator;
};

/** Default data: a new name for a create, and for an update a change that needs no other item. */
const plainData = ({ operation, reads, resource, document }: Route): Record<string, unknown> => {
  if (document === "upload") return declaredFile(newContent());
  if (reads.from === "form") return { name: "Letter of authorization", reference_id: crypto.randomUUID() };
  if (operation === "create") return { name: `Switch ${crypto.randomUUID()}` };
  return resource === "switch" ? { sms_identity: "changed" } : { notes: "changed" };
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
  const { key, headers = {}, data = plainData(route), file = loa(), fromUpload = false } = options;
  const { reads, document, method } = route;
  const own = { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers };
  const path = pathOf(route, options);
  if (reads.from === "form" && !fromUpload) return { method, path, init: { headers: own, body: formOf(data, file) } };
  if (reads.from !== "json" && !fromUpload) return { method, path, init: { headers: own } };
  const json = { "content-type": "application/json", ...own };
  return { method, path, init: { headers: json, body: JSON.stringify({ type: document, data }) } };
};

const Created = z.object({ data: z.object({ id: z.string() }) });

/** Creates the resource of a route; returns its id, or "" for a route without one. */
export const createResource = async (send: Send, route: Route, options: RequestOptions): Promise<string> => {
  if (!hasResourceId(route)) return "";
  const response = await send(requestTo(creatorOf(route), options));
  if (response.status !== 201)
    throw new Error(`${creatorOf(route).name} returned ${response.status}: ${await response.text()}`);
  return z.parse(Created, await response.json()).data.id;
};

/** A key, and the ids of the parents in paths. */
export type KeyAndParents = {
  readonly key: string;
  readonly request: string;
  readonly order: string;
  readonly account: string;
};

/** Sends a file as a direct upload; returns the data of its attachment. */
const sentDirectly = async (send: Send, route: Route, options: RequestOptions) => {
  const uploads = routes.find(({ document, parent }) => document === "upload" && parent === route.parent);
  if (!uploads) throw new Error(`Nothing prepares uploads for ${route.name}.`);
  const content = newContent();
  const response = await send(requestTo(uploads, { ...options, data: declaredFile(content) }));
  const upload = z.parse(attachmentDocuments.upload, await response.json()).data;
  const status = await sendFile(upload, content);
  if (status !== 200) throw new Error(`Storage returned ${status}.`);
  return { name: "Letter of authorization", reference_id: crypto.randomUUID(), upload_id: upload.id };
};

/** One request for each endpoint, and one with a direct upload for each that accepts a form, by route name. Each call prepares a new request to a new resource. */
export const requestPerEndpoint = (
  send: Send,
  place: KeyAndParents,
): Record<string, () => Promise<EndpointRequest>> => {
  const prepare = (route: Route) => async () => {
    const options = { key: place.key, parent: route.parent ? place[route.parent] : "" };
    return requestTo(route, { ...options, resource: await createResource(send, route, options) });
  };
  const fromUpload = (route: Route) => async () => {
    const options = { key: place.key, parent: route.parent ? place[route.parent] : "" };
    return requestTo(route, { ...options, fromUpload: true, data: await sentDirectly(send, route, options) });
  };
  const forms = routes.filter(({ reads }) => reads.from === "form");
  return Object.fromEntries([
    ...routes.map((route) => [route.name, prepare(route)] as const),
    ...forms.map((route) => [`${route.name} from an upload`, fromUpload(route)] as const),
  ]);
};

/** The queries of GET that may change its cost, by route name. */
const queries = [
  ["request-attachments/list", "include=file"],
  ["request-attachments/list", "include=file,forwarding"],
  ["request-attachments/list", "reference_id="],
  ["request-attachments/show", "include=file"],
  ["request-attachments/show", "include=file,forwarding"],
  ["order-attachments/list", "include=file"],
  ["order-attachments/list", "reference_id="],
  ["order-attachments/show", "include=file,forwarding"],
  ["switches/list", "include=account"],
  ["switches/list-under-account", "include=account"],
  ["switches/show", "include=account"],
] as const;

/** One request for each of these queries, by route name and query. A list by reference_id finds a new attachment. */
export const requestPerQuery = (send: Send, place: KeyAndParents): Record<string, () => Promise<EndpointRequest>> => {
  const prepare = (name: string, query: string) => async () => {
    const route = routes.find((one) => one.name === name);
    if (!route) throw new Error(`There is no route ${name}.`);
    const options = { key: place.key, parent: route.parent ? place[route.parent] : "" };
    const reference_id = crypto.randomUUID();
    const uuid = query === "reference_id=" ? reference_id : "";
    if (uuid) await send(requestTo(creatorOf(route), { ...options, data: { name: "LOA", reference_id } }));
    const request = requestTo(route, { ...options, resource: await createResource(send, route, options) });
    return { ...request, path: `${request.path}?${query}${uuid}` };
  };
  return Object.fromEntries(queries.map(([name, query]) => [`${name}?${query}`, prepare(name, query)]));
};
