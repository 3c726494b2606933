import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import type { LocalService } from "./dynoxide.ts";
import { isLocalRequest, listen } from "./listen.ts";
import { objectKey, openObjects } from "./object-files.ts";
import { S3Error, type S3Request, signatureCheck, type Texts, uploadIn } from "./s3-request.ts";

type Options = {
  /** Where files are stored. Without it, in a temporary folder. */
  readonly folder?: string | undefined;
  readonly port?: number;
  /** Origins whose pages may send files, like the stage's setting of that name. */
  readonly uploadOrigins?: () => readonly string[];
};

type Objects = Awaited<ReturnType<typeof openObjects>>;
type Reply = { readonly status: number; readonly headers?: object; readonly body?: string | Readable };

const xml = (content: string) => `<?xml version="1.0" encoding="UTF-8"?>\n${content}`;

const errorReply = (error: unknown): Reply => {
  const cause = error instanceof Error && "code" in error ? error.code : String(error);
  const unavailable = { status: 503, code: "ServiceUnavailable", message: `Files cannot be stored or read: ${cause}` };
  const { status, code, message } = error instanceof S3Error ? error : unavailable;
  return { status, body: xml(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`) };
};

/** The parameters, and headers of AWS, that this implements. Others are refused, rather than ignored. */
const supported =
  /^(x-id|list-type|prefix|start-after|continuation-token|max-keys|encoding-type|x-amz-(algorithm|credential|date|expires|signedheaders|signature|security-token|content-sha256|user-agent|trailer|decoded-content-length|sdk-checksum-algorithm|checksum-(mode|crc32|sha256)))$/i;

const notImplemented = () => new S3Error(501, "NotImplemented", "The embedded S3 does not implement this request.");

const readRequest = ({ method = "", url = "", headers }: IncomingMessage): S3Request => {
  const [path = "", search = ""] = url.split("?");
  const query = Object.fromEntries(new URLSearchParams(search));
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}`]));
  return { method, path, query, headers: texts };
};

const list = (objects: Objects, bucket: string, query: Texts): Reply => {
  const {
    prefix = "",
    "start-after": start = "",
    "continuation-token": after = start,
    "max-keys": max = "1000",
  } = query;
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
  return { status: 200, body: xml(`<ListBucketResult>${summary}${contents.join("")}</ListBucketResult>`) };
};

/** The first and the last byte of a `Range`. Undefined for the whole object. */
const rangeIn = (header: string | undefined, bytes: number) => {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const from = first === "" ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = first === "" || last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (from > to) throw new S3Error(416, "InvalidRange", "The requested range is not satisfiable");
  return { from, to };
};

const read = (objects: Objects, bucket: string, key: string, { method, headers }: S3Request): Reply => {
  if (!objects.has(bucket, key)) throw new S3Error(404, "NoSuchKey", "The specified key does not exist.");
  const { bytes, content_type, etag, checksums, stored_at } = objects.properties(bucket, key);
  const range = rangeIn(headers.range, bytes);
  const { from, to } = range ?? { from: 0, to: bytes - 1 };
  const { "x-amz-checksum-mode": mode } = headers;
  return {
    status: range ? 206 : 200,
    headers: {
      "Content-Type": content_type,
      "Content-Length": to - from + 1,
      "Last-Modified": new Date(stored_at).toUTCString(),
      ETag: etag,
      "Accept-Ranges": "bytes",
      ...(range ? { "Content-Range": `bytes ${from}-${to}/${bytes}` } : mode && checksums),
    },
    ...(method === "GET" && to >= from && { body: objects.read(bucket, key, from, to) }),
  };
};

/** Paths are compared as they are sent. A valid one needs no percent-encoding, and cannot leave the folder. */
const pathPattern = /^\/([a-z\d][a-z\d-]{2,62})(?:\/|\/([\w/-]{1,200}))?$/;

const respond = async (objects: Objects, incoming: IncomingMessage, check: ReturnType<typeof signatureCheck>) => {
  const request = readRequest(incoming);
  const { method, query, headers } = request;
  const [, bucket = "", key] = pathPattern.exec(request.path) ?? [];
  if (bucket === "" || (key !== undefined && !objectKey.test(key)))
    throw new S3Error(400, "InvalidURI", "This S3 has only keys such as attachments/2026/11/21/order/a/b.");
  await check(request);
  const names = [...Object.keys(query), ...Object.keys(headers).filter((name) => name.startsWith("x-amz-"))];
  if (!names.every((name) => supported.test(name))) throw notImplemented();
  if (method === "PUT" && key === undefined) {
    objects.create(bucket);
    return { status: 200, headers: { Location: `/${bucket}` } };
  }
  if (!objects.has(bucket)) throw new S3Error(404, "NoSuchBucket", "The specified bucket does not exist");
  if (key === undefined) {
    if (method === "HEAD") return { status: 200 };
    if (method === "GET" && query["list-type"] === "2") return list(objects, bucket, query);
    throw notImplemented();
  }
  if (method === "GET" || method === "HEAD") return read(objects, bucket, key, request);
  if (method === "DELETE") {
    objects.remove(bucket, key);
    return { status: 204 };
  }
  const { "if-none-match": condition = "*" } = headers;
  if (method !== "PUT" || condition !== "*" || "if-match" in headers || "content-md5" in headers)
    throw notImplemented();
  const { etag, checksums } = await objects.write(bucket, key, uploadIn(incoming, request));
  return { status: 200, headers: { ETag: etag, ...checksums } };
};

/** The CORS headers of a bucket on AWS with `uploadOrigins`. */
const corsHeaders = {
  "Access-Control-Allow-Methods": "PUT",
  "Access-Control-Max-Age": "3600",
  "Access-Control-Allow-Headers": "content-type, if-none-match, x-amz-checksum-sha256",
};

const startStore = async ({ folder, port, uploadOrigins = () => [] }: Options): Promise<LocalService> => {
  const temporary = folder ?? mkdtempSync(join(tmpdir(), "patchbay-files-"));
  const removeTemporary = () => folder === undefined && rmSync(temporary, { recursive: true, force: true });
  process.once("exit", removeTemporary);
  const objects = await openObjects(temporary, folder !== undefined);
  const check = signatureCheck();
  const server = createServer(async (incoming, outgoing) => {
    const { origin } = incoming.headers;
    const allowed = origin !== undefined && uploadOrigins().includes(origin);
    const cors = allowed ? { "Access-Control-Allow-Origin": origin, Vary: "Origin" } : {};
    const answer = async (): Promise<Reply> => {
      if (!isLocalRequest(incoming, uploadOrigins()))
        throw new S3Error(403, "AccessDenied", "Web pages and other host names are refused.");
      if (allowed && incoming.method === "OPTIONS") return { status: 204, headers: corsHeaders };
      return respond(objects, incoming, check);
    };
    const { status, headers, body } = await answer().catch((error: unknown) => {
      // Reads what is left, so that the client gets the response.
      incoming.resume();
      return errorReply(error);
    });
    outgoing.writeHead(status, { ...cors, "Content-Type": "application/xml", ...headers });
    if (body instanceof Readable) pipeline(body, outgoing, () => {});
    else outgoing.end(body);
  });
  const { url, close } = await listen(server, port);
  const stop = async () => {
    await close();
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
