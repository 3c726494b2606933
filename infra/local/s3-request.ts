import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import { type S3Client, S3ServiceException } from "@aws-sdk/client-s3";
import { SignatureV4 } from "@smithy/signature-v4";
import { limits } from "../../shared/limits.ts";

/** Verifies a request as S3 does. It checks the signature, and the length and the checksums of a file. */

export const s3Error = (httpStatusCode: number, name: string, message: string) =>
  new S3ServiceException({ name, message, $fault: "client", $metadata: { httpStatusCode } });

type SentRequest = ReturnType<typeof sentRequest>;

const sentRequest = ({ method = "", url = "", headers: sent }: IncomingMessage) => {
  const [path = "", search = ""] = url.split("?");
  const query = Object.fromEntries(new URLSearchParams(search));
  const headers = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, `${value}`]));
  return { method, path, query, headers };
};

/**
 * A signed URL has its signature in the query, and another request has it in a header. Signatures in headers do not expire here.
 */
const signatureIn = ({ query, headers }: SentRequest): Readonly<Record<string, string>> => {
  if ("X-Amz-Signature" in query) return query;
  const parts = (headers.authorization ?? "").matchAll(/(Credential|SignedHeaders|Signature)=([^,\s]+)/g);
  const { "x-amz-date": date = "" } = headers;
  const named = Array.from(parts, ([, name, value = ""]) => [`X-Amz-${name}`, value] as const);
  return { ...Object.fromEntries(named), "X-Amz-Date": date, "X-Amz-Expires": "Infinity" };
};

const forbidden = (code: string, message: string) => s3Error(403, code, message);

/** The configuration of a client with the credentials that a request must be signed with. */
export type Signer = S3Client["config"];

/**
 * Throws unless a request is signed with these credentials, for one of `hosts`, with every `x-amz-` header, and has not expired.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html
 */
const requireSignature = async (
  request: SentRequest,
  { credentials, sha256 }: Signer,
  hosts: readonly (string | undefined)[],
): Promise<void> => {
  if ("X-Amz-Signature" in request.query && "authorization" in request.headers)
    throw s3Error(
      400,
      "InvalidArgument",
      "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or the Authorization header should be specified",
    );
  const given = signatureIn(request);
  const { "X-Amz-Credential": credential = "", "X-Amz-SignedHeaders": names = "", "X-Amz-Date": date = "" } = given;
  if (!given["X-Amz-Signature"]) throw forbidden("AccessDenied", "Access Denied");
  const inQuery = given === request.query;
  const expiresIn = Number(given["X-Amz-Expires"]);
  const signingDate = new Date(date.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, "$1-$2-$3:$4:$5"));
  // The condition is negated, so that it also refuses a missing or invalid number or date.
  const isOver = !(Date.now() < signingDate.getTime() + expiresIn * 1_000);
  if (isOver || (inQuery && expiresIn > 7 * 86_400)) throw forbidden("AccessDenied", "Request has expired");
  const [accessKeyId, , signingRegion = ""] = credential.split("/");
  if (accessKeyId !== (await credentials()).accessKeyId)
    throw forbidden("InvalidAccessKeyId", "This access key id does not exist. See `./patchbay env`.");
  const signableHeaders = new Set(names.split(";"));
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => signableHeaders.has(name)));
  if (Object.keys(request.headers).some((name) => name.startsWith("x-amz-") && !(name in headers)))
    throw forbidden("AccessDenied", "There were headers present in the request which were not signed");
  const options = { signingDate, expiresIn, signableHeaders, unhoistableHeaders: signableHeaders };
  const service = { service: "s3", region: signingRegion, uriEscapePath: false, applyChecksum: false };
  const signer = new SignatureV4({ ...service, credentials, sha256 });
  // An object as the body means that the payload is not signed, unless a header has its hash.
  const again = { ...request, protocol: "http:", hostname: "", body: {} };
  const signatureFor = async (host: string | undefined) => {
    const signed = { ...again, headers: { ...headers, ...(host !== undefined && { host }) } };
    return inQuery
      ? (await signer.presign(signed, options)).query?.["X-Amz-Signature"]
      : (await signer.sign(signed, options)).headers.authorization?.split("Signature=")[1];
  };
  for (const host of hosts) if (given["X-Amz-Signature"] === (await signatureFor(host))) return;
  throw forbidden("SignatureDoesNotMatch", "The signature does not match. Check the secret access key.");
};

