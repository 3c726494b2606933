import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import * as z from "zod/mini";
import { lambdaResponseBytes } from "../../shared/limits.ts";
import { parseJson } from "./json-file.ts";
import { type Reply, sendReply, serveLocally } from "./listen.ts";

export type LambdaHandler = (event: unknown, context: LambdaContext) => unknown;
type LambdaContext = { readonly functionName: string; readonly awsRequestId: string };

const maxRequestBytes = 6_291_456;

const refusal = (status: number, name: string, message: string): Reply => ({
  status,
  headers: { "x-amzn-ErrorType": name },
  body: { Type: "User", Message: message },
});

const failure = (errorType: string, errorMessage: string): Reply => ({
  status: 200,
  headers: { "X-Amz-Function-Error": "Unhandled" },
  body: { errorType, errorMessage, trace: [] },
});

/** The name in a name, an ARN or a partial ARN, with or without a qualifier. */
const nameIn = (reference: string) => /^(?:.*\bfunction:)?([\w-]+)(?::[\w$-]+)?$/.exec(reference)?.[1] ?? reference;

const run = async (handler: LambdaHandler, event: unknown, context: LambdaContext): Promise<Reply> => {
  try {
    const body = (await handler(event, context)) ?? null;
    if (Buffer.byteLength(JSON.stringify(body)) <= lambdaResponseBytes) return { status: 200, body };
    return failure("Function.ResponseSizeTooLarge", `Response payload size exceeded ${lambdaResponseBytes} bytes.`);
  } catch (error) {
    return error instanceof Error ? failure(error.name, error.message) : failure("Error", String(error));
  }
};

const invoke = async (handler: LambdaHandler, request: IncomingMessage, context: LambdaContext): Promise<Reply> => {
  const payload = await buffer(request);
  if (payload.length > maxRequestBytes)
    return refusal(413, "RequestTooLargeException", `Request must be smaller than ${maxRequestBytes} bytes.`);
  const event = parseJson(z.unknown(), payload.toString() || "{}");
  if (event === undefined)
    return refusal(400, "InvalidRequestContentException", "Could not parse request body into json.");
  const { "x-amz-invocation-type": type } = request.headers;
  if (type === "DryRun") return { status: 204 };
  const ended = run(handler, event, context);
  return type === "Event" ? { status: 202 } : ended;
};

/**
 * Serves Lambda's Invoke to the SDK.
 * Source: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
 */
export const startLambda = (handlers: ReadonlyMap<string, LambdaHandler>, port = 0) =>
  serveLocally(async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://lambda");
    const [, reference = ""] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(pathname) ?? [];
    const functionName = nameIn(decodeURIComponent(reference));
    const handler = request.method === "POST" ? handlers.get(functionName) : undefined;
    const awsRequestId = randomUUID();
    const { headers, ...reply } = handler
      ? await invoke(handler, request, { functionName, awsRequestId })
      : refusal(404, "ResourceNotFoundException", `Function not found: ${functionName}`);
    sendReply(response, { ...reply, headers: { "x-amzn-RequestId": awsRequestId, ...headers } });
  }, port);
