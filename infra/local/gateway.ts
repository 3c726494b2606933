import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from "aws-lambda";
import { env } from "../../shared/env.ts";
import {
  type ApiError,
  internalError,
  malformed,
  notFound,
  payloadTooLarge,
  rateLimited,
  serviceUnavailable,
} from "../../shared/errors.ts";
import type { Route } from "../../shared/routes.ts";
import { readBody } from "./body.ts";
import { listen } from "./listen.ts";
import { lambdaContext, type Matched, matcher, proxyEvent } from "./proxy-event.ts";
import { type Throttle, tokenBucket } from "./throttle.ts";

/** The real gateway's limits: https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html */
const maxBodyBytes = 10 * 1024 * 1024;
const maxHeaderBytes = 10_240;
/** Lambda's limit of an event and of an answer: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const maxEventBytes = 6 * 1024 * 1024;

export type Handler = (event: APIGatewayProxyEvent, context: Context) => Promise<APIGatewayProxyResult>;

/** What was answered, for a line in the terminal. */
export type Served = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  readonly key: string | undefined;
};

export type GatewayOptions = {
  readonly routes: readonly Route[];
  readonly load: (route: Route) => Handler | undefined;
  readonly port: number;
  readonly throttle?: Throttle | undefined;
  readonly functionTimeoutMs?: number;
  readonly onRequest?: ((served: Served) => void) | undefined;
  /** Answers what only the local gateway has, such as the documentation; false for anything else. */
  readonly extra?: ((incoming: IncomingMessage, outgoing: ServerResponse, url: URL) => boolean) | undefined;
};

type Answer = {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: string | Buffer;
};

const errorAnswer = (error: ApiError, requestId: string): Answer => ({
  status: error.status,
  headers: { ...error.headers, "Content-Type": "application/json", "X-Request-Id": requestId },
  body: JSON.stringify(error.body),
});

const functionAnswer = (result: APIGatewayProxyResult): Answer => {
  const single = Object.entries(result.headers ?? {}).map(([name, value]) => [name, String(value)] as const);
  const multiple = Object.entries(result.multiValueHeaders ?? {}).map(
    ([name, values]) => [name, values.map(String)] as const,
  );
  const body = Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8");
  if (body.length > maxEventBytes) throw new Error("The function answered more than 6 MB.");
  return { status: result.statusCode, headers: Object.fromEntries([...single, ...multiple]), body };
};

/** Serves HTTP as API Gateway's REST proxy integration would: same events, same limits, the same envelope for its own errors. */
export const startGateway = async (options: GatewayOptions) => {
  const { port, routes, throttle, onRequest, extra } = options;
  const match = matcher(routes);
  const admits = throttle ? tokenBucket(throttle) : () => true;

  const answer = async (incoming: IncomingMessage, url: URL): Promise<Answer> => {
    if (!admits(performance.now())) return errorAnswer(rateLimited(), randomUUID());
    const matched = match(incoming.method ?? "", url.pathname);
    const body = await readBody(incoming, maxBodyBytes);
    if (!matched) return errorAnswer(notFound(), randomUUID());
    if (!body) return errorAnswer(payloadTooLarge(maxBodyBytes), randomUUID());
    return invoke(options, matched, proxyEvent(incoming, matched, url, body));
  };

  const server = createServer({ maxHeaderSize: maxHeaderBytes }, async (incoming, outgoing) => {
    const startedAt = performance.now();
    const url = new URL(`http://local${incoming.url?.startsWith("/") ? incoming.url : "/"}`);
    if (extra?.(incoming, outgoing, url)) return;
    const { status, headers, body } = await answer(incoming, url).catch(() =>
      errorAnswer(internalError(), randomUUID()),
    );
    outgoing.writeHead(status, { ...headers, "Content-Length": Buffer.byteLength(body) }).end(body);
    const key = incoming.headers.authorization?.replace(/^Bearer +/i, "");
    onRequest?.({ method: incoming.method ?? "", path: url.pathname, status, ms: performance.now() - startedAt, key });
  });
  server.on("clientError", refuseUnreadable);
  const where = await listen(server, port);
  const close = async () => {
    server.close();
    server.closeIdleConnections();
    await once(server, "close");
  };
  return { ...where, close };
};

const invoke = async (
  { load, functionTimeoutMs = 29_000 }: GatewayOptions,
  { route }: Matched,
  event: APIGatewayProxyEvent,
): Promise<Answer> => {
  const { requestId } = event.requestContext;
  if (Buffer.byteLength(JSON.stringify(event)) > maxEventBytes)
    return errorAnswer(payloadTooLarge(env.maxFileBytes()), requestId);
  const handler = load(route);
  if (!handler) return errorAnswer(notFound(), requestId);
  const { promise: late, resolve } = Promise.withResolvers<Answer>();
  const timer = setTimeout(() => resolve(errorAnswer(serviceUnavailable(), requestId)), functionTimeoutMs);
  try {
    const context = lambdaContext(route.name, requestId, functionTimeoutMs);
    return await Promise.race([handler(event, context).then(functionAnswer), late]);
  } catch {
    return errorAnswer(internalError(), requestId);
  } finally {
    clearTimeout(timer);
  }
};

/** A request that is not HTTP, or whose headers are too large, never reaches the handler above. */
const refuseUnreadable = (error: Error & { readonly code?: string }, socket: Duplex) => {
  if (!socket.writable || error.code === "ECONNRESET") return socket.destroy();
  const tooLarge = error.code === "HPE_HEADER_OVERFLOW";
  const detail = tooLarge ? `has more than ${maxHeaderBytes} bytes of headers` : "is not a valid HTTP request";
  const { headers, body } = errorAnswer(malformed(detail), randomUUID());
  const lines = Object.entries({ ...headers, "Content-Length": Buffer.byteLength(body), Connection: "close" });
  const status = tooLarge ? "431 Request Header Fields Too Large" : "400 Bad Request";
  return socket.end(
    `HTTP/1.1 ${status}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
  );
};
