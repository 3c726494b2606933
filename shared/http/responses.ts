import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyResult } from "aws-lambda";
import { ApiError, internalError } from "../errors.ts";
import { embeddedMetrics, log } from "../log.ts";
import type { Route } from "../routes.ts";
import type { Page } from "../table/pages.ts";
import { etag } from "./preconditions.ts";
import type { Incoming } from "./request.ts";

/** What an endpoint returns: a document, and the headers that go with it. */
export type Reply = { readonly body: unknown; readonly headers?: Readonly<Record<string, string>> };

/** One document with its ETag, marked if it repeats the first response to an Idempotency-Key. */
export const documentReply = (body: unknown, version: number, replayed = false): Reply => ({
  body,
  headers: { ETag: etag(version), ...(replayed && { "Idempotency-Replayed": "true" }) },
});

/** One page of documents, and the exact number of items in the whole list. */
export const listReply = <T>({ items, ...page }: Page<T>, total: number, document: (item: T) => unknown): Reply => ({
  body: { type: "list", data: { items: items.map(document), page_info: { ...page, total } } },
});

/** A reply in the form that API Gateway expects. */
export const response = (requestId: string, status: number, { body, headers }: Reply): APIGatewayProxyResult => ({
  statusCode: status,
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store", "X-Request-Id": requestId, ...headers },
  body: JSON.stringify(body),
});

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
