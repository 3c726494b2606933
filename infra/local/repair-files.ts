import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import * as z from "zod/mini";
import { readJson, writeJson } from "./json-file.ts";

/**
 * fauxqs stores an object as `<key>.data` and `<key>.meta.json`, and does not start if a metadata file is truncated, as a power
 * failure can leave it. Such a file is rebuilt from the data file, or removed if there is none. A data file that does not have the
 * length in its metadata is damaged: nothing is changed then.
 */
const Metadata = z.looseObject({
  key: z.string(),
  contentLength: z.number(),
  etag: z.string(),
  lastModified: z.string(),
});
const Bucket = z.looseObject({ name: z.string(), creationDate: z.string() });

const repairBucket = (folder: string, name: string) => {
  const file = join(folder, ".bucket.json");
  if (readJson(Bucket, file)) return;
  writeJson(file, { name, creationDate: new Date().toISOString(), type: "general-purpose" });
};

/** The path is the key: our keys contain no character that fauxqs escapes. */
const metadataOf = (objects: string, data: string) => {
  const content = readFileSync(data);
  return {
    key: relative(objects, data).slice(0, -".data".length).replaceAll(sep, "/"),
    contentType: "application/octet-stream",
    contentLength: content.length,
    etag: `"${createHash("md5").update(content).digest("hex")}"`,
    lastModified: statSync(data).mtime.toISOString(),
    metadata: {},
  };
};

type Damaged = { readonly bucket: string; readonly key: string; readonly bytes: number };

const repairObjects = (bucket: string, objects: string): Damaged[] => {
  const damaged: Damaged[] = [];
  for (const name of readdirSync(objects, { recursive: true, encoding: "utf8" })) {
    const path = join(objects, name);
    const data = path.replace(/(\.meta\.json|\.data)$/, ".data");
    const metadata = data.replace(/\.data$/, ".meta.json");
    if (data === path && !data.endsWith(".data")) continue;
    if (!existsSync(data)) {
      rmSync(metadata, { force: true });
      continue;
    }
    const stored = readJson(Metadata, metadata);
    if (!stored) writeJson(metadata, metadataOf(objects, data));
    else if (path === data && stored.contentLength !== statSync(data).size)
      damaged.push({ bucket, key: stored.key, bytes: statSync(data).size });
  }
  return damaged;
};

/** Below a folder of fauxqs: objects that are being written. */
export const unfinishedFolder = "unfinished";

/** Makes a folder of fauxqs loadable again after a crash or a power failure. Returns the objects that are damaged. */
export const repairFiles = (folder: string): Damaged[] => {
  const buckets = join(folder, "buckets");
  // This service does not use multipart uploads.
  for (const part of ["_multipart", unfinishedFolder]) rmSync(join(folder, part), { recursive: true, force: true });
  if (!existsSync(buckets)) return [];
  return readdirSync(buckets).flatMap((bucket) => {
    repairBucket(join(buckets, bucket), bucket);
    const objects = join(buckets, bucket, "objects");
    return existsSync(objects) ? repairObjects(bucket, objects) : [];
  });
};
