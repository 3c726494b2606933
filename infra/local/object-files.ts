import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { open } from "node:fs/promises";
import { join, sep } from "node:path";
import * as z from "zod/mini";
import { readJson } from "./json-file.ts";
import { S3Error } from "./s3-request.ts";

/**
 * The objects of the embedded S3. Each is one file: its properties as JSON in 1,024 bytes, then its content. It is written beside
 * the stored one and renamed, so the two cannot part. Its name is the key with dots for slashes.
 */
const headBytes = 1_024;
export const objectKey = /^attachments(?:\/[\w-]+)+$/;

const Properties = z.object({
  bytes: z.number(),
  content_type: z.string(),
  etag: z.string(),
  checksums: z.record(z.string(), z.string()),
  stored_at: z.string(),
  /** The result of the malware scan, and from when on a tag has it. */
  scan: z.optional(z.object({ result: z.string(), at: z.string() })),
});
type Properties = z.infer<typeof Properties>;

const propertiesIn = (head: Buffer): Properties | undefined => {
  try {
    return z.safeParse(Properties, JSON.parse(head.toString("latin1"))).data;
  } catch {
    return undefined;
  }
};

export type Upload = {
  readonly content: AsyncIterable<Uint8Array>;
  readonly verify: () => Properties;
  readonly isNew?: boolean;
};

/** With `durable`, an object that was confirmed survives a power failure. */
export const objectsIn = (folder: string, durable: boolean) => {
  const fileOf = (bucket: string, key = "") => join(folder, bucket, key.replaceAll("/", "."));
  const keysIn = (bucket: string) => {
    const names = fs.readdirSync(fileOf(bucket)).map((name) => name.replaceAll(".", "/"));
    return names.filter((key) => objectKey.test(key)).sort();
  };
  return {
    keysIn,
    has: (bucket: string, key?: string) => fs.existsSync(fileOf(bucket, key)),
    create: (bucket: string) => fs.mkdirSync(fileOf(bucket), { recursive: true }),
    remove: (bucket: string, key: string) => fs.rmSync(fileOf(bucket, key), { force: true }),
    /** The properties of an object. `bytes` are those that are there, `declared` those that were stored. */
    properties: (bucket: string, key: string) => {
      const [descriptor, head] = [fs.openSync(fileOf(bucket, key), "r"), Buffer.alloc(headBytes)];
      fs.readSync(descriptor, head);
      const { size, mtime } = fs.fstatSync(descriptor);
      fs.closeSync(descriptor);
      const damaged = { bytes: -1, content_type: "application/octet-stream", etag: '"damaged"', checksums: {} };
      const stored: Properties = propertiesIn(head) ?? { ...damaged, stored_at: mtime.toISOString() };
      return { ...stored, declared: stored.bytes, bytes: Math.max(0, size - headBytes) };
    },
    /** Opens an object at once, so that what is read does not change when another is stored in its place. */
    read: (bucket: string, key: string, from: number, to: number) => {
      const descriptor = fs.openSync(fileOf(bucket, key), "r");
      return fs.createReadStream("", { fd: descriptor, start: headBytes + from, end: headBytes + to });
    },
    /** Stores an object. `verify` returns its properties once the content is written. With `isNew`, it must not exist. */
    write: async (bucket: string, key: string, { content, verify, isNew = false }: Upload) => {
      const [file, part] = [fileOf(bucket, key), join(folder, bucket, `${randomUUID()}.part`)];
      let properties: Properties;
      try {
        const handle = await open(part, "wx", 0o600);
        try {
          await handle.write(Buffer.alloc(headBytes));
          await handle.writeFile(content);
          properties = verify();
          await handle.write(Buffer.from(JSON.stringify(properties).padEnd(headBytes), "latin1"), 0, headBytes, 0);
          if (durable) await handle.sync();
        } finally {
          await handle.close();
        }
        // Synchronous, so that no other PUT comes between the two.
        if (isNew && fs.existsSync(file)) throw new S3Error(412, "PreconditionFailed", "The object exists.");
        fs.renameSync(part, file);
      } catch (error) {
        fs.rmSync(part, { force: true });
        throw error;
      }
      // Windows cannot open a folder.
      if (!durable || process.platform === "win32") return properties;
      const handle = await open(join(folder, bucket));
      await handle.sync().finally(() => handle.close());
      return properties;
    },
  };
};

/** An object's properties in version 1.0.0, which stored `<key>.data` beside `<key>.meta.json`. */
const Metadata = z.object({
  contentType: z.string(),
  contentLength: z.number(),
  etag: z.string(),
  lastModified: z.string(),
});

/** Moves the objects of version 1.0.0. Each is removed once it is stored here, so the next start continues a broken one. */
const convert = async (old: string, objects: ReturnType<typeof objectsIn>) => {
  for (const bucket of fs.readdirSync(old)) {
    objects.create(bucket);
    for (const name of fs.readdirSync(join(old, bucket), { recursive: true, encoding: "utf8" })) {
      const [data, key] = [join(old, bucket, name), name.replaceAll(sep, "/").replace(/^objects\/(.*)\.data$/, "$1")];
      if (!objectKey.test(key)) continue;
      const metadata = data.replace(/data$/, "meta.json");
      const { size, mtime } = fs.statSync(data);
      const stored = readJson(Metadata, metadata);
      const content = fs.createReadStream(data);
      const verify = () => ({
        bytes: stored?.contentLength ?? size,
        content_type: stored?.contentType ?? "application/octet-stream",
        etag: stored?.etag ?? '"converted"',
        checksums: {},
        stored_at: stored?.lastModified ?? mtime.toISOString(),
      });
      await objects.write(bucket, key, { content, verify });
      for (const file of [data, metadata]) fs.rmSync(file, { force: true });
    }
  }
  const left = fs.readdirSync(old, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".data"));
  if (left.length === 0) fs.rmSync(old, { recursive: true });
  else console.error(`${left.length} files in ${old} are not those of attachments. They stay there.`);
};

/** Opens a folder: converts it, removes what was being written, and prints a line for each object that has lost bytes. */
export const openObjects = async (folder: string, durable: boolean) => {
  const [root, old] = [join(folder, "objects"), join(folder, "buckets")];
  fs.mkdirSync(root, { recursive: true });
  const objects = objectsIn(root, durable);
  if (fs.existsSync(old)) await convert(old, objects);
  for (const bucket of fs.readdirSync(root)) {
    for (const name of fs.readdirSync(join(root, bucket)))
      if (name.endsWith(".part")) fs.rmSync(join(root, bucket, name));
    for (const key of objects.keysIn(bucket)) {
      const { declared, bytes } = objects.properties(bucket, key);
      if (bytes !== declared)
        console.error(`${key} is damaged: it has ${bytes} of ${declared} bytes. \`admin check\` reports it, too.`);
    }
  }
  return objects;
};
