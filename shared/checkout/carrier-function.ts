import { SignatureV4 } from "@smithy/signature-v4";
import * as z from "zod/mini";
import { env } from "../env.ts";
import { dynamodb } from "../table/client.ts";

/** A call to the carrier, as an adapter function gets it. README.md describes it. */
export type AdapterCall = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object | null;
  readonly file: {
    /** A signed URL for GET. */
    readonly url: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly content_type: string;
    readonly filename: string;
  } | null;
};

/** The function could not be invoked, has failed, or has returned no response of the carrier. */
export class AdapterError extends Error {
  readonly mayHaveActed: boolean;

  constructor(message: string, mayHaveActed = true) {
    super(message);
    this.mayHaveActed = mayHaveActed;
  }
}

const Answer = z.object({
  status: z.int().check(z.minimum(200), z.maximum(599)),
  headers: z.optional(z.record(z.string(), z.string())),
  body: z.optional(z.unknown()),
});

/**
 * Invokes the adapter function, and returns its result as the carrier's response. Signs the request itself, with the settings
 * of DynamoDB's client: the client for Lambda would add 53 KB to the bundle of `submit`, this adds 4.5 KB.
 * Source: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
 */
export const invokeAdapter = async (name: string, call: AdapterCall, signal: AbortSignal): Promise<Response> => {
  const { credentials, region, sha256 } = dynamodb().config;
  const path = `/2015-03-31/functions/${encodeURIComponent(name)}/invocations`;
  const url = new URL(path, env.lambdaEndpoint(await region()));
  const { protocol, host, hostname } = url;
  const body = JSON.stringify(call);
  const request = { method: "POST", protocol, hostname, path, query: {}, headers: { host }, body };
  const signer = new SignatureV4({ service: "lambda", region, credentials, sha256 });
  const { host: _, ...headers } = (await signer.sign(request)).headers;
  const response = await fetch(url, { method: "POST", headers, body, redirect: "error", signal });
  if (response.ok) return carrierResponse(response);
  await response.body?.cancel();
  if (response.status === 429) return new Response(null, { status: 429 });
  // Not the carrier's 404 or 409: a function that does not exist has withdrawn nothing.
  const error = response.headers.get("x-amzn-errortype")?.split(":")[0] ?? response.status;
  throw new AdapterError(`its function could not be invoked: ${error}`, response.status >= 500);
};

const carrierResponse = async (response: Response): Promise<Response> => {
  const text = await response.text();
  // The result of a function that failed is a description of the error, which has no status.
  const answer = z.safeParse(Answer, JSON.parse(text || "null")).data;
  if (!answer) throw new AdapterError("its function failed or returned no status, and its log says why");
  const { status, headers = {}, body = "" } = answer;
  const isEmpty = [204, 205, 304].includes(status);
  return new Response(isEmpty ? null : typeof body === "string" ? body : JSON.stringify(body), { status, headers });
};
