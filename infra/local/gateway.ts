import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { APIGatewayProxyResult, Context } from "aws-lambda";
import pLimit from "p-limit";
import { env } from "../../shared/env.ts";
import * as errors from "../../shared/errors.ts";
import type { GatewayEvent } from "../../shared/http/request.ts";
import { limits } from "../../shared/limits.ts";
import type { Route } from "../../shared/route.ts";
import { listen } from "./listen.ts";
import { type Matched, matcher, type Target, targetOf } from "./match.ts";
import { lambdaContext, proxyEvent } from "./proxy-event.ts";
import { endWith, errorResponse, functionResponse, type Response } from "./responses.ts";

/**
 * API Gateway's limits.
 * Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html
 */
const maxBodyBytes = 10 * 1024 * 1024;
const maxHeaderBytes = 10_240;
/**
 * Lambda's limit for an event.
 * Source: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const maxEventBytes = 6 * 1024 * 1024;

/** The SDK's clients have 50 connections, and the time that a call waits for one counts towards its timeout. Other requests wait here. */
const maxRequests = 40;
/** How many bodies may be larger than `largeBytes` at a time. Others wait there, and are read on when their turn comes. */
const maxLargeBodies = 10;
const largeBytes = 64 * 1024;

/** How long requests in progress may take once the gateway closes. */
const closeGraceMs = 3_000;

type FunctionContext = Pick<Context, "getRemainingTimeInMillis">;
export type Handler = (event: GatewayEvent, context: FunctionContext) => Promise<APIGatewayProxyResult>;

/** API Gateway throttles a stage with a token bucket. It allows `rate` requests per second, and `burst` at once. */
type Throttle = { readonly rate: number; readonly burst: number };

export type Served = {
  readonly method: string;
  readonly path: string;
  readonly ms: number;
  readonly apiKey: string | undefined;
  readonly requestId: string;
  /** It is undefined if the client has disconnected before its request was complete. */
  readonly response: Response | undefined;
  readonly error?: unknown;
};

/** In milliseconds. Longer than clients keep connections open, so that none sends a request on a connection that closes. */
const keepAliveTimeout = 65_000;

export type GatewayOptions = {
  readonly routes: readonly Route[];
  readonly load: (route: Route) => Handler | undefined;
  readonly port: number;
  readonly throttle?: Throttle | undefined;
  readonly functionTimeoutMs?: number;
  /** How long the next bytes of a body may take. */
  readonly silenceMs?: number;
  readonly onRequest?: ((served: Served) => void) | undefined;
  /** Handles requests that only the local gateway supports, such as the documentation. Returns false for all others. */
  readonly extra?:
    | ((incoming: IncomingMessage, outgoing: ServerResponse, target: Target) => boolean | Promise<boolean>)
    | undefined;
};

type Outcome = { readonly response: Response; readonly error?: unknown };

/** Serves HTTP like API Gateway's REST proxy integration, with the same events, limits and error responses. */
export const startGateway = async (options: GatewayOptions) => {
  const handle = requestHandler(options);

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const startedAt = performance.now();
    const requestId = randomUUID();
    const target = targetOf(incoming);
    const report = ({ response, error }: Partial<Outcome>) => {
      const { method = "", url = "", headers } = incoming;
      const [path = "", apiKey] = [url.split("?")[0], headers.authorization?.replace(/^Bearer +/i, "")];
      options.onRequest?.({ method, path, ms: performance.now() - startedAt, apiKey, requestId, response, error });
    };
    try {
      if (target && (await options.extra?.(incoming, outgoing, target))) return;
      const outcome = await handle(incoming, target, requestId);
      send(outgoing, outcome.response);
      report(outcome);
    } catch (error) {
      if (incoming.readableAborted) return report({});
      const response = errorResponse(errors.serviceUnavailable(), requestId);
      if (outgoing.headersSent) outgoing.destroy();
      else send(outgoing, response);
      report({ response, error });
    }
  };

  const server = createServer({ maxHeaderSize: maxHeaderBytes, requireHostHeader: false, keepAliveTimeout }, serve);
  // A server may ignore an expectation other than 100-continue (RFC 9110, 10.1.1).
  server.on("checkExpectation", serve);
  server.on("connect", (_request, socket: Duplex) => endWith(socket, errorResponse(errors.notFound(), randomUUID())));
  server.on("clientError", rejectUnreadable);
  return listen(server, options.port, closeGraceMs);
};

const send = (outgoing: ServerResponse, { status, headers, body }: Response) => {
  // A 304 would have to state the length of the document that it omits (RFC 9110, 8.6).
  const length = status !== 304 && { "Content-Length": Buffer.byteLength(body) };
  outgoing.writeHead(status, { ...headers, ...length }).end(body);
};

