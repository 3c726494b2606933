import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { GatewayEvent } from "../../shared/http/request.ts";
import type { Route } from "../../shared/route.ts";
import { mapped } from "../../shared/schema/fields.ts";
import type { Matched, Target } from "./match.ts";

/** Converts HTTP requests to the events of API Gateway's REST proxy integration. */

/** API Gateway sends null instead of an empty object. */
const orNull = <T extends object>(object: T): T | null => (Object.keys(object).length > 0 ? object : null);

/** Callers choose the names, which can be `constructor` or `__proto__`. */
const lastValues = (values: NodeJS.Dict<string[]>): Record<string, string> =>
  Object.setPrototypeOf(
    mapped(values, (all) => all?.at(-1) ?? ""),
    null,
  );

export const proxyEvent = (
  incoming: IncomingMessage,
  { route, pathParameters }: Matched,
  { pathname, searchParams }: Target,
  body: Buffer,
  requestId: string,
): GatewayEvent => {
  const headers = incoming.headersDistinct;
  const query: Record<string, string[]> = Object.create(null);
  for (const name of searchParams.keys()) query[name] = searchParams.getAll(name);
  return {
    resource: route.path,
    path: pathname,
    httpMethod: route.method,
    headers: lastValues(headers),
    multiValueHeaders: headers,
    queryStringParameters: orNull(lastValues(query)),
    multiValueQueryStringParameters: orNull(query),
    pathParameters: orNull({ ...pathParameters }),
    stageVariables: null,
    requestContext: requestContext(route, requestId, incoming.socket.remoteAddress),
    // The API treats every media type as binary, so that no byte of a body changes.
    body: body.length > 0 ? body.toString("base64") : null,
    isBase64Encoded: body.length > 0,
  };
};

export const requestContext = (route: Route, requestId: string = randomUUID(), sourceIp = "127.0.0.1") => ({
  requestId,
  extendedRequestId: randomBytes(11).toString("base64"),
  requestTimeEpoch: Date.now(),
  httpMethod: route.method,
  resourcePath: route.path,
  identity: { sourceIp },
});

/** The part of Lambda's context that the functions read. */
export const lambdaContext = (timeoutMs: number) => {
  const deadline = Date.now() + timeoutMs;
  return { getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()) };
};
