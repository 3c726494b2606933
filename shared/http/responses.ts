import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import { ApiError, internalError } from "../errors.ts";
import { log } from "../log.ts";
import { embedded } from "../metrics.ts";
import type { Route } from "../routes.ts";
import type { Principal } from "./request.ts";

/** What an endpoint answers: a document, and the headers that go with it. */
export type Answer = { readonly body: unknown; readonly headers?: Readonly<Record<string, string>> };

/** An answer as API Gateway takes it. */
export const response = (requestId: string, status: number, { body, headers }: Answer): APIGatewayProxyResult => ({
  statusCode: status,
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store", "X-Request-Id": requestId, ...headers },
  body: JSON.stringify(body),
});

/** The outermost step: turns an error into its response, and writes the request's one log line. */
export const respond = ({ name }: Pick<Route, "name">): MiddlewareObj<Event, APIGatewayProxyResult> => ({
  after: ({ event, response }) => {
    logRequest(name, event, response?.statusCode ?? 0);
  },
  onError: (request) => {
    const error = request.error instanceof ApiError ? request.error : internalError(request.error);
    logRequest(name, request.event, error.status, error.cause);
    request.response = response(request.event.requestContext.requestId, error.status, error);
  },
});

type Event = APIGatewayProxyEvent & { principal?: Principal };

const logRequest = (route: string, event: Event, status: number, cause?: unknown) => {
  const line = {
    route,
    status,
    request_id: event.requestContext.requestId,
    ms: Date.now() - event.requestContext.requestTimeEpoch,
    key_id: event.principal?.key.id,
    account_id: event.principal?.key.account,
    ...embedded({ ms: "Milliseconds" }, new Date(), "route"),
  };
  if (status >= 500) log.error("request", { ...line, ...(cause instanceof Error && { error: cause }) });
  else log.info("request", line);
};
