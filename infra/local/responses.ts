import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { APIGatewayProxyResult } from "aws-lambda";
import { type ApiError, securityHeaders } from "../../shared/errors.ts";
import { lambdaResponseBytes } from "../../shared/limits.ts";

export type Response = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string | Buffer;
};

/** The gateway's own errors have the same format as those of the functions. */
export const errorResponse = (error: ApiError, requestId: string, status = error.status): Response => ({
  status,
  headers: { ...error.headers, ...securityHeaders, "Content-Type": "application/json", "X-Request-Id": requestId },
  body: JSON.stringify(error.body),
});

/** Converts a function's result to a response. Throws for a result that API Gateway would not accept. */
export const functionResponse = (result: APIGatewayProxyResult): Response => {
  const bytes = Buffer.byteLength(JSON.stringify(result));
  if (bytes > lambdaResponseBytes)
    throw new Error(`The function's result has ${bytes} bytes. Lambda's limit is ${lambdaResponseBytes}.`);
  if (!Number.isInteger(result.statusCode)) throw new Error("The function's result has no statusCode.");
  const headers = Object.entries({ ...result.headers, ...result.multiValueHeaders }).map(
    ([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)] as const,
  );
  // API Gateway renames this header. The local gateway sends it under its own name too, as the interface requires.
  const challenges = headers.filter(([name]) => name.toLowerCase() === "www-authenticate");
  const remapped = challenges.map(([name, value]) => [`x-amzn-Remapped-${name}`, value] as const);
  const body = Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8");
  return { status: result.statusCode, headers: Object.fromEntries([...headers, ...remapped]), body };
};

/** Writes a response to a socket that Node's HTTP server does not serve, and closes it. */
export const endWith = (socket: Duplex, { status, headers, body }: Response): void => {
  const all = { ...headers, "Content-Length": Buffer.byteLength(body), Connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
};
