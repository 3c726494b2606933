import { createHash } from "node:crypto";
import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyResult } from "aws-lambda";
import { env } from "../env.ts";
import { asApiError, deployedHeaders, preconditionFailed, securityHeaders } from "../errors.ts";
import { log } from "../log.ts";
import type { Route } from "../route.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import type { Page } from "../table/pages.ts";
import { listHeader, pathIds, type RequestEvent } from "./request.ts";

/** A version counts a document's writes. Included documents change independently, so their hash is appended. */
export const etag = (version: number, included: object = {}) => {
  if (Object.keys(included).length === 0) return `"${version}"`;
  return `"${version}.${createHash("sha256").update(JSON.stringify(included)).digest("base64url").slice(0, 16)}"`;
};

/** Whether an ETag belongs to this version of a document, with or without included documents. */
const isOfVersion = (tag: string, version: number) => /^"(\d+)(?:\.[\w-]+)?"$/.exec(tag)?.[1] === String(version);

/** Splits a list of entity tags. Weak ones keep their `W/`. A tag may contain a comma. Source: RFC 9110, 8.8.3. */
const entityTags = (list: string): string[] =>
  list.trim() === "*" ? ["*"] : (list.match(/(?:W\/)?"[\x21\x23-\x7e\x80-\u{10ffff}]*"/gu) ?? []);

type IsCurrent = (tag: string) => boolean;

/** If-Match (RFC 9110, 13.1.1). Returns whether the header is absent, is `*`, or lists a current ETag. Uses strong comparison. */
const matches = (event: RequestEvent, isCurrent: IsCurrent): boolean => {
  const list = listHeader(event, "If-Match");
  return list === undefined || entityTags(list).some((tag) => tag === "*" || isCurrent(tag));
};

/** If-None-Match (RFC 9110, 13.1.2). Returns whether the header is `*`, or lists a current ETag. Uses weak comparison. */
const isNotModified = (event: RequestEvent, isCurrent: IsCurrent): boolean =>
  entityTags(listHeader(event, "If-None-Match") ?? "").some((tag) => tag === "*" || isCurrent(tag.replace(/^W\//, "")));

/** For PATCH and DELETE. Throws 412 with the current ETag if the version does not meet the request's conditions. */
export const precondition =
  (event: RequestEvent): Precondition =>
  (version) => {
    const isCurrent = (tag: string) => isOfVersion(tag, version);
    if (!matches(event, isCurrent)) throw preconditionFailed(etag(version), "If-Match");
    if (isNotModified(event, isCurrent)) throw preconditionFailed(etag(version), "If-None-Match");
  };

/** The result of an endpoint's handler. It has a body, additional headers, and fields for the request's log line. */
export type Reply = {
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly logged?: Readonly<Record<string, unknown>>;
};

/**
 * Returns a document with its ETag. `bytes` is the size of the deleted file. `included` has the documents that `include` requested.
 */
export const documentReply = (
  body: unknown,
  version: number,
  { bytes, included }: { readonly bytes?: number; readonly included?: object } = {},
): Reply => ({ body, headers: { ETag: etag(version, included) }, logged: { bytes } });

/** Returns the document of a new resource with its ETag. A replayed response repeats an earlier one, and nothing was created. */
export const createdReply = (
  body: { readonly data: { readonly id: string } },
  { version, bytes }: { readonly version: number; readonly bytes?: number },
  replayed: boolean,
): Reply => ({
  body,
  headers: { ETag: etag(version), ...(replayed && { "Idempotency-Replayed": "true" }) },
  ...(!replayed && { logged: { created_id: body.data.id, bytes } }),
});

/** Returns one page of documents. `total` is the exact number of items in the whole list. */
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

export const response = (requestId: string, status: number, { body, headers }: Reply): APIGatewayProxyResult => ({
  statusCode: status,
  headers: {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Request-Id": requestId,
    ...(env.isDeployed() ? deployedHeaders : securityHeaders),
    ...headers,
  },
  body: JSON.stringify(body),
});

/**
 * Returns the response to a GET. This is 304 without a body if If-None-Match lists the ETag. Throws 412 if If-Match does not list
 * it. A list has no ETag, and ignores both headers.
 */
export const responseOrNotModified = (event: RequestEvent, status: number, reply: Reply): APIGatewayProxyResult => {
  const full = response(event.requestContext.requestId, status, reply);
  const current = reply.headers?.ETag;
  if (current === undefined) return full;
  const isCurrent = (tag: string) => tag === current;
  if (!matches(event, isCurrent)) throw preconditionFailed(current, "If-Match");
  if (!isNotModified(event, isCurrent)) return full;
  const { "Content-Type": _, ...headers } = full.headers ?? {};
  return { statusCode: 304, headers, body: "" };
};

/** The outermost layer. Turns an error into its response, and writes the request's one log line. */
export const respond = ({ name }: Pick<Route, "name">): MiddlewareObj<RequestEvent, APIGatewayProxyResult> => ({
  after: (request) => {
    logRequest(name, request.event, request.response?.statusCode ?? 0);
  },
  onError: (request) => {
    const error = asApiError(request.error);
    logRequest(name, request.event, error.status, error.cause);
    request.response = response(request.event.requestContext.requestId, error.status, error);
  },
});

const metrics = { route: { ms: "Milliseconds" } } as const;

const logRequest = (route: string, event: RequestEvent, status: number, cause?: unknown) => {
  const line = {
    route,
    status,
    request_id: event.requestContext.requestId,
    // Callers can set API Gateway's request id, but not its extended one.
    extended_request_id: event.requestContext.extendedRequestId,
    ms: Date.now() - event.requestContext.requestTimeEpoch,
    path: pathIds(event),
    ...event.logged,
  };
  if (status < 500) log.info("request", line, metrics);
  else
    log.failure(
      "request",
      { ...line, ...(cause instanceof Error && { error: cause }) },
      { isOwn: status === 500, metrics },
    );
};
