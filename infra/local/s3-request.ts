import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { crc32 } from "node:zlib";
import { S3Client } from "@aws-sdk/client-s3";
import { SignatureV4 } from "@smithy/signature-v4";
import { limits } from "../../shared/limits.ts";

/** What S3 verifies of a request: its signature, and the length and the checksums of a file. */

export class S3Error extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const operations = /^((HEAD|PUT) bucket|GET list|(GET|HEAD|PUT|DELETE) object|GET object tags)$/;
const parameters =
  /^(x-id|tagging|list-type|prefix|start-after|continuation-token|max-keys|encoding-type|x-amz-(algorithm|credential|date|expires|signedheaders|signature|security-token|user-agent|content-sha256|trailer|decoded-content-length|sdk-checksum-algorithm|checksum-(mode|crc32|sha256)))$/i;

export type S3Request = ReturnType<typeof readRequest>;

export const readRequest = ({ method = "", url = "", headers: sent }: IncomingMessage) => {
  const [path = "", search = ""] = url.split("?");
  const query = Object.fromEntries(new URLSearchParams(search));
  const headers = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, `${value}`]));
  return { method, path, query, headers };
};

/** Refuses what is not implemented, rather than ignoring it: copies and parts of objects, writes of their tags, other checksums. */
export const requireImplemented = ({ method, query, headers }: S3Request, key: string | undefined): void => {
  const { "if-none-match": condition = "*", "if-match": other, "content-md5": md5 } = headers;
  const names = [...Object.keys(query), ...Object.keys(headers).filter((name) => name.startsWith("x-amz-"))];
  const resource = key !== undefined ? "object" : query["list-type"] === "2" ? "list" : "bucket";
  const target = "tagging" in query ? `${resource} tags` : resource;
  const isKnown = operations.test(`${method} ${target}`) && names.every((name) => parameters.test(name));
  if (!isKnown || condition !== "*" || other !== undefined || md5 !== undefined)
    throw new S3Error(501, "NotImplemented", "The embedded S3 does not implement this request.");
};

const forbidden = (code: string, message: string) => new S3Error(403, code, message);

/** The signature is in the query of a signed URL, and in a header of every other request, which does not expire here. */
const signatureIn = ({ query, headers }: S3Request) => {
  const pattern = /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/;
  const [, credential, names, signature] = pattern.exec(headers.authorization ?? "") ?? [];
  const inHeader = { credential, names, signature, date: headers["x-amz-date"], expiresIn: Number.POSITIVE_INFINITY };
  if (!("X-Amz-Signature" in query)) return { ...inHeader, inQuery: false };
  return {
    inQuery: true,
    credential: query["X-Amz-Credential"],
    names: query["X-Amz-SignedHeaders"],
    signature: query["X-Amz-Signature"],
    date: query["X-Amz-Date"],
    expiresIn: Number(query["X-Amz-Expires"]),
  };
};

/**
 * Returns the check that a request is signed with this process's credentials and has not expired, and that every `x-amz-` header
 * is signed. https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html
 */
export const signatureCheck = () => {
  const { credentials, sha256 } = new S3Client({}).config;
  const service = { service: "s3", region: "us-east-1", uriEscapePath: false, applyChecksum: false };
  const signer = new SignatureV4({ ...service, credentials, sha256 });
  return async (request: S3Request): Promise<void> => {
    const { inQuery, signature, credential = "", names = "", date = "", expiresIn } = signatureIn(request);
    if (signature === undefined) throw forbidden("AccessDenied", "Access Denied");
    const signingDate = new Date(date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, "$1-$2-$3:$4:$5"));
    // Negated, so that it also refuses a missing or invalid number or date.
    const isOver = !(Date.now() < signingDate.getTime() + expiresIn * 1_000);
    if (isOver || (inQuery && expiresIn > 7 * 86_400)) throw forbidden("AccessDenied", "Request has expired");
    const [accessKeyId, , signingRegion = ""] = credential.split("/");
    if (accessKeyId !== (await credentials()).accessKeyId)
      throw forbidden("InvalidAccessKeyId", "This access key id does not exist. See `npm run admin -- env`.");
    const signableHeaders = new Set(names.split(";"));
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => signableHeaders.has(name)));
    if (Object.keys(request.headers).some((name) => name.startsWith("x-amz-") && !(name in headers)))
      throw forbidden("AccessDenied", "There were headers present in the request which were not signed");
    const options = { signingDate, expiresIn, signingRegion, signableHeaders, unhoistableHeaders: signableHeaders };
    // The body stands for one that is not signed. Otherwise a header has its hash.
    const again = { ...request, protocol: "http:", hostname: "", headers, body: {} };
    const expected = inQuery
      ? (await signer.presign(again, options)).query?.["X-Amz-Signature"]
      : (await signer.sign(again, options)).headers.authorization?.split("Signature=")[1];
    if (signature !== expected)
      throw forbidden("SignatureDoesNotMatch", "The signature does not match. Check the secret access key.");
  };
};