const requestHandler = (options: GatewayOptions) => {
  const { routes, throttle, silenceMs = 29_000 } = options;
  const match = matcher(routes);
  const hasCapacity = throttle ? tokenBucket(throttle) : () => true;
  const queued = pLimit(maxRequests);
  const large = pLimit(maxLargeBodies);
  return async (incoming: IncomingMessage, target: Target | undefined, requestId: string): Promise<Outcome> => {
    const reject = (error: errors.ApiError, status?: number) => ({
      response: errorResponse(error, requestId, status),
    });
    if (!hasCapacity(performance.now())) return reject(errors.rateLimited());
    if (incoming.httpVersion === "1.1" && incoming.headers.host === undefined)
      return reject(errors.malformed("has no Host header"), 400);
    const matched = target && match(incoming.method ?? "", target.pathname);
    const reader = bodyReader(incoming, silenceMs);
    const handle = async (): Promise<Outcome> => {
      await reader.readTo(Number.POSITIVE_INFINITY);
      const body = reader.body();
      if (!body) return { response: bodyTooLarge };
      if (!target || !matched) return reject(errors.notFound());
      const event = proxyEvent(incoming, matched, target, body, requestId);
      if (eventBytes(event) > maxEventBytes) return reject(tooLarge(matched.route));
      return queued(() => invoke(options, matched, event));
    };
    try {
      // What a body announces counts for nothing, so one that does not arrive keeps no other waiting.
      return (await reader.readTo(largeBytes)) ? await handle() : await large(handle);
    } catch (error) {
      if (error !== silence) throw error;
      const late = errors.malformed(`stopped arriving: no byte came for ${silenceMs / 1000} seconds`);
      const { headers, ...response } = errorResponse(late, requestId, 408);
      return { response: { ...response, headers: { ...headers, Connection: "close" } } };
    }
  };
};

/** The bytes of an event as JSON. Its body is base64, which needs no escapes, so it is not serialized to be counted. */
const eventBytes = ({ body, ...rest }: GatewayEvent): number =>
  Buffer.byteLength(JSON.stringify({ ...rest, body: "" })) + (body?.length ?? 2);

/** What reading a body throws if its next bytes take too long. */
const silence = new Error("The body stopped arriving.");

const bodyReader = (incoming: IncomingMessage, silenceMs: number) => {
  const arriving: AsyncIterator<Buffer> = incoming[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    /** Reads until the body has more than this many bytes, or ends. Returns whether it has ended. */
    readTo: async (bytes: number): Promise<boolean> => {
      const { promise: silent, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(reject, silenceMs, silence);
      try {
        while (length <= bytes) {
          const { done, value } = await Promise.race([arriving.next(), silent]);
          if (done) return true;
          timer.refresh();
          length += value.length;
          // A body that is too large is read to its end, so that the client gets the response.
          if (length <= maxBodyBytes) chunks.push(value);
        }
        return false;
      } finally {
        clearTimeout(timer);
      }
    },
    /** Undefined if the body is too large. */
    body: () => (length <= maxBodyBytes ? Buffer.concat(chunks) : undefined),
  };
};

/** The returned function takes a token if there is one. `now` is in milliseconds. */
const tokenBucket = ({ rate, burst }: Throttle) => {
  let tokens = burst;
  let filledAt: number | undefined;
  return (now: number): boolean => {
    tokens = Math.min(burst, tokens + ((now - (filledAt ?? now)) / 1000) * rate);
    filledAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
};

/**
 * API Gateway sends this before its own error responses apply. So it is no document, and has no request id.
 * https://github.com/koki-develop/lgtm-generator/issues/10
 */
const bodyTooLarge: Response = {
  status: 413,
  headers: { "Content-Type": "text/plain" },
  body: `HTTP content length exceeded ${maxBodyBytes} bytes.`,
};

/** Names the limit of the function, which is smaller than the gateway's. API Gateway names the same limit for every function. */
const tooLarge = ({ reads }: Route): errors.ApiError => {
  if (reads.from === "json") return errors.payloadTooLarge(limits.jsonBytes);
  return reads.from === "form" ? errors.fileTooLarge(env.maxFileBytes()) : errors.payloadTooLarge(limits.fileBytes);
};

const invoke = async (
  { load, functionTimeoutMs = 29_000 }: GatewayOptions,
  { route }: Matched,
  event: GatewayEvent,
): Promise<Outcome> => {
  const { requestId } = event.requestContext;
  const handler = load(route);
  if (!handler) return { response: errorResponse(errors.notFound(), requestId) };
  const ended = new AbortController();
  const tooSlow = async () => {
    await sleep(functionTimeoutMs, undefined, { signal: ended.signal });
    const error = new Error(`The function took longer than ${functionTimeoutMs} ms.`);
    return { response: errorResponse(errors.serviceUnavailable(), requestId), error };
  };
  const run = async () => ({ response: functionResponse(await handler(event, lambdaContext(functionTimeoutMs))) });
  try {
    return await Promise.race([run(), tooSlow()]);
  } catch (error) {
    return { response: errorResponse(errors.serviceUnavailable(), requestId), error };
  } finally {
    ended.abort();
  }
};

/** Handles requests that are not HTTP, or whose headers are too large. Node does not pass them to the handler. */
const rejectUnreadable = (error: Error & { readonly code?: string }, socket: Duplex) => {
  if (!socket.writable || error.code === "ECONNRESET") return socket.destroy();
  const hasLargeHeaders = error.code === "HPE_HEADER_OVERFLOW";
  const detail = hasLargeHeaders ? `has more than ${maxHeaderBytes} bytes of headers` : "is not a valid HTTP request";
  return endWith(socket, errorResponse(errors.malformed(detail), randomUUID(), hasLargeHeaders ? 431 : 400));
};
