import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod/mini";
import { parseJson } from "./json-file.ts";
import { objectKey, s3Error } from "./s3-request.ts";

/**
 * An object is one file. It has the object's properties as JSON in 1,024 bytes, then its content. One write stores both, so they
 * cannot part.
 */
const headBytes = 1_024;
export const objectFile = (bucket: string, key: string) => join(bucket, key.replaceAll("/", "."));

/** Foreign files, such as .DS_Store, are ignored, because their names match neither objects nor parts of objects. */
const namesIn = (bucket: string) =>
  fs.readdirSync(bucket, { withFileTypes: true }).flatMap((each) => (each.isFile() ? [each.name] : []));
const partName = /^[\da-f-]{36}\.part$/;

/** The sorted keys of each bucket, and when its folder had changed. A change within the clock's resolution needs `forgetKeys`. */
const listed = new Map<string, { readonly changedAt: bigint; readonly keys: readonly string[] }>();
const forgetKeys = (file: string) => listed.delete(dirname(file));

/** Reads the folder only if it has changed since, so that the pages of a long list do not each read all of it. */
export const keysIn = (bucket: string): readonly string[] => {
  const { mtimeNs: changedAt } = fs.statSync(bucket, { bigint: true });
  const known = listed.get(bucket);
  if (known?.changedAt === changedAt) return known.keys;
  const names = namesIn(bucket).map((name) => name.replaceAll(".", "/"));
  const keys = names.filter((key) => objectKey.test(key)).sort();
  listed.set(bucket, { changedAt, keys });
  return keys;
};

const Properties = z.object({
  bytes: z.number(),
  content_type: z.string(),
  content_encoding: z.optional(z.string()),
  etag: z.string(),
  checksums: z.record(z.string(), z.string()),
  stored_at: z.string(),
  /** The result of the malware scan, and the time from which a tag shows it. */
  scan: z.optional(z.object({ result: z.string(), at: z.string() })),
});

/** Returns the properties of an object. `bytes` is the actual size of its content, `declared` the stored one. */
export const propertiesOf = (file: string) => {
  if (!fs.existsSync(file)) throw s3Error(404, "NoSuchKey", "The specified key does not exist.");
  const [descriptor, head] = [fs.openSync(file, "r"), Buffer.alloc(headBytes)];
  fs.readSync(descriptor, head);
  const { size, mtime } = fs.fstatSync(descriptor);
  fs.closeSync(descriptor);
  const damaged = {
    bytes: -1,
    content_type: "application/octet-stream",
    content_encoding: undefined,
    etag: '"damaged"',
    checksums: {},
    scan: undefined,
  };
  const stored = parseJson(Properties, head.toString("latin1")) ?? { ...damaged, stored_at: mtime.toISOString() };
  return { ...stored, declared: stored.bytes, bytes: Math.max(0, size - headBytes) };
};

/** Opens an object immediately, so that the content does not change when another object replaces it. */
export const readObject = (file: string, from: number, to: number) =>
  fs.createReadStream("", { fd: fs.openSync(file, "r"), start: headBytes + from, end: headBytes + to });

/** Stores an object. With `durable`, it survives a power failure once it is confirmed. With `isNew`, it must not exist. */
export const writeObject = async (
  file: string,
  properties: z.infer<typeof Properties>,
  content: Buffer,
  { durable, isNew }: { readonly durable: boolean; readonly isNew: boolean },
) => {
  const head = Buffer.from(JSON.stringify(properties).padEnd(headBytes), "latin1");
  if (head.length > headBytes) throw s3Error(400, "MetadataTooLarge", "The Content-Type is too long.");
  const part = join(dirname(file), `${randomUUID()}.part`);
  try {
    await writeFile(part, [head, content], { mode: 0o600, flush: durable });
    // Check and rename are synchronous, so that no other PUT comes between them.
    if (isNew && fs.existsSync(file)) throw s3Error(412, "PreconditionFailed", "The object exists.");
    fs.renameSync(part, file);
    forgetKeys(file);
  } catch (error) {
    fs.rmSync(part, { force: true });
    throw error;
  }
  // Windows cannot open a folder.
  if (!durable || process.platform === "win32") return;
  const folder = await open(dirname(file));
  await folder.sync().finally(() => folder.close());
};

export const removeObject = (file: string): void => {
  fs.rmSync(file, { force: true });
  forgetKeys(file);
};

/** Creates a bucket's folder, and removes unfinished writes. Prints each object that has lost bytes. */
export const openBucket = (bucket: string): void => {
  fs.mkdirSync(bucket, { recursive: true });
  for (const name of namesIn(bucket)) if (partName.test(name)) fs.rmSync(join(bucket, name));
  for (const key of keysIn(bucket)) {
    const { declared, bytes } = propertiesOf(objectFile(bucket, key));
    if (bytes !== declared)
      console.error(`${key} is damaged: it has ${bytes} of ${declared} bytes. \`patchbay check\` reports it, too.`);
  }
};
