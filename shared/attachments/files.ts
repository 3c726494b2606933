import { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { clientSettings, limitAttempt, limitCall } from "../deadline.ts";
import { env } from "../env.ts";
import { unavailableAs503 } from "../errors.ts";
import { limits } from "../limits.ts";
import type { UploadedFile, UploadFile } from "./attachment-schema.ts";
import { filePrefix } from "./file-keys.ts";

let client: S3Client | undefined;

/** Returns this process's client, which is created on first use. The SDK itself reads AWS_ENDPOINT_URL_S3. */
const s3 = (): S3Client => {
  client ??= createClient();
  return client;
};

const createClient = () => {
  // Emulators have no subdomain for each bucket.
  const plain = new S3Client({ ...clientSettings(5_000), forcePathStyle: env.hasS3Endpoint() });
  plain.middlewareStack.add(limitCall, { step: "initialize", name: "limitCall" });
  plain.middlewareStack.add(limitAttempt, { step: "finalizeRequest", name: "limitAttempt", priority: "low" });
  return plain;
};

const base64 = (sha256: string) => Buffer.from(sha256, "hex").toString("base64");

const hasHeaders = (request: unknown): request is { headers: Record<string, string> } => "headers" in Object(request);

/** For `catch`. Returns undefined if there is no such file. A response to HEAD has no body, so its error is only "NotFound". */
const undefinedIfMissing = (error: unknown): undefined =>
  error instanceof Error && /^(NoSuchKey|NotFound)$/.test(error.name) ? undefined : unavailableAs503(error);

/** Stores a file. S3 verifies its SHA-256. This and all functions below throw 503 if S3 is unavailable. */
export const putFile = async (key: string, { content, contentType, sha256 }: UploadedFile): Promise<void> => {
  const command = new PutObjectCommand({
    Bucket: env.bucketName(),
    Key: key,
    Body: content,
    ContentLength: content.length,
    ContentType: contentType,
    ChecksumSHA256: base64(sha256),
  });
  // The signature covers the same hash. If the header is present, the SDK does not compute the hash again.
  command.middlewareStack.add(
    (next) => (args) => {
      if (hasHeaders(args.request)) args.request.headers["x-amz-content-sha256"] = sha256;
      return next(args);
    },
    { step: "build" },
  );
  await s3().send(command).catch(unavailableAs503);
};

/**
 * Returns a request with which the caller sends a file directly to S3. The signature covers length, media type and SHA-256
 * as headers, so S3 rejects any other file, and `If-None-Match`, so S3 accepts it once. HTTP clients set the length themselves, and
 * Java's and browsers' refuse to be told.
 * Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
export const signedPut = async (key: string, { content_type, bytes, sha256 }: UploadFile, signedAt: Date) => {
  const checksum = "x-amz-checksum-sha256";
  const headers = {
    "Content-Type": content_type,
    "If-None-Match": "*",
    [checksum]: base64(sha256),
  };
  const command = new PutObjectCommand({
    Bucket: env.bucketName(),
    Key: key,
    ContentLength: bytes,
    ContentType: content_type,
    IfNoneMatch: headers["If-None-Match"],
    ChecksumSHA256: headers[checksum],
  });
  const url = await getSignedUrl(s3(), command, {
    expiresIn: limits.uploadSeconds,
    signingDate: signedAt,
    // By default, the presigner does not sign Content-Type, and it moves the checksum to the query.
    signableHeaders: new Set(["content-type"]),
    unhoistableHeaders: new Set([checksum]),
  });
  return { method: "PUT", url, headers } as const;
};

/** The number of bytes read at each end of a file. They contain the cross-reference and the trailer of a PDF with 6,000 objects. */
export const endBytes = 131_072;

/** Returns a file's length, media type, encoding, first bytes and last bytes, or undefined if there is no file. */
export const readFileEnds = async (key: string) => {
  const [first, last] = await Promise.all([readRange(key, `0-${endBytes - 1}`), readRange(key, `-${endBytes}`)]);
  if (!first || !last) return undefined;
  return { ...first, first: first.content, last: last.content };
};

const readRange = async (key: string, range: string) => {
  const command = new GetObjectCommand({ Bucket: env.bucketName(), Key: key, Range: `bytes=${range}` });
  let content: Uint8Array = new Uint8Array();
  // Reads the bytes within the call, so that its timeout and its retries cover them as well.
  command.middlewareStack.add(
    (next) => async (args) => {
      const response = await next(args);
      content = (await response.output?.Body?.transformToByteArray()) ?? content;
      return response;
    },
    { step: "deserialize", priority: "high" },
  );
  const found = await s3()
    .send(command)
    .catch((error: unknown) => {
      // No range of an empty file is valid.
      if (error instanceof Error && error.name === "InvalidRange")
        return { ContentRange: "bytes */0", ContentType: undefined, ContentEncoding: undefined };
      return undefinedIfMissing(error);
    });
  return (
    found && {
      bytes: Number(found.ContentRange?.split("/")[1]),
      content_type: found.ContentType,
      content_encoding: found.ContentEncoding,
      content,
    }
  );
};

/** Removes a file. Succeeds if there is none. */
export const removeFile = async (key: string): Promise<void> => {
  await s3()
    .send(new DeleteObjectCommand({ Bucket: env.bucketName(), Key: key }))
    .catch(unavailableAs503);
};

/** Returns a file's bytes as a stream, or undefined if there is no file. Leaving the loop early closes the stream. */
export const openFile = async (key: string): Promise<AsyncIterable<Uint8Array> | undefined> => {
  const response = await s3()
    .send(new GetObjectCommand({ Bucket: env.bucketName(), Key: key }))
    .catch(undefinedIfMissing);
  if (!response) return undefined;
  if (!(response.Body instanceof Readable)) throw new Error("The response of S3 has no stream.");
  return response.Body;
};

/**
 * Returns the result of GuardDuty's malware scan. Returns null before the scan, and undefined if there is no file.
 * Source: https://docs.aws.amazon.com/guardduty/latest/ug/monitor-enable-s3-object-tagging-malware-protection.html
 */
export const scanResultOf = async (key: string): Promise<string | null | undefined> => {
  const response = await s3()
    .send(new GetObjectTaggingCommand({ Bucket: env.bucketName(), Key: key }))
    .catch(undefinedIfMissing);
  return response && (response.TagSet?.find((tag) => tag.Key === "GuardDutyMalwareScanStatus")?.Value ?? null);
};

export type SignedFile = { readonly url: string; readonly bytes: number | undefined };

/** Returns the file's length and a URL with which anyone can read it for that many seconds, or undefined if there is no file. */
export const signedGet = async (key: string, seconds: number): Promise<SignedFile | undefined> => {
  const file = { Bucket: env.bucketName(), Key: key };
  const found = await s3().send(new HeadObjectCommand(file)).catch(undefinedIfMissing);
  if (!found) return undefined;
  const url = await getSignedUrl(s3(), new GetObjectCommand(file), { expiresIn: seconds });
  return { url, bytes: found.ContentLength };
};

export type StoredFile = { readonly key: string; readonly bytes: number; readonly storedAt: Date };

/**
 * Yields the files whose keys begin with `prefix`, in order, from the one after the key `after`. Without a prefix, it yields those
 * of all days, which only `patchbay check` reads to the end.
 */
export async function* allFiles(prefix = filePrefix, after?: string): AsyncGenerator<StoredFile> {
  do {
    const command = new ListObjectsV2Command({ Bucket: env.bucketName(), Prefix: prefix, StartAfter: after });
    const { Contents = [], IsTruncated } = await s3().send(command).catch(unavailableAs503);
    // S3 returns all three properties for each file. A file without a time counts as new, so the sweep keeps it.
    for (const { Key: key = "", Size: bytes = 0, LastModified: storedAt = new Date() } of Contents)
      yield { key, bytes, storedAt };
    after = IsTruncated ? Contents.at(-1)?.Key : undefined;
  } while (after !== undefined);
}
