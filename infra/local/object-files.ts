import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { open, writeFile } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import * as z from "zod/mini";
import { parseJson, readJson } from "./json-file.ts";
import { objectKey, s3Error } from "./s3-request.ts";

/** An object is one file: its properties as JSON in 1,024 bytes, then its content. They are written at once, so they cannot part. */
const headBytes = 1_024;
export const fileOf = (bucket: string, key: string) => join(bucket, key.replaceAll("/", "."));

export const keysIn = (bucket: string) => {
  const names = fs.readdirSync(bucket).map((name) => name.replaceAll(".", "/"));
  return names.filter((key) => objectKey.test(key)).sort();
};

const Properties = z.object({
  bytes: z.number(),
  content_type: z.string(),
  etag: z.string(),
  checksums: z.record(z.string(), z.string()),
  stored_at: z.string(),
  /** The result of the malware scan, and from when on a tag has it. */
  scan: z.optional(z.object({ result: z.string(), at: z.string() })),
});

const unknownType = "application/octet-stream";

/** The properties of an object. `bytes` are those that are there, `declared` those that were stored. */
export const propertiesOf = (file: string) => {
  if (!fs.existsSync(file)) throw s3Error(404, "NoSuchKey", "The specified key does not exist.");
  const [descriptor, head] = [fs.openSync(file, "r"), Buffer.alloc(headBytes)];
  fs.readSync(descriptor, head);
  const { size, mtime } = fs.fstatSync(descriptor);
  fs.closeSync(descriptor);
  const damaged = { bytes: -1, content_type: unknownType, etag: '"damaged"', checksums: {}, scan: undefined };
  const stored = parseJson(Properties, head.toString("latin1")) ?? { ...damaged, stored_at: mtime.toISOString() };
  return { ...stored, declared: stored.bytes, bytes: Math.max(0, size - headBytes) };
};

/** Opens an object at once, so that what is read does not change when another is stored in its place. */
export const readObject = (file: string, from: number, to: number) =>
  fs.createReadStream("", { fd: fs.openSync(file, "r"), start: headBytes + from, end: headBytes + to });

/** Stores an object. If it is `durable`, it survives a power failure once it is confirmed. If it is `isNew`, it must not exist. */
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
    // Synchronous, so that no other PUT comes between the two.
    if (isNew && fs.existsSync(file)) throw s3Error(412, "PreconditionFailed", "The object exists.");
    fs.renameSync(part, file);
  } catch (error) {
    fs.rmSync(part, { force: true });
    throw error;
  }
  // Windows cannot open a folder.
  if (!durable || process.platform === "win32") return;
  const folder = await open(dirname(file));
  await folder.sync().finally(() => folder.close());
};

/** An object's properties in version 1.0.0, which stored `<key>.data` beside `<key>.meta.json`. */
const Metadata = z.object({
  contentType: z.string(),
  contentLength: z.number(),
  etag: z.string(),
  lastModified: z.string(),
});

/** Moves the objects of version 1.0.0. Each is removed once it is stored here, so the next start continues a broken one. */
const convert = async (old: string, root: string) => {
  for (const name of fs.readdirSync(old, { recursive: true, encoding: "utf8" })) {
    const [, bucket = "", key = ""] = /^([^/]+)\/objects\/(.*)\.data$/.exec(name.replaceAll(sep, "/")) ?? [];
    if (!objectKey.test(key)) continue;
    const data = join(old, name);
    const metadata = data.replace(/data$/, "meta.json");
    const content = fs.readFileSync(data);
    const { contentType, contentLength, etag, lastModified } = readJson(Metadata, metadata) ?? {
      contentType: unknownType,
      contentLength: content.length,
      etag: '"converted"',
      lastModified: fs.statSync(data).mtime.toISOString(),
    };
    const stored = { bytes: contentLength, content_type: contentType, etag, stored_at: lastModified, checksums: {} };
    fs.mkdirSync(join(root, bucket), { recursive: true });
    await writeObject(fileOf(join(root, bucket), key), stored, content, { durable: true, isNew: false });
    for (const file of [data, metadata]) fs.rmSync(file, { force: true });
  }
  const left = fs.readdirSync(old, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".data"));
  if (left.length === 0) fs.rmSync(old, { recursive: true });
  else console.error(`${left.length} files in ${old} are not those of attachments. They stay there.`);
};

/** Converts a folder, and removes what was being written. Prints each object that has lost bytes. Returns the buckets' folder. */
export const openObjects = async (folder: string): Promise<string> => {
  const [root, old] = [join(folder, "objects"), join(folder, "buckets")];
  fs.mkdirSync(root, { recursive: true });
  if (fs.existsSync(old)) await convert(old, root);
  for (const bucket of fs.readdirSync(root).map((name) => join(root, name))) {
    for (const name of fs.readdirSync(bucket)) if (name.endsWith(".part")) fs.rmSync(join(bucket, name));
    for (const key of keysIn(bucket)) {
      const { declared, bytes } = propertiesOf(fileOf(bucket, key));
      if (bytes !== declared)
        console.error(`${key} is damaged: it has ${bytes} of ${declared} bytes. \`admin check\` reports it, too.`);
    }
  }
  return root;
};
