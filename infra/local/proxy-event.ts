import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import type { Route } from "../../shared/route.ts";
import type { Matched } from "./match.ts";

/** Converts HTTP requests to the events of API Gateway's REST proxy integration. */

/** API Gateway has null in place of an empty object. */
const orNull = <T extends object>(object: T): T | null => (Object.keys(object).length > 0 ? object : null);

const multiValues = (pairs: Iterable<readonly [string, string]>) => {
  // Callers choose the names, which can be `constructor` or `__proto__`.
  const values: Record<string, string[]> = Object.create(null);
  for (const [name, value] of pairs) values[name] = [...(values[name] ?? []), value];
  return values;
};

const lastValues = (values: Record<string, string[]>): Record<string, string> => {
  const entries = Object.entries(values).map(([name, all]) => [name, all.at(-1) ?? ""]);
  return Object.setPrototypeOf(Object.fromEntries(entries), null);
};

const headerPairs = (raw: readonly string[]) =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as const] : []));

export const proxyEvent = (
  incoming: IncomingMessage,
  { route, pathParameters }: Matched,
  url: URL,
  body: Buffer,
  requestId: string,
): APIGatewayProxyEvent => {
  const headers = multiValues(headerPairs(incoming.rawHeaders));
  const query = multiValues(url.searchParams);
  return {
    resource: route.path,
    path: url.pathname,
    httpMethod: route.method,
    headers: lastValues(headers),
    multiValueHeaders: headers,
    queryStringParameters: orNull(lastValues(query)),
    multiValueQueryStringParameters: orNull(query),
    pathParameters: orNull({ ...pathParameters }),
    stageVariables: null,
    requestContext: requestContext(route, {
      path: url.pathname,
      requestId,
      protocol: `HTTP/${incoming.httpVersion}`,
      sourceIp: incoming.socket.remoteAddress,
      userAgent: incoming.headers["user-agent"],
    }),
    // The API treats every media type as binary, so that no byte of a body changes.
    body: body.length > 0 ? body.toString("base64") : null,
    isBase64Encoded: body.length > 0,
  };
};

type From = {
  readonly path: string;
  readonly requestId?: string;
  readonly protocol?: string;
  readonly sourceIp?: string | undefined;
  readonly userAgent?: string | undefined;
};

export const requestContext = (
  route: Route,
  { path, requestId = randomUUID(), protocol = "HTTP/1.1", sourceIp = "127.0.0.1", userAgent }: From,
): APIGatewayProxyEvent["requestContext"] => ({
  accountId: "000000000000",
  apiId: "local",
  authorizer: null,
  extendedRequestId: randomBytes(11).toString("base64"),
  httpMethod: route.method,
  identity: {
    accessKey: null,
    accountId: null,
    apiKey: null,
    apiKeyId: null,
    caller: null,
    clientCert: null,
    cognitoAuthenticationProvider: null,
    cognitoAuthenticationType: null,
    cognitoIdentityId: null,
    cognitoIdentityPoolId: null,
    principalOrgId: null,
    sourceIp,
    user: null,
    userAgent: userAgent ?? null,
    userArn: null,
  },
  path,
  protocol,
  requestId,
  requestTimeEpoch: Date.now(),
  resourceId: "local",
  resourcePath: route.path,
  stage: "local",
});

export const lambdaContext = (name: string, requestId: string, timeoutMs: number): Context => {
  const deadline = Date.now() + timeoutMs;
  return {
    awsRequestId: requestId,
    callbackWaitsForEmptyEventLoop: false,
    functionName: name,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: "local",
    memoryLimitInMB: "512",
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
};