const incomplete = () => new S3Error(400, "IncompleteBody", "The body has not the bytes that its headers declare.");

const invalidChunk = () => new S3Error(400, "InvalidChunkSizeError", "A chunk of the body has no valid size.");

/**
 * Decodes the chunks of `aws-chunked`, and sets the declared checksums that follow them.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
 */
async function* dechunk(body: AsyncIterable<Buffer>, declared: Record<string, string>) {
  let rest: Buffer = Buffer.alloc(0);
  let [left, ended] = [0, false];
  for await (const piece of body) {
    rest = rest.length > 0 ? Buffer.concat([rest, piece]) : piece;
    for (let end = 0; end >= 0; ) {
      const data = rest.subarray(0, left);
      if (data.length > 0) yield data;
      left -= data.length;
      rest = rest.subarray(data.length);
      end = rest.indexOf("\r\n");
      if (end < 0) continue;
      const line = rest.toString("latin1", 0, end);
      rest = rest.subarray(end + 2);
      const [name = "", value = ""] = line.split(":");
      if (ended && name in declared) declared[name] = value;
      // A line break also follows the data of a chunk.
      if (ended || line === "") continue;
      if (!/^[\da-f]{1,8}$/i.test(line)) throw invalidChunk();
      left = Number.parseInt(line, 16);
      ended = left === 0;
    }
    if (rest.length > 1_024) throw invalidChunk();
  }
}

const digests = ["x-amz-content-sha256", "x-amz-checksum-sha256", "x-amz-checksum-crc32"] as const;

/** Returns the content of a PUT, and `verify`, which returns the object's properties once the content has been read. */
export const uploadIn = (incoming: IncomingMessage, request: S3Request) => {
  const headers = { ...request.query, ...request.headers };
  const { "x-amz-content-sha256": hash = "", "x-amz-trailer": trailer, "content-type": type } = headers;
  const isChunked = hash === "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
  if (isChunked ? !digests.some((name) => name === trailer) : hash.startsWith("STREAMING-"))
    throw new S3Error(501, "NotImplemented", "Of chunks, only unsigned ones with a trailing CRC-32 or SHA-256 work.");
  const bytes = Number(headers[isChunked ? "x-amz-decoded-content-length" : "content-length"]);
  if (Number.isNaN(bytes)) throw new S3Error(411, "MissingContentLength", "A Content-Length is required.");
  if (bytes > limits.uploadBytes) throw new S3Error(400, "EntityTooLarge", "The file is larger than 100 MiB.");
  const content_type = type ?? "application/octet-stream";
  if (content_type.length > 255) throw new S3Error(400, "MetadataTooLarge", "The Content-Type is too long.");
  const declared: Record<string, string> = {};
  for (const name of digests) {
    const value = name === trailer ? "" : headers[name];
    if (value !== undefined && !/^(UNSIGNED|STREAMING)-/.test(value)) declared[name] = value;
  }
  const sha256 = createHash("sha256");
  let [crc, count] = [0, 0];
  const content = async function* () {
    const body = incoming.iterator({ destroyOnReturn: false });
    for await (const data of isChunked ? dechunk(body, declared) : body) {
      count += data.length;
      if (count > bytes) break;
      sha256.update(data);
      crc = crc32(data, crc);
      yield data;
    }
    if (count !== bytes) throw incomplete();
  };
  const verify = () => {
    const hex = sha256.digest("hex");
    const inBase64 = [hex, crc.toString(16).padStart(8, "0")].map((text) =>
      Buffer.from(text, "hex").toString("base64"),
    );
    for (const [n, name] of digests.entries())
      if ((declared[name] ?? [hex, ...inBase64][n]) !== [hex, ...inBase64][n])
        throw new S3Error(400, "BadDigest", `The content does not match ${name}.`);
    const { "x-amz-content-sha256": _, ...checksums } = declared;
    // Clients do not take an ETag with a hyphen for an MD5.
    return { bytes, content_type, etag: `"${hex.slice(0, 32)}-1"`, checksums, stored_at: new Date().toISOString() };
  };
  return { content: content(), verify, isNew: "if-none-match" in headers };
};
