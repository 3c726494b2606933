import { SignatureV4 } from "@smithy/signature-v4";
import * as z from "zod/mini";
import { env } from "../env.ts";
import { type HttpResponse, sendRequest } from "../http-request.ts";
import { dynamodb } from "../table/client.ts";

/** A call to the carrier, as an adapter function gets it. docs/carrier.md describes it. */
export type AdapterCall = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object | null;
  readonly file: {
    /** A signed URL for a GET. */
    readonly url: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly content_type: string;
    readonly filename: string;
  } | null;
};

/** The function could not be invoked, has failed, or has returned no response of the carrier. */
export class NotInvoked extends Error {
  readonly meaning: "unsent" | "throttled" | "unanswered";

  constructor(message: string, meaning: NotInvoked["meaning"]) {
    super(message);
    this.meaning = meaning;
  }
}

const Result = z.object({
  status: z.int().check(z.minimum(200), z.maximum(599)),
  headers: z.optional(z.record(z.string(), z.string())),
  body: z.optional(z.unknown()),
});

/**
 * Invokes the adapter function, and returns its result as the carrier's response. Signs the request with the settings of DynamoDB's
 * client. This adds 4.5 KB to the bundle of `submit`; the client for Lambda would add 53 KB.
 * Source: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
 */
export const invokeAdapter = async (name: string, call: AdapterCall, endsAt: number): Promise<HttpResponse> => {
  const { credentials, region, sha256 } = dynamodb().config;
  const path = `/2015-03-31/functions/${encodeURIComponent(name)}/invocations`;
  const url = new URL(path, env.lambdaEndpoint(await region()));
  const { protocol, host, hostname } = url;
  const body = JSON.stringify(call);
  const request = { method: "POST", protocol, hostname, path, query: {}, headers: { host }, body };
  const signer = new SignatureV4({ service: "lambda", region, credentials, sha256 });
  const { headers } = await signer.sign(request);
  const response = await sendRequest(url, { method: "POST", headers, body, endsAt, maxCharacters: () => maxResult });
  const { status, text } = response;
  if (status >= 200 && status < 300) return carrierResponse(text);
  // This 404 or 409 is Lambda's, not the carrier's. A function that does not exist has not withdrawn anything.
  const error = response.headers["x-amzn-errortype"]?.split(":")[0] ?? status;
  const meaning = status === 429 ? "throttled" : status >= 500 ? "unanswered" : "unsent";
  throw new NotInvoked(`its function could not be invoked: ${error}`, meaning);
};

/** The longest result of a function. */
const maxResult = 6_291_556;

const carrierResponse = (text: string): HttpResponse => {
  // If the function failed, its result describes the error and has no status.
  const { data } = z.safeParse(Result, JSON.parse(text || "null"));
  if (!data) throw new NotInvoked("its function failed or returned no status: see the function's log", "unanswered");
  const { status, headers = {} } = data;
  const body = data.body ?? "";
  const names = Object.keys(headers);
  const lowerCase = Object.fromEntries(names.map((name) => [name.toLowerCase(), headers[name]]));
  return { status, headers: lowerCase, text: typeof body === "string" ? body : JSON.stringify(body) };
};
