import { createHash } from "node:crypto";
import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyResult } from "aws-lambda";
import { ApiError, internalError, preconditionFailed } from "../errors.ts";
import { embeddedMetrics, log } from "../log.ts";
import type { Route } from "../routes.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import type { Page } from "../table/pages.ts";
import { type Incoming, listHeader } from "./request.ts";

/**
 * The ETag of a document: strong, by the version that counts its writes. What is included beside the document changes
 * without it, so its hash follows.
 */
export const etag = (version: number, included: object = {}) =>
  Object.keys(included).length === 0 ? `"${version}"` : `"${version}.${hashOf(included)}"`;

const hashOf = (included: object) =>
  createHash("sha256").update(JSON.stringify(included)).digest("base64url").slice(0, 16);

/** Whether an ETag is one of this version of a document, whatever was included. */
const isOfVersion = (tag: string, version: number) => /^"(\d+)(?:\.[\w-]+)?"$/.exec(tag)?.[1] === String(version);

/** The entity tags of a list, weak ones with their `W/`. A comma may stand within a tag. Source: RFC 9110, 8.8.3. */
const entityTags = (list: string): string[] =>
  list.trim() === "*" ? ["*"] : (list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\u{10ffff}]*"/gu) ?? []);

/** If-Match (RFC 9110, 13.1.1): throws 412 unless it is left out, `*`, or lists an ETag of this version. */
export const precondition = (event: Incoming): Precondition => {
  const list = listHeader(event, "If-Match");
  const tags = list === undefined ? undefined : entityTags(list);
  return (version) => {
    if (tags && !tags.includes("*") && !tags.some((tag) => isOfVersion(tag, version))) throw preconditionFailed();
  };
};

/** If-None-Match (RFC 9110, 13.1.2): whether the caller has this representation. Weak tags are compared as strong ones. */
const isKnownToCaller = (event: Incoming, tag: string): boolean => {
  const tags = entityTags(listHeader(event, "If-None-Match") ?? "");
  return tags.some((one) => one === "*" || one.replace(/^W\//, "") === tag);
};

/** What an endpoint returns: a document, and the headers that go with it. */
export type Reply = { readonly body: unknown; readonly headers?: Readonly<Record<string, string>> };

/** One document with its ETag, marked if it repeats the first response to an Idempotency-Key. */
export const documentReply = (body: unknown, version: number, replayed = false): Reply => ({
  body,
  headers: { ETag: etag(version), ...(replayed && { "Idempotency-Replayed": "true" }) },
});

/** One document with what its `include` asks for. */
export const includingReply = (body: unknown, version: number, included: object): Reply => ({
  body,
  headers: { ETag: etag(version, included) },
});

/** One page of documents, and the exact number of items in the whole list. */
export const listReply = <T>(
  { items, after, before, limit }: Page<T>,
  total: number,
  document: (item: T) => unknown,
): Reply => ({
  body: {
    type: "list",
    data: { items: items.map((item) => document(item)), page_info: { after, before, limit, total } },
  },
});

/** A reply in the form that API Gateway expects. */
export const response = (requestId: string, status: number, { body, headers }: Reply): APIGatewayProxyResult => ({
  statusCode: status,
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store", "X-Request-Id": requestId, ...headers },
  body: JSON.stringify(body),
});

/** The response of a GET: 304 without a body where If-None-Match lists the ETag. */
export const responseUnlessKnown = (event: Incoming, status: number, reply: Reply): APIGatewayProxyResult => {
  const whole = response(event.requestContext.requestId, status, reply);
  const tag = reply.headers?.ETag;
  if (tag === undefined || !isKnownToCaller(event, tag)) return whole;
  const { "Content-Type": _, ...headers } = whole.headers ?? {};
  return { statusCode: 304, headers, body: "" };
};

/** The outermost layer: turns an error into its response, and writes the request's one log line. */
export const respond = ({ name }: Pick<Route, "name">): MiddlewareObj<Incoming, APIGatewayProxyResult> => ({
  after: ({ event, response }) => {
    logRequest(name, event, response?.statusCode ?? 0);
  },
  onError: (request) => {
    const error = request.error instanceof ApiError ? request.error : internalError(request.error);
    logRequest(name, request.event, error.status, error.cause);
    request.response = response(request.event.requestContext.requestId, error.status, error);
  },
});

const logRequest = (route: string, event: Incoming, status: number, cause?: unknown) => {
  const line = {
    route,
    status,
    request_id: event.requestContext.requestId,
    // Callers can choose the request id of API Gateway; this one they cannot.
    extended_request_id: event.requestContext.extendedRequestId,
    ms: Date.now() - event.requestContext.requestTimeEpoch,
    key_id: event.principal?.key.id,
    account_id: event.principal?.key.account,
    ...embeddedMetrics({ ms: "Milliseconds" }, new Date(), "route"),
  };
  if (status >= 500) log.error("request", { ...line, ...(cause instanceof Error && { error: cause }) });
  else log.info("request", line);
};
