import { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { env } from "../env.ts";
import { unavailableAs503 } from "../errors.ts";
import { limits } from "../limits.ts";
import { limitAttempt, limitCall } from "../table/deadline.ts";
import { filePrefix } from "../table/keys.ts";
import type { UploadedFile, UploadFile } from "./schema.ts";

let client: S3Client | undefined;

/** The client of this process, made on first use. The SDK itself reads AWS_ENDPOINT_URL_S3. */
const s3 = (): S3Client => {
  client ??= create();
  return client;
};

const create = () => {
  const plain = new S3Client({
    // An emulator has no subdomain for each bucket.
    forcePathStyle: env.hasS3Endpoint(),
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
  });
  plain.middlewareStack.add(limitCall, { step: "initialize", name: "limitCall" });
  plain.middlewareStack.add(limitAttempt, { step: "finalizeRequest", name: "limitAttempt", priority: "low" });
  return plain;
};

const base64 = (sha256: string) => Buffer.from(sha256, "hex").toString("base64");

const hasHeaders = (request: unknown): request is { headers: Record<string, string> } =>
  typeof request === "object" && request !== null && "headers" in request;

/** Stores a file; S3 itself refuses it if it arrives with another SHA-256. 503 where storage is away (so do all below). */
export const putFile = async (key: string, { content, contentType, sha256 }: UploadedFile): Promise<void> => {
  const command = new PutObjectCommand({
    Bucket: env.bucketName(),
    Key: key,
    Body: content,
    ContentLength: content.length,
    ContentType: contentType,
    ChecksumSHA256: base64(sha256),
  });
  // The signature covers the same hash: with the header there, the SDK does not make it a second time.
  command.middlewareStack.add(
    (next) => (args) => {
      if (hasHeaders(args.request)) args.request.headers["x-amz-content-sha256"] = sha256;
      return next(args);
    },
    { step: "build", name: "knownContentHash" },
  );
  await s3().send(command).catch(unavailableAs503);
};

/**
 * A request that stores a file without passing through us. Length, media type and SHA-256 are headers that the
 * signature covers: S3 refuses any other file. https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
export const signedPut = async (key: string, { content_type, bytes, sha256 }: UploadFile, signedAt: Date) => {
  const checksum = "x-amz-checksum-sha256";
  const headers = { "Content-Length": String(bytes), "Content-Type": content_type, [checksum]: base64(sha256) };
  const command = new PutObjectCommand({
    Bucket: env.bucketName(),
    Key: key,
    ContentLength: bytes,
    ContentType: content_type,
    ChecksumSHA256: headers[checksum],
  });
  const url = await getSignedUrl(s3(), command, {
    expiresIn: limits.uploadSeconds,
    signingDate: signedAt,
    // Neither would be a signed header by default: the presigner leaves this one out, and moves that one to the query.
    signableHeaders: new Set(["host", "content-length", "content-type", checksum]),
    unhoistableHeaders: new Set([checksum]),
  });
  return { method: "PUT", url, headers } as const;
};

/** As much of a file as is read at each of its ends. A PDF of 6,000 objects has its trailer and what comes before it there. */
const endBytes = 131_072;

/** A file's length and media type, its first bytes and its last; undefined where there is none. */
export const readFileEnds = async (key: string) => {
  const [first, last] = await Promise.all([readRange(key, `0-${endBytes - 1}`), readRange(key, `-${endBytes}`)]);
  if (!first || !last) return undefined;
  // S3 reads as much as there is; fauxqs refuses more than there is, and the first bytes are then all of it.
  return { ...first, first: first.content, last: last.content.length > 0 ? last.content : first.content };
};

/** The part of a file in one range of bytes, and what S3 says of the whole. */
const readRange = async (key: string, range: string) => {
  const command = new GetObjectCommand({ Bucket: env.bucketName(), Key: key, Range: `bytes=${range}` });
  let content: Uint8Array = new Uint8Array();
  // Within the call, so that its time limit and its retries hold for the bytes as well.
  command.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next(args);
      content = (await answer.output?.Body?.transformToByteArray()) ?? content;
      return answer;
    },
    { step: "deserialize", name: "readBytes", priority: "high" },
  );
  const found = await s3()
    .send(command)
    .catch((error: unknown) => {
      if (error instanceof NoSuchKey) return undefined;
      // An empty file has no range.
      return isInvalidRange(error) ? { ContentRange: "bytes */0", ContentType: undefined } : unavailableAs503(error);
    });
  return found && { bytes: Number(found.ContentRange?.split("/")[1]), content_type: found.ContentType, content };
};

const isInvalidRange = (error: unknown) => error instanceof Error && error.name === "InvalidRange";

/** Removes a file; one that is not there is removed already. */
export const removeFile = async (key: string): Promise<void> => {
  await s3()
    .send(new DeleteObjectCommand({ Bucket: env.bucketName(), Key: key }))
    .catch(unavailableAs503);
};

/** A file's bytes as they come, held nowhere as a whole; undefined where it is gone. Breaking off the loop closes it. */
export const openFile = async (key: string): Promise<AsyncIterable<Uint8Array> | undefined> => {
  const answer = await s3()
    .send(new GetObjectCommand({ Bucket: env.bucketName(), Key: key }))
    .catch((error: unknown) => (error instanceof NoSuchKey ? undefined : unavailableAs503(error)));
  if (!answer) return undefined;
  if (!(answer.Body instanceof Readable)) throw new Error("S3 answered without a stream.");
  return answer.Body;
};

export type StoredFile = { readonly key: string; readonly storedAt: Date };

/** Up to `limit` files whose keys begin so, by key, beyond the key `after`; and whether there are more. */
export const listFiles = async (
  prefix: string,
  after?: string,
  limit = 1_000,
): Promise<{ readonly files: readonly StoredFile[]; readonly more: boolean }> => {
  const { Contents = [], IsTruncated = false } = await s3()
    .send(new ListObjectsV2Command({ Bucket: env.bucketName(), Prefix: prefix, StartAfter: after, MaxKeys: limit }))
    .catch(unavailableAs503);
  const files = Contents.flatMap(({ Key, LastModified }) =>
    Key && LastModified ? [{ key: Key, storedAt: LastModified }] : [],
  );
  return { files, more: IsTruncated };
};

/** Every file: for operators. */
export async function* allFiles(): AsyncGenerator<StoredFile> {
  let after: string | undefined;
  for (let more = true; more; ) {
    const page = await listFiles(filePrefix, after);
    yield* page.files;
    after = page.files.at(-1)?.key;
    more = page.more && after !== undefined;
  }
}
