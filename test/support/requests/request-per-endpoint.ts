import * as z from "zod/mini";
import { attachmentDocuments } from "../../../shared/attachments/documents.ts";
import { type Route, routes } from "../../../shared/routes.ts";
import { announcement, newContent, sendFile } from "../fixtures/upload-content.ts";

/** Builds a request to any endpoint from its row in the route table: for every suite and every benchmark. */

/** One request, ready to be sent, by `fetch` or as an event. */
export type EndpointRequest = { readonly method: string; readonly path: string; readonly init: RequestInit };

/** Whatever sends it: the suites' client, or a benchmark's own gateway. */
export type Send = (request: EndpointRequest) => Promise<Response>;

type RequestOptions = {
  readonly key?: string | undefined;
  /** The ids in the path. */
  readonly parent?: string;
  readonly resource?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The properties of the body's `data`; without it, a plain creation or a plain change. */
  readonly data?: Readonly<Record<string, unknown>>;
  readonly file?: File;
  /** JSON with an upload in place of a form. */
  readonly fromUpload?: boolean;
};

/** A route's path with these ids in it. */
export const pathOf = ({ path }: Route, { parent = "", resource = "" }: Pick<RequestOptions, "parent" | "resource">) =>
  path
    .replace(/\{(request|order|account)_id\}/, encodeURIComponent(parent))
    .replace(/\{(attachment_id|id)\}/, encodeURIComponent(resource));

/** Whether a route's path ends with the id of one resource. */
export const hasResourceId = ({ operation }: Route) => ["show", "update", "delete"].includes(operation);

/** The route that creates what this one shows, changes or deletes. */
export const creatorOf = (route: Route): Route => {
  const creator = routes.find(
    ({ resource, parent, operation }) =>
      operation === "create" && resource === route.resource && parent === route.parent,
  );
  if (!creator) throw new Error(`Nothing creates what ${route.name} works on.`);
  return creator;
};

/** What a route's body says where a test does not care: a new name for a creation, a change that needs no other item. */
const plainData = ({ operation, reads, resource, document }: Route): Record<string, unknown> => {
  if (document === "upload") return announcement(newContent());
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

/** A request to a route. */
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

/** Creates the resource that a route works on; its id, or "" for a route that works on none. */
export const createResource = async (send: Send, route: Route, options: RequestOptions): Promise<string> => {
  if (!hasResourceId(route)) return "";
  const response = await send(requestTo(creatorOf(route), options));
  if (response.status !== 201)
    throw new Error(`${creatorOf(route).name} returned ${response.status}: ${await response.text()}`);
  return z.parse(Created, await response.json()).data.id;
};

/** A key, and the ids of the parents that paths name. */
export type Place = {
  readonly key: string;
  readonly request: string;
  readonly order: string;
  readonly account: string;
};

/** The data of an attachment whose file has been sent to storage directly. */
const sentDirectly = async (send: Send, route: Route, options: RequestOptions) => {
  const uploads = routes.find(({ document, parent }) => document === "upload" && parent === route.parent);
  if (!uploads) throw new Error(`Nothing prepares uploads for ${route.name}.`);
  const content = newContent();
  const response = await send(requestTo(uploads, { ...options, data: announcement(content) }));
  const upload = z.parse(attachmentDocuments.upload, await response.json()).data;
  const status = await sendFile(upload, content);
  if (status !== 200) throw new Error(`Storage returned ${status}.`);
  return { name: "Letter of authorization", reference_id: crypto.randomUUID(), upload_id: upload.id };
};

/** One plain request for each endpoint, and one with an upload for those that take a form, by the names of their routes; each call prepares a new one, on a new resource. */
export const requestPerEndpoint = (send: Send, place: Place): Record<string, () => Promise<EndpointRequest>> => {
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

/** The queries of GET that cost something of their own, by the names of their routes. */
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

/** One request for each of them, by the name and the query; a new attachment has the reference_id that a list is asked for. */
export const requestPerQuery = (send: Send, place: Place): Record<string, () => Promise<EndpointRequest>> => {
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
