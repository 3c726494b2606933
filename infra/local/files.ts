import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, type Readable } from "node:stream";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import type { LocalService } from "./dynoxide.ts";
import { isLocalRequest, listen } from "./listen.ts";
import { scanned } from "./malware-scan.ts";
import { objectKey, openObjects } from "./object-files.ts";
import { readRequest, requireImplemented, S3Error, type S3Request, signatureCheck, uploadIn } from "./s3-request.ts";

type Options = {
  /** Without a folder, files are stored in a temporary one. */
  readonly folder?: string | undefined;
  readonly port?: number;
  /** Origins whose pages may send files, like the stage's setting of that name. */
  readonly uploadOrigins?: () => readonly string[];
  /** How long after each upload the malware scan tags it. Without a number, it is never scanned. */
  readonly scanDelayMs?: () => number | undefined;
};

type Objects = Awaited<ReturnType<typeof openObjects>>;
type Reply = {
  readonly status: number;
  readonly headers?: object;
  readonly body?: string;
  readonly content?: Readable;
};

const xmlReply = (status: number, content: string): Reply => ({
  status,
  headers: { "Content-Type": "application/xml" },
  body: `<?xml version="1.0" encoding="UTF-8"?>\n${content}`,
});

/** Any other error means that the folder cannot be used. */
const errorReply = (error: unknown): Reply => {
  const cause = error instanceof Error && "code" in error ? error.code : error;
  const unavailable = new S3Error(503, "ServiceUnavailable", `Files cannot be stored or read: ${cause}`);
  const { status, code, message } = error instanceof S3Error ? error : unavailable;
  return xmlReply(status, `<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
};

const list = (objects: Objects, bucket: string, { query }: S3Request): Reply => {
  const { prefix = "", "start-after": start = "", "max-keys": max = "1000" } = query;
  const after = query["continuation-token"] ?? start;
  if (!/^\d{1,9}$/.test(max)) throw new S3Error(400, "InvalidArgument", "max-keys must be a whole number.");
  const keys = objects.keysIn(bucket).filter((key) => key > after && key.startsWith(prefix));
  const page = keys.slice(0, Math.min(Number(max), 1_000));
  const contents = page.map((key) => {
    const { bytes, etag, stored_at } = objects.properties(bucket, key);
    const properties = `<LastModified>${stored_at}</LastModified><ETag>${etag}</ETag><Size>${bytes}</Size>`;
    return `<Contents><Key>${key}</Key>${properties}</Contents>`;
  });
  const more = page.length > 0 && page.length < keys.length;
  const next = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
  const summary = `<KeyCount>${page.length}</KeyCount><IsTruncated>${more}</IsTruncated>${next}`;
  return xmlReply(200, `<ListBucketResult>${summary}${contents.join("")}</ListBucketResult>`);
};

/** Returns the first and the last byte of a `Range`, or undefined for the whole object. */
const rangeIn = (header: string | undefined, bytes: number) => {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const from = first === "" ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = first === "" || last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (from > to) throw new S3Error(416, "InvalidRange", "The requested range is not satisfiable");
  return { from, to };
};

const noSuchKey = () => new S3Error(404, "NoSuchKey", "The specified key does not exist.");

const read = (objects: Objects, bucket: string, key: string, { method, query, headers }: S3Request): Reply => {
  if (!objects.has(bucket, key)) throw noSuchKey();
  const { bytes, content_type, etag, checksums, stored_at } = objects.properties(bucket, key);
  const range = rangeIn(headers.range, bytes);
  const { from, to } = range ?? { from: 0, to: bytes - 1 };
  const { "x-amz-checksum-mode": mode } = { ...query, ...headers };
  const found = {
    "Content-Type": content_type,
    "Content-Length": to - from + 1,
    "Last-Modified": new Date(stored_at).toUTCString(),
    ETag: etag,
    ...(range ? { "Content-Range": `bytes ${from}-${to}/${bytes}` } : mode && checksums),
  };
  const hasContent = method === "GET" && to >= from;
  return {
    status: range ? 206 : 200,
    headers: found,
    ...(hasContent && { content: objects.read(bucket, key, from, to) }),
  };
};

const tagsOf = (objects: Objects, bucket: string, key: string): Reply => {
  if (!objects.has(bucket, key)) throw noSuchKey();
  const { scan } = objects.properties(bucket, key);
  const isTagged = scan && scan.at <= new Date().toISOString();
  const tag = isTagged ? `<Tag><Key>GuardDutyMalwareScanStatus</Key><Value>${scan.result}</Value></Tag>` : "";
  return xmlReply(200, `<Tagging><TagSet>${tag}</TagSet></Tagging>`);
};

/** A path that is valid needs no percent-encoding, so it is compared as it was sent, and cannot leave the folder. */
const pathPattern = /^\/([a-z\d][a-z\d-]{2,62})(?:\/?|\/([\w/-]{1,200}))$/;

type Store = { readonly objects: Objects; readonly check: ReturnType<typeof signatureCheck> };

const respond = async ({ objects, check }: Store, incoming: IncomingMessage, scanDelayMs?: number) => {
  const request = readRequest(incoming);
  const { method, path, query } = request;
  const [, bucket = "", key] = pathPattern.exec(path) ?? [];
  if (bucket === "" || (key !== undefined && !objectKey.test(key)))
    throw new S3Error(400, "InvalidURI", "The embedded S3 has only keys such as attachments/2026/11/21/order/a/b.");
  await check(request);
  requireImplemented(request, key);
  if (key === undefined && method === "PUT") objects.create(bucket);
  if (!objects.has(bucket)) throw new S3Error(404, "NoSuchBucket", "The specified bucket does not exist");
  if (key === undefined)
    return method === "GET" && "list-type" in query ? list(objects, bucket, request) : { status: 200 };
  if ("tagging" in query) return tagsOf(objects, bucket, key);
  if (method === "GET" || method === "HEAD") return read(objects, bucket, key, request);
  if (method === "PUT") {
    const upload = uploadIn(incoming, request);
    const stored = scanDelayMs === undefined ? upload : scanned(upload, scanDelayMs);
    const { etag, checksums } = await objects.write(bucket, key, stored);
    return { status: 200, headers: { ETag: etag, ...checksums } };
  }
  objects.remove(bucket, key);
  return { status: 204 };
};

/** The CORS headers of a bucket on AWS with `uploadOrigins`. */
const corsHeaders = {
  "Access-Control-Allow-Methods": "PUT",
  "Access-Control-Max-Age": "3600",
  "Access-Control-Allow-Headers": "content-type, if-none-match, x-amz-checksum-sha256",
};

const startStore = async ({ folder, port, uploadOrigins = () => [], scanDelayMs }: Options): Promise<LocalService> => {
  const used = folder ?? mkdtempSync(join(tmpdir(), "patchbay-files-"));
  const removeTemporary = () => folder ?? rmSync(used, { recursive: true, force: true });
  process.once("exit", removeTemporary);
  const store = { objects: await openObjects(used, folder !== undefined), check: signatureCheck() };
  const replyTo = async (incoming: IncomingMessage): Promise<Reply> => {
    if (!isLocalRequest(incoming, uploadOrigins()))
      throw new S3Error(403, "AccessDenied", "Web pages and other host names are refused.");
    if (incoming.method === "OPTIONS") return { status: 204, headers: corsHeaders };
    return respond(store, incoming, scanDelayMs?.());
  };
  const server = createServer(async (incoming, outgoing) => {
    const { status, headers, body, content } = await replyTo(incoming).catch(errorReply);
    // Reads what an error has left, so that the client gets the response.
    incoming.resume();
    const { origin = "" } = incoming.headers;
    const cors = uploadOrigins().includes(origin) && { "Access-Control-Allow-Origin": origin, Vary: "Origin" };
    outgoing.writeHead(status, { ...cors, ...headers });
    if (content) pipeline(content, outgoing, () => {});
    else outgoing.end(body);
  });
  const { url, close } = await listen(server, port);
  const stop = async () => {
    await close();
    process.off("exit", removeTemporary);
    removeTemporary();
  };
  return { endpoint: url, stop };
};

/** Starts the embedded S3, or uses the one at AWS_ENDPOINT_URL_S3, and creates the bucket. */
export const startFiles = async (bucket: string, options: Options = {}): Promise<LocalService> => {
  const given = process.env.AWS_ENDPOINT_URL_S3;
  const service = given ? { endpoint: given, stop: async () => {} } : await startStore(options);
  const client = new S3Client({ endpoint: service.endpoint, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket })).catch((error: unknown) => {
    const name = error instanceof Error ? error.name : String(error);
    if (!/BucketAlready/.test(name))
      throw new Error(`There is no working S3 at ${service.endpoint}: ${name}.`, { cause: error });
  });
  client.destroy();
  return service;
};
