import type { APIGatewayProxyResult } from "aws-lambda";
import { loadEndpoints } from "../../../infra/local/handlers.ts";
import { lambdaContext, requestContext } from "../../../infra/local/proxy-event.ts";
import type { GatewayEvent } from "../../../shared/http/request.ts";
import type { Route } from "../../../shared/route.ts";

export type Input = {
  readonly headers?: Record<string, string>;
  readonly ids?: Record<string, string>;
  readonly query?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly requestId?: string;
};

/** The event that API Gateway would create, even for requests that no HTTP client can send. Bytes are base64. */
export const eventOf = (route: Route, { headers = {}, ids = {}, query, body, requestId }: Input): GatewayEvent => ({
  resource: route.path,
  path: route.path,
  httpMethod: route.method,
  headers,
  multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
  queryStringParameters: query ?? null,
  multiValueQueryStringParameters: null,
  pathParameters: ids,
  stageVariables: null,
  requestContext: { ...requestContext(route), ...(requestId && { requestId }) },
  body: body === undefined ? null : typeof body === "string" ? body : Buffer.from(body).toString("base64"),
  isBase64Encoded: typeof body === "object",
});

/** Calls a route's function as Lambda would. */
export const invoke = async (route: Route, input: Input): Promise<APIGatewayProxyResult> => {
  const handler = (await loadEndpoints([route])).get(route.name);
  if (!handler) throw new Error(`There is no function ${route.name}.`);
  return handler(eventOf(route, input), lambdaContext(29_000));
};
