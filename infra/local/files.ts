import { existsSync, mkdirSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { S3, S3ServiceException } from "@aws-sdk/client-s3";
import { clientSettings } from "../../shared/deadline.ts";
import type { AwsAccess } from "./aws-access.ts";
import { temporaryFolder } from "./json-file.ts";
import { isLocalRequest, listen } from "./listen.ts";
import { keysIn, objectFile, openBucket, propertiesOf, readObject, removeObject, writeObject } from "./objects.ts";
import { notImplemented, readS3Request, readUpload, type S3Request, type Signer, s3Error } from "./s3-request.ts";

export type FilesOptions = {
  /** The S3 to use instead of the embedded one. */
  readonly endpoint?: string | undefined;
  /** Without it, the environment's region and credentials are used. */
  readonly access?: AwsAccess | undefined;
  /** Without a folder, files are stored in a temporary one. */
  readonly folder?: string | undefined;
  readonly port?: number;
  /** Origins whose pages may send files, like the stage's setting of that name. */
  readonly uploadOrigins?: readonly string[] | undefined;
  /** Called with the origin of a refused page, if adding it to `uploadOrigins` would allow it. */
  readonly onRefusedOrigin?: ((origin: string) => void) | undefined;
  /** The time until the malware scan tags an upload. If it is undefined, the upload is never scanned. */
  readonly scanDelayMs?: () => number | undefined;
};

type S3Reply = { readonly status: number; readonly headers?: object; readonly body?: string | Readable };

const xmlReply = (content: string, status = 200): S3Reply => ({
  status,
  headers: { "Content-Type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n${content}`,
});

/** Errors other than S3's mean that the folder cannot be used. */
const errorReply = (error: unknown): S3Reply => {
  const cause = error instanceof Error && "code" in error ? error.code : error;
  const unavailable = s3Error(503, "ServiceUnavailable", `Files cannot be stored or read: ${cause}`);
  const { name, message, $metadata } = error instanceof S3ServiceException ? error : unavailable;
  return xmlReply(`<Error><Code>${name}</Code><Message>${message}</Message></Error>`, $metadata.httpStatusCode);
};

const list = (bucket: string, { query }: S3Request): S3Reply => {
  const { prefix = "", "start-after": start = "", "max-keys": max = 1_000 } = query;
  const after = query["continuation-token"] ?? start;
  const keys = keysIn(bucket).filter((key) => key > after && key.startsWith(prefix));
  const page = keys.slice(0, Math.min(Number(max), 1_000));
  const contents = page.map((key) => {
    const { bytes, etag, stored_at } = propertiesOf(objectFile(bucket, key));
    const properties = `<LastModified>${stored_at}</LastModified><ETag>${etag}</ETag><Size>${bytes}</Size>`;
    return `<Contents><Key>${key}</Key>${properties}</Contents>`;
  });
  const more = page.length > 0 && page.length < keys.length;
  const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
  const summary = `<KeyCount>${page.length}</KeyCount><IsTruncated>${more}</IsTruncated>${next}`;
  return xmlReply(`<ListBucketResult>${summary}${contents.join("")}</ListBucketResult>`);
};

/** Returns the first and the last byte of a `Range`, or undefined for the whole object. */
const rangeIn = (header: string | undefined, bytes: number) => {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const from = first === "" ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = first === "" || last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (from > to) throw s3Error(416, "InvalidRange", "The requested range is not satisfiable");
  return { from, to };
};

const read = (file: string, { operation, query, headers }: S3Request): S3Reply => {
  const { bytes, content_type, content_encoding, etag, checksums, stored_at } = propertiesOf(file);
  const range = rangeIn(headers.range, bytes);
  const { from, to } = range ?? { from: 0, to: bytes - 1 };
  const { "x-amz-checksum-mode": mode } = { ...query, ...headers };
  const found = {
    "Content-Type": content_type,
    ...(content_encoding && { "Content-Encoding": content_encoding }),
    "Content-Length": to - from + 1,
    "Last-Modified": new Date(stored_at).toUTCString(),
    ETag: etag,
    ...(range ? { "Content-Range": `bytes ${from}-${to}/${bytes}` } : mode && checksums),
  };
  const hasContent = operation === "GET object" && to >= from;
  return { status: range ? 206 : 200, headers: found, ...(hasContent && { body: readObject(file, from, to) }) };
};

const tags = (file: string): S3Reply => {
  const { scan } = propertiesOf(file);
  const isTagged = scan && scan.at <= new Date().toISOString();
  const tag = isTagged ? `<Tag><Key>GuardDutyMalwareScanStatus</Key><Value>${scan.result}</Value></Tag>` : "";
  return xmlReply(`<Tagging><TagSet>${tag}</TagSet></Tagging>`);
};

/**
 * The EICAR test file, in two parts so that scanners accept this file.
 * Source: https://www.eicar.org/download-anti-malware-testfile/
 */
export const eicar = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"].join("-");

/** Simulates GuardDuty. The tag is visible from `at` on, even if the store is restarted meanwhile. */
const scanned = (content: Buffer, delayMs: number) => ({
  result: content.includes(eicar) ? "THREATS_FOUND" : "NO_THREATS_FOUND",
  at: new Date(Date.now() + delayMs).toISOString(),
});

const store = async (file: string, request: S3Request, options: FilesOptions): Promise<S3Reply> => {
  const { content, ...received } = await readUpload(request);
  const delayMs = options.scanDelayMs?.();
  const scan = delayMs === undefined ? undefined : scanned(content, delayMs);
  const properties = { ...received, stored_at: new Date().toISOString(), scan };
  const isNew = "if-none-match" in request.headers;
  await writeObject(file, properties, content, { durable: options.folder !== undefined, isNew });
  return { status: 200, headers: { ETag: received.etag, ...received.checksums } };
};

/** The CORS headers of a bucket on AWS with `uploadOrigins`. */
const corsHeaders = {
  "Access-Control-Allow-Methods": "PUT",
  "Access-Control-Max-Age": "3600",
  "Access-Control-Allow-Headers": "content-type, if-none-match, x-amz-checksum-sha256",
};

type Store = FilesOptions & { readonly root: string; readonly signer: Signer };

const respond = async (incoming: IncomingMessage, options: Store): Promise<S3Reply> => {
  if (!isLocalRequest(incoming, options.uploadOrigins)) {
    const { origin = "" } = incoming.headers;
    if (/^https?:/.test(origin) && isLocalRequest(incoming, [origin])) options.onRefusedOrigin?.(origin);
    throw s3Error(403, "AccessDenied", "Web pages and other host names are refused.");
  }
  if (incoming.method === "OPTIONS") return { status: 204, headers: corsHeaders };
  const request = await readS3Request(incoming, options.signer);
  const { operation, key } = request;
  const bucket = join(options.root, request.bucket);
  const file = objectFile(bucket, key);
  if (operation === "PUT bucket") mkdirSync(bucket, { recursive: true });
  if (!existsSync(bucket)) throw s3Error(404, "NoSuchBucket", "The specified bucket does not exist");
  switch (operation) {
    case "PUT bucket":
    case "HEAD bucket":
      return { status: 200 };
    case "GET bucket list-type":
      return list(bucket, request);
    case "GET object":
    case "HEAD object":
      return read(file, request);
    case "GET object tagging":
      return tags(file);
    case "PUT object":
      return store(file, request, options);
    case "DELETE object":
      removeObject(file);
      return { status: 204 };
    default:
      throw notImplemented();
  }
};

const startStore = async (bucket: string, options: FilesOptions) => {
  const { folder = temporaryFolder(), port, uploadOrigins = [] } = options;
  const root = join(folder, "objects");
  openBucket(join(root, bucket));
  const { config: signer } = new S3(options.access ?? {});
  const server = createServer(async (incoming, outgoing) => {
    const { status, headers, body } = await respond(incoming, { ...options, root, signer }).catch(errorReply);
    // Discards the rest of the body after an error, so that the client gets the response.
    incoming.resume();
    const { origin = "" } = incoming.headers;
    const cors = uploadOrigins.includes(origin) && { "Access-Control-Allow-Origin": origin, Vary: "Origin" };
    outgoing.writeHead(status, { ...cors, ...headers });
    if (body instanceof Readable) pipeline(body, outgoing, () => {});
    else outgoing.end(body);
  });
  return listen(server, port);
};

/** Starts the embedded S3, unless there is an `endpoint`, and creates the bucket. */
export const startFiles = async (bucket: string, options: FilesOptions = {}) => {
  const { endpoint, access } = options;
  const service = endpoint ? { url: endpoint, close: async () => {} } : await startStore(bucket, options);
  const client = new S3({ ...clientSettings(5_000), ...access, endpoint: service.url, forcePathStyle: true });
  await client.createBucket({ Bucket: bucket }).catch((error: unknown) => {
    const { name, code, message } = Object(error);
    if (/BucketAlready/.test(name)) return;
    // Not all errors of the network have a message.
    const reason = message || (code ?? name);
    const advice = endpoint ? ": start it, or correct AWS_ENDPOINT_URL_S3" : "";
    throw new Error(`There is no working S3 at ${service.url} (${reason})${advice}.`, { cause: error });
  });
  client.destroy();
  return service;
};
