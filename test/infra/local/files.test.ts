import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startFiles } from "../../../infra/local/files.ts";

const Bucket = "files";
const Key = "attachments/2026/11/21/order/a/b";

let folder: string;
let running: Awaited<ReturnType<typeof startFiles>>;

/** Starts the embedded S3 on the folder, and returns the lines that it prints on stderr. */
const start = async () => {
  const lines = vi.spyOn(console, "error").mockReturnValue();
  running = await startFiles(Bucket, { folder });
  const printed = lines.mock.calls.flat();
  lines.mockRestore();
  return printed;
};

const restart = async () => {
  await running.stop();
  return start();
};

const client = () => new S3Client({ endpoint: running.endpoint, forcePathStyle: true });
const put = (Body: string | Readable) =>
  client().send(new PutObjectCommand({ Bucket, Key, Body, ContentLength: 10, ContentType: "text/plain" }));
const content = async () => {
  const { Body, ContentType } = await client().send(new GetObjectCommand({ Bucket, Key }));
  return [ContentType, await Body?.transformToString()];
};
const sizes = async () => {
  const { Contents = [] } = await client().send(new ListObjectsV2Command({ Bucket }));
  return Contents.map(({ Size }) => Size);
};
const file = (ending: "data" | "meta.json") => join(folder, "buckets", Bucket, "objects", `${Key}.${ending}`);

beforeEach(async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_S3", "");
  folder = mkdtempSync(join(tmpdir(), "patchbay-files-"));
  await start();
});
afterEach(async () => {
  await running.stop();
  vi.unstubAllEnvs();
});

describe("the embedded S3 with a folder", () => {
  it("has its files after a restart, also those that were sent in chunks", async () => {
    await put(Readable.from([Buffer.from("0123456789")]));
    expect([await restart(), await content()]).toEqual([[], ["text/plain", "0123456789"]]);
  });

  it("never writes into a file that is stored: it writes another, and renames it", async () => {
    await put("0123456789");
    const [data, metadata] = [statSync(file("data")).ino, statSync(file("meta.json")).ino];
    await put("abcdefghij");
    expect(await content()).toEqual(["text/plain", "abcdefghij"]);
    expect([statSync(file("data")).ino, statSync(file("meta.json")).ino]).not.toEqual([data, metadata]);
  });

  it("reports a file that does not have its declared size, and changes nothing", async () => {
    await put("0123456789");
    const metadata = readFileSync(file("meta.json"), "utf8");
    truncateSync(file("data"), 3);
    for (let starts = 0; starts < 2; starts += 1)
      expect(await restart()).toEqual([expect.stringContaining(`${Key} is damaged: it has 3 of 10 bytes.`)]);
    expect(await sizes()).toEqual([3]);
    expect([readFileSync(file("meta.json"), "utf8"), statSync(file("data")).size]).toEqual([metadata, 3]);
  });

  it("rebuilds metadata that are truncated", async () => {
    await put("0123456789");
    truncateSync(file("meta.json"), 10);
    expect([await restart(), await content()]).toEqual([[], ["application/octet-stream", "0123456789"]]);
  });

  it("has no file whose data were never written", async () => {
    await put("0123456789");
    rmSync(file("data"));
    expect([await restart(), await sizes()]).toEqual([[], []]);
  });
});
