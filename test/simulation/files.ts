import { Readable } from "node:stream";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from "@aws-sdk/client-s3";
import { fileOwner } from "../../shared/attachments/file-keys.ts";
import { keys } from "../../shared/table/keys.ts";
import { callService, decided } from "./service.ts";
import { itemAt } from "./table.ts";
import { after, between, outside, pick, say } from "./world.ts";

/** S3 behind the client's `send`, and the malware scan that tags its objects. */

type StoredObject = {
  readonly content: Buffer;
  readonly contentType: string | undefined;
  readonly storedAt: Date;
  scan: string | null;
  /** Whether a scan has found this content clean. A late attempt may store it again, which removes the tag. */
  wasClean: boolean;
};

let objects = new Map<string, StoredObject>();
let onRemoved: (key: string) => void = () => {};
let isScanned = false;

export type Objects = ReadonlyMap<string, StoredObject>;

/** Begins with these objects. Calls `onRemoved` when one is removed. */
export const beginFiles = (stored: Objects, options: { scan: boolean; onRemoved: typeof onRemoved }): void => {
  objects = new Map(Array.from(stored, ([key, object]) => [key, { ...object }]));
  isScanned = options.scan;
  onRemoved = options.onRemoved;
  for (const key of objects.keys()) scan(key);
};

/** Whether a file may be sent to a carrier. */
export const isClean = (key: string): boolean => !isScanned || hasBeenClean(objects.get(key));

const hasBeenClean = (object: StoredObject | undefined) => object?.scan === "NO_THREATS_FOUND" || !!object?.wasClean;

export const storedObjects = (): Objects => objects;

/** Brings back the earlier versions of files that were deleted since, whose metadata a restored table has again. */
export const restoreFiles = (earlier: Objects): void => {
  for (const [key, object] of earlier) {
    const owner = fileOwner(key);
    if (objects.has(key) || !owner || !itemAt(keys.attachment(owner.parent, owner.id))) continue;
    objects.set(key, { ...object });
    if (object.scan !== "NO_THREATS_FOUND") scan(key);
  }
};

/** Tags an object some time after it was stored, as GuardDuty does, or fails and tries again. */
const scan = (key: string, attempt = 1): void => {
  if (!isScanned) return;
  const words = `scan ${objects.size} ${attempt}`;
  after(
    between(words, 100, 120_000),
    () => {
      const object = objects.get(key);
      if (!object) return;
      object.wasClean = hasBeenClean(object);
      object.scan =
        attempt > 1 ? "NO_THREATS_FOUND" : pick(`${words} result`, ["NO_THREATS_FOUND", "NO_THREATS_FOUND", "FAILED"]);
      say(() => `the scan of ${key.split("/").at(-1)}: ${object.scan}`);
      if (object.scan === "FAILED") scan(key, attempt + 1);
    },
    outside,
  );
};

const put = (key: string, content: Buffer, contentType: string | undefined): void => {
  const before = objects.get(key);
  const wasClean = !!before?.content.equals(content) && hasBeenClean(before);
  objects.set(key, { content, contentType, storedAt: new Date(), scan: null, wasClean });
  scan(key);
};

/** Stores an object as a signed URL does, unless the object exists. Returns the status. */
export const putSigned = (url: string, content: Buffer, contentType: string): number => {
  const key = decodeURIComponent(new URL(url).pathname.split("/").slice(2).join("/"));
  if (objects.has(key)) return 412;
  put(key, content, contentType);
  return 200;
};

const named = (name: string, status: number) =>
  Object.assign(new Error(name), { name, $metadata: { httpStatusCode: status } });

const rangeOf = (object: StoredObject, range: string | undefined) => {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(range ?? "bytes=0-") ?? [];
  const { length } = object.content;
  const begin = from === "" ? Math.max(0, length - Number(to)) : Number(from);
  return object.content.subarray(begin, from === "" || to === "" ? length : Number(to) + 1);
};

const bodyOf = (content: Buffer) =>
  Object.assign(Readable.from([content]), { transformToByteArray: async () => new Uint8Array(content) });

const existing = (key: string | undefined) => {
  const object = objects.get(key ?? "");
  if (!object) throw named("NoSuchKey", 404);
  return object;
};

const list = ({ Prefix = "", StartAfter = "" }: ListObjectsV2Command["input"]) => ({
  Contents: [...objects]
    .filter(([key]) => key.startsWith(Prefix) && key > StartAfter)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([Key, { content, storedAt }]) => ({ Key, Size: content.length, LastModified: storedAt })),
});

const actOf = (command: object): object => {
  if (command instanceof PutObjectCommand) {
    const { Key = "", Body, ContentType } = command.input;
    if (!(Body instanceof Uint8Array)) throw new Error("The simulated S3 stores bytes only.");
    put(Key, Buffer.from(Body), ContentType);
    return {};
  }
  if (command instanceof DeleteObjectCommand) {
    const { Key = "" } = command.input;
    objects.delete(Key);
    onRemoved(Key);
    return {};
  }
  if (command instanceof GetObjectCommand) {
    const { Key, Range } = command.input;
    const object = existing(Key);
    const { length } = object.content;
    return {
      Body: bodyOf(rangeOf(object, Range)),
      ContentType: object.contentType,
      ContentRange: `bytes 0-${length}/${length}`,
    };
  }
  if (command instanceof HeadObjectCommand) return { ContentLength: existing(command.input.Key).content.length };
  if (command instanceof GetObjectTaggingCommand) {
    const { scan: Value } = existing(command.input.Key);
    return { TagSet: Value === null ? [] : [{ Key: "GuardDutyMalwareScanStatus", Value }] };
  }
  if (command instanceof ListObjectsV2Command) return list(command.input);
  throw new Error(`The simulated S3 does not know ${command.constructor.name}.`);
};

const service = {
  name: "files",
  clientName: "S3Client",
  timeoutMs: 5_000,
  throttled: () => named("SlowDown", 503),
  failed: () => named("InternalError", 500),
} as const;

export const sendToS3 = (command: object): Promise<object> =>
  callService(service, command, command.constructor.name.replace("Command", ""), () => decided(() => actOf(command)));