/** A path that is valid needs no percent-encoding, so it is compared as it was sent, and cannot leave the folder. */
const pathPattern = /^\/([a-z\d][a-z\d-]{2,62})(?:\/?|\/([\w/-]{1,200}))$/;
export const objectKey = /^attachments(?:\/[\w-]+)+$/;

/** The implemented parameters and headers. */
const known =
  /^(x-id|tagging|list-type|prefix|start-after|continuation-token|max-keys|encoding-type|x-amz-(algorithm|credential|date|expires|signedheaders|signature|security-token|user-agent|content-sha256|sdk-checksum-algorithm|checksum-(mode|crc32|sha256)))$/i;

/** Headers that S3 stores with a file, or acts on. */
const meaningful = /^(x-amz-.*|if-.*|expires|cache-control|content-(md5|disposition|encoding|language))$/;

/** Headers of which only these values are implemented. Browsers send a Cache-Control by themselves. */
const values = new Map([
  ["if-none-match", /^\*$/],
  ["cache-control", /^(no-cache|max-age=0)$/],
  ["content-encoding", /^[\w-]{1,64}$/],
]);

const isImplemented = ([name, value]: readonly [string, string]) =>
  values.get(name)?.test(value) ?? (!meaningful.test(name) || known.test(name));

export const notImplemented = () => s3Error(501, "NotImplemented", "The embedded S3 does not implement this request.");

export type S3Request = Awaited<ReturnType<typeof readS3Request>>;

/** Throws if a request is not signed, or contains anything that is not implemented. An example of an operation: `GET object tagging`. */
export const readS3Request = async (incoming: IncomingMessage, signer: Signer) => {
  const request = sentRequest(incoming);
  const { method, path, query, headers } = request;
  const [, bucket = "", key] = pathPattern.exec(path) ?? [];
  if (bucket === "" || (key !== undefined && !objectKey.test(key)))
    throw s3Error(400, "InvalidURI", "The embedded S3 has only keys such as attachments/2026/11/21/order/a/b.");
  // Signed URLs name this address. A client may reach it by another name, which is `localhost` or, in a container,
  // `host.docker.internal`.
  await requireSignature(request, signer, [headers.host, `127.0.0.1:${incoming.socket.localPort}`]);
  if (!Object.keys(query).every((name) => known.test(name)) || !Object.entries(headers).every(isImplemented))
    throw notImplemented();
  const part = ["list-type", "tagging"].filter((name) => name in query);
  const operation = [method, key === undefined ? "bucket" : "object", ...part].join(" ");
  return { operation, bucket, key: key ?? "", query, headers, incoming };
};

const base64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");

/** Reads the file of a PUT, which must have the declared checksums, and returns it with its properties. Node verifies its length. */
export const readUpload = async ({ incoming, query, headers }: S3Request) => {
  const declared = { ...query, ...headers };
  const { "x-amz-content-sha256": payload = "", "content-length": length } = declared;
  if (payload.startsWith("STREAMING-")) throw notImplemented();
  if (length === undefined) throw s3Error(411, "MissingContentLength", "A Content-Length is required.");
  if (Number(length) > limits.uploadBytes) throw s3Error(400, "EntityTooLarge", "The file is larger than 100 MiB.");
  const content = await buffer(incoming);
  const sha256 = hash("sha256", content, "hex");
  const digests = {
    "x-amz-checksum-sha256": base64(sha256),
    "x-amz-checksum-crc32": base64(crc32(content).toString(16).padStart(8, "0")),
  };
  const checksums = Object.fromEntries(Object.entries(digests).filter(([name]) => name in declared));
  const signed = /^[\da-f]{64}$/.test(payload) && { "x-amz-content-sha256": sha256 };
  for (const [name, digest] of Object.entries({ ...checksums, ...signed }))
    if (declared[name] !== digest) throw s3Error(400, "BadDigest", `The content does not match ${name}.`);
  const content_type = headers["content-type"] ?? "application/octet-stream";
  const content_encoding = headers["content-encoding"];
  // Clients do not take an ETag with a hyphen for an MD5.
  return {
    content,
    bytes: content.length,
    content_type,
    content_encoding,
    etag: `"${sha256.slice(0, 32)}-1"`,
    checksums,
  };
};
