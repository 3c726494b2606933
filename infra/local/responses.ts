import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { APIGatewayProxyResult } from "aws-lambda";
import type { ApiError } from "../../shared/errors.ts";

/** What the gateway sends. */
export type Response = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Buffer;
};

/** The gateway's own errors look like those of the functions. */
export const errorResponse = (error: ApiError, requestId: string, status = error.status): Response => ({
  status,
  headers: { ...error.headers, "Content-Type": "application/json", "X-Request-Id": requestId },
  body: JSON.stringify(error.body),
});

/**
 * The largest result of a function: 6 MB and 100 bytes of the JSON that carries it, in which `body` is a string and
 * escaped once more. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const maxResultBytes = 6_291_556;

/** API Gateway renames the header. It is sent under its own name as well, as the interface says. */
const remapped = (name: string, value: string | readonly string[]): [string, string | readonly string[]][] =>
  name.toLowerCase() === "www-authenticate"
    ? [
        [name, value],
        [`x-amzn-Remapped-${name}`, value],
      ]
    : [[name, value]];

/** Turns a function's result into its response. Throws for a result for which API Gateway would return 502. */
export const functionResponse = (result: APIGatewayProxyResult): Response => {
  const bytes = Buffer.byteLength(JSON.stringify(result));
  if (bytes > maxResultBytes)
    throw new Error(`The function's result has ${bytes} bytes, and Lambda takes no more than ${maxResultBytes}.`);
  if (!Number.isInteger(result.statusCode)) throw new Error("The function's result has no statusCode.");
  const headers = Object.entries({ ...result.headers, ...result.multiValueHeaders }).flatMap(([name, value]) =>
    remapped(name, Array.isArray(value) ? value.map(String) : String(value)),
  );
  const body = Buffer.from(result.body, result.isBase64Encoded ? "base64" : "utf8");
  return { status: result.statusCode, headers: Object.fromEntries(headers), body };
};

/** Writes a response to a connection that HTTP's own parser has given up, and closes it. */
export const endWith = (socket: Duplex, { status, headers, body }: Response): void => {
  const all = { ...headers, "Content-Length": Buffer.byteLength(body), Connection: "close" };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
};
