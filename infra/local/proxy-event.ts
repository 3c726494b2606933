import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { APIGatewayProxyEvent, Context } from "aws-lambda";
import type { Route } from "../../shared/routes.ts";

/** Turns HTTP requests into the events that API Gateway's REST proxy integration makes of them. */

const pattern = (path: string) => new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);

export type Matched = { readonly route: Route; readonly pathParameters: Record<string, string> };

/** Finds the route of a method and a path; undefined where there is none, or the path cannot be decoded. */
export const matcher = (routes: readonly Route[]) => {
  const patterns = routes.map((route) => ({ route, pattern: pattern(route.path) }));
  return (method: string, path: string): Matched | undefined => {
    for (const { route, pattern } of patterns) {
      const groups = route.method === method ? pattern.exec(path)?.groups : undefined;
      if (!groups && !(route.method === method && pattern.test(path))) continue;
      try {
        const decoded = Object.entries(groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]);
        return { route, pathParameters: Object.fromEntries(decoded) };
      } catch {
        return undefined;
      }
    }
    return undefined;
  };
};

/** API Gateway gives null where it has nothing to give. */
const orNull = <T extends object>(object: T): T | null => (Object.keys(object).length > 0 ? object : null);

const multiple = (pairs: Iterable<readonly [string, string]>) => {
  const values: Record<string, string[]> = {};
  for (const [name, value] of pairs) values[name] = [...(values[name] ?? []), value];
  return values;
};

const last = (values: Record<string, string[]>) =>
  Object.fromEntries(Object.entries(values).map(([name, all]) => [name, all.at(-1) ?? ""]));

const headerPairs = (raw: readonly string[]) =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as const] : []));

/** The one media type that the gateway treats as binary: its bodies arrive in base64. */
export const binaryMediaType = "multipart/form-data";

export const proxyEvent = (
  incoming: IncomingMessage,
  { route, pathParameters }: Matched,
  url: URL,
  body: Buffer,
): APIGatewayProxyEvent => {
  const headers = multiple(headerPairs(incoming.rawHeaders));
  const query = multiple(url.searchParams);
  const binary = (incoming.headers["content-type"] ?? "").toLowerCase().startsWith(binaryMediaType);
  return {
    resource: route.path,
    path: url.pathname,
    httpMethod: route.method,
    headers: last(headers),
    multiValueHeaders: headers,
    queryStringParameters: orNull(last(query)),
    multiValueQueryStringParameters: orNull(query),
    pathParameters: orNull(pathParameters),
    stageVariables: null,
    requestContext: requestContext(route, {
      path: url.pathname,
      protocol: `HTTP/${incoming.httpVersion}`,
      sourceIp: incoming.socket.remoteAddress,
      userAgent: incoming.headers["user-agent"],
    }),
    body: body.length > 0 ? body.toString(binary ? "base64" : "utf8") : null,
    isBase64Encoded: binary && body.length > 0,
  };
};

type From = {
  readonly path: string;
  readonly protocol?: string;
  readonly sourceIp?: string | undefined;
  readonly userAgent?: string | undefined;
};

/** What an event says of its request beside the request itself. */
export const requestContext = (
  route: Route,
  { path, protocol = "HTTP/1.1", sourceIp = "127.0.0.1", userAgent }: From,
): APIGatewayProxyEvent["requestContext"] => ({
  accountId: "000000000000",
  apiId: "local",
  authorizer: null,
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
  requestId: randomUUID(),
  requestTimeEpoch: Date.now(),
  resourceId: "local",
  resourcePath: route.path,
  stage: "local",
});

/** What Lambda hands a function beside its event. */
export const lambdaContext = (name: string, requestId: string, timeoutMs: number): Context => {
  const ends = Date.now() + timeoutMs;
  return {
    awsRequestId: requestId,
    callbackWaitsForEmptyEventLoop: false,
    functionName: name,
    functionVersion: "$LATEST",
    invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: "local",
    memoryLimitInMB: "512",
    getRemainingTimeInMillis: () => Math.max(0, ends - Date.now()),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
};
