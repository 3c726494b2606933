import { createHash, createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/**
 * The checks of S3 that fauxqs lacks: every request must be signed. A signed URL must be signed with the service's credentials and
 * must not have expired. The method, the headers and the SHA-256 of the file must match, and every `x-amz-` header be signed.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */

export type StorageRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
};

export type S3Error = { readonly status: 400 | 403; readonly code: string; readonly message: string };

type Credentials = { readonly accessKeyId: string; readonly secretAccessKey: string };

const forbidden = (code: string, message: string): S3Error => ({ status: 403, code, message });

/** The error with which S3 would reject a request. Undefined if it would accept it. */
export const s3ErrorFor = (request: StorageRequest, credentials: Credentials, now: Date): S3Error | undefined => {
  const { pathname, searchParams } = new URL(request.url, "http://storage");
  if (!searchParams.has("X-Amz-Signature"))
    return request.headers.authorization === undefined ? forbidden("AccessDenied", "Access Denied") : undefined;
  const signedAt = dateOf(searchParams.get("X-Amz-Date") ?? "");
  // Negated, so that it also rejects a missing or invalid number.
  if (!(now.getTime() < signedAt + Number(searchParams.get("X-Amz-Expires")) * 1000))
    return forbidden("AccessDenied", "Request has expired");
  if (searchParams.get("X-Amz-Credential")?.split("/")[0] !== credentials.accessKeyId)
    return forbidden("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.");
  const signed = searchParams.get("X-Amz-SignedHeaders")?.split(";") ?? [];
  if (Object.keys(request.headers).some((name) => name.startsWith("x-amz-") && !signed.includes(name)))
    return forbidden("AccessDenied", "There were headers present in the request which were not signed");
  if (signatureOf(request, pathname, searchParams, credentials) !== searchParams.get("X-Amz-Signature"))
    return forbidden(
      "SignatureDoesNotMatch",
      "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
    );
  const announced = request.headers["x-amz-checksum-sha256"];
  const content = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (
    announced !== undefined &&
    !isChunked(request.headers) &&
    announced !== createHash("sha256").update(content).digest("base64")
  )
    return {
      status: 400,
      code: "BadDigest",
      message: "The SHA256 you specified did not match the calculated checksum.",
    };
  return undefined;
};

/** Whether a body is in the chunks of `aws-chunked`: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html */
export const isChunked = (headers: IncomingHttpHeaders): boolean =>
  String(headers["x-amz-content-sha256"]).startsWith("STREAMING-");

/** Parses `20261121T120000Z` to milliseconds. */
const dateOf = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, "$1-$2-$3:$4:$5"));

const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

const signatureOf = (
  { method, headers }: StorageRequest,
  pathname: string,
  searchParams: URLSearchParams,
  { secretAccessKey }: Credentials,
): string => {
  const query = [...searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join("&");
  const names = searchParams.get("X-Amz-SignedHeaders") ?? "";
  const signed = names.split(";").map((name) => `${name}:${[headers[name] ?? ""].flat().join(",").trim()}`);
  const canonical = [method, pathname, query, ...signed, "", names, "UNSIGNED-PAYLOAD"].join("\n");
  const hash = createHash("sha256").update(canonical).digest("hex");
  const [, ...scope] = (searchParams.get("X-Amz-Credential") ?? "").split("/");
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const text = ["AWS4-HMAC-SHA256", searchParams.get("X-Amz-Date"), scope.join("/"), hash].join("\n");
  return hmac(key, text).toString("hex");
};
