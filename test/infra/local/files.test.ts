import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetBucketTaggingCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  PutObjectTaggingCommand,
  paginateListObjectsV2,
  S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eicar, startFiles } from "../../../infra/local/files.ts";
import { newFolder } from "../../support/fixtures/new-folder.ts";
import { sendPlain } from "../../support/requests/plain-request.ts";

const Bucket = "files";
const Key = "attachments/2026/11/21/order/a/b";

let folder: string;
let running: Awaited<ReturnType<typeof startFiles>>;
let scanDelayMs: number | undefined;
let refused: string[];

/** Starts the embedded S3 on the folder, and returns the lines that it prints on stderr. */
const start = async (port = 0) => {
  const lines = vi.spyOn(console, "error").mockReturnValue();
  const onRefusedOrigin = (origin: string) => refused.push(origin);
  running = await startFiles(Bucket, { folder, port, scanDelayMs: () => scanDelayMs, onRefusedOrigin });
  const printed = lines.mock.calls.flat();
  lines.mockRestore();
  return printed;
};

const restart = async () => {
  const port = Number(new URL(running.url).port);
  await running.close();
  return start(port);
};

/** Another S3 to compare with, such as moto. Run `npx vitest run test/infra/local/files.test.ts -t "the SDK"`. */
const { TEST_S3_ENDPOINT } = process.env;

const client = (endpoint = running.url, options: object = {}) =>
  new S3Client({ endpoint, forcePathStyle: true, maxAttempts: 1, ...options });
type Body = string | Buffer | Readable;
const put = (Body: Body, other: object = {}) =>
  client().send(new PutObjectCommand({ Bucket, Key, Body, ContentLength: 10, ContentType: "text/plain", ...other }));
const content = async () => {
  const { Body, ContentType } = await client().send(new GetObjectCommand({ Bucket, Key }));
  return [ContentType, await Body?.transformToString()];
};
const sizes = async () => {
  const { Contents = [] } = await client().send(new ListObjectsV2Command({ Bucket }));
  return Contents.map(({ Size }) => Size);
};
const file = (key = Key) => join(folder, "objects", Bucket, key.replaceAll("/", "."));
const nameOf = (error: unknown) => (error instanceof Error ? error.name : error);

beforeEach(async () => {
  vi.stubEnv("AWS_ENDPOINT_URL_S3", "");
  folder = newFolder();
  scanDelayMs = undefined;
  refused = [];
  await start();
});
afterEach(async () => {
  await running.close();
  vi.unstubAllEnvs();
});

describe("the SDK's calls", () => {
  /** Creates a bucket, at the other S3 if one is set. */
  const bucketFor = async () => {
    const s3 = client(TEST_S3_ENDPOINT);
    const own = `suite-${crypto.randomUUID()}`;
    await s3.send(new CreateBucketCommand({ Bucket: own }));
    const store = (Body: Body, other: object = {}) =>
      s3.send(new PutObjectCommand({ Bucket: own, Key, Body, ...other })).then(() => "stored", nameOf);
    const get = async (other: object = {}) => {
      const { Body, ...found } = await s3.send(new GetObjectCommand({ Bucket: own, Key, ...other }));
      const { $metadata, ContentLength, ContentRange, ContentType } = found;
      return [$metadata.httpStatusCode, await Body?.transformToString(), ContentLength, ContentRange, ContentType];
    };
    return { s3, own, store, get };
  };

  it("store what is sent as text or bytes, with a checksum, or empty, of every media type", async () => {
    const { store, get, s3, own } = await bucketFor();
    const sha256 = (of: string) => createHash("sha256").update(of).digest("base64");
    // moto parses the body of a form.
    const formType = TEST_S3_ENDPOINT ? "text/html" : "application/x-www-form-urlencoded";
    const results = [];
    for (const [body, other] of [
      ["0123456789", { ContentType: formType }],
      ["0123456789", { ContentType: "application/x-amz-json-1.0", ChecksumSHA256: sha256("0123456789") }],
      [Buffer.from("0123456789"), { ContentType: "text/xml" }],
      ["0123456789", { ChecksumAlgorithm: "SHA256", ContentType: "multipart/form-data" }],
      ["", { ContentType: "application/json" }],
    ] as const)
      results.push(await store(body, other), await get());
    const stored = (type: string, body = "0123456789") => ["stored", [200, body, body.length, undefined, type]];
    expect(results).toEqual([
      ...stored(formType),
      ...stored("application/x-amz-json-1.0"),
      ...stored("text/xml"),
      ...stored("multipart/form-data"),
      ...stored("application/json", ""),
    ]);
    await store("0123456789", { ChecksumSHA256: sha256("0123456789") });
    const head = await s3.send(new HeadObjectCommand({ Bucket: own, Key, ChecksumMode: "ENABLED" }));
    // moto does not return the checksum.
    const checksum = TEST_S3_ENDPOINT ? undefined : sha256("0123456789");
    expect([head.ContentLength, head.ChecksumSHA256, typeof head.ETag]).toEqual([10, checksum, "string"]);
  });

  it("store an object once with If-None-Match, also when they come together", async () => {
    const { store, get } = await bucketFor();
    const once = { IfNoneMatch: "*", ContentType: "text/plain" };
    const results = await Promise.all(["0", "1", "2"].map((body) => store(body, once)));
    if (!TEST_S3_ENDPOINT) expect(results.sort()).toEqual(["PreconditionFailed", "PreconditionFailed", "stored"]);
    expect(await store("3", once)).toBe("PreconditionFailed");
    expect(["0", "1", "2"]).toContain((await get())[1]);
  });

  it("read ranges", async () => {
    const { store, get } = await bucketFor();
    await store("0123456789", { ContentType: "text/plain" });
    const ranges = ["0-3", "8-", "8-99", "-3", "-99", "10-", "a"];
    const read = await Promise.all(ranges.map((range) => get({ Range: `bytes=${range}` }).catch(nameOf)));
    const part = (body: string, range: string) => [206, body, body.length, `bytes ${range}/10`, "text/plain"];
    expect(Object.fromEntries(ranges.map((range, n) => [range, read[n]]))).toEqual({
      "0-3": part("0123", "0-3"),
      "8-": part("89", "8-9"),
      "8-99": part("89", "8-9"),
      "-3": part("789", "7-9"),
      "-99": part("0123456789", "0-9"),
      "10-": "InvalidRange",
      a: [200, "0123456789", 10, undefined, "text/plain"],
    });
    await store("");
    // moto returns the empty file.
    if (!TEST_S3_ENDPOINT) expect(await get({ Range: "bytes=-5" }).catch(nameOf)).toBe("InvalidRange");
  });

  it("list in the order of the keys, from a key, below a prefix, page by page", async () => {
    const { s3, own, store } = await bucketFor();
    for (const end of ["c", "a/1", "a-1", "B", "a/2"]) await store(end, { Key: `attachments/${end}` });
    const list = async (other: object) => {
      const listed = await s3.send(new ListObjectsV2Command({ Bucket: own, ...other }));
      const found = listed.Contents?.map((each) => `${each.Key?.slice(12)} ${each.Size}`);
      return [found, listed.IsTruncated, listed.KeyCount];
    };
    const all = ["B 1", "a-1 3", "a/1 3", "a/2 3", "c 1"];
    expect(await list({})).toEqual([all, false, 5]);
    expect(await list({ Prefix: "attachments/a/" })).toEqual([all.slice(2, 4), false, 2]);
    expect(await list({ StartAfter: "attachments/a/1" })).toEqual([all.slice(3), false, 2]);
    expect(await list({ MaxKeys: 2 })).toEqual([all.slice(0, 2), true, 2]);
    const pages = await Array.fromAsync(paginateListObjectsV2({ client: s3, pageSize: 2 }, { Bucket: own }));
    expect(pages.map(({ Contents = [] }) => Contents.length)).toEqual([2, 2, 1]);
  });

  it("list what was stored or deleted a moment ago", async () => {
    const { s3, own, store } = await bucketFor();
    const count = async () => (await s3.send(new ListObjectsV2Command({ Bucket: own }))).KeyCount;
    await store("0", { Key: "attachments/first" });
    expect(await count()).toBe(1);
    await store("0");
    expect(await count()).toBe(2);
    await s3.send(new DeleteObjectCommand({ Bucket: own, Key }));
    expect(await count()).toBe(1);
  });

  it("delete, and name what does not exist", async () => {
    const { s3, own, store, get } = await bucketFor();
    await store("0");
    const remove = async () => (await s3.send(new DeleteObjectCommand({ Bucket: own, Key }))).$metadata.httpStatusCode;
    expect([await remove(), await remove()]).toEqual([204, 204]);
    const none = `none-${own}`;
    expect([
      await get().catch(nameOf),
      await s3.send(new HeadObjectCommand({ Bucket: own, Key })).catch(nameOf),
      await s3.send(new PutObjectCommand({ Bucket: none, Key, Body: "" })).catch(nameOf),
      await s3.send(new HeadBucketCommand({ Bucket: none })).catch(nameOf),
      (await s3.send(new HeadBucketCommand({ Bucket: own }))).$metadata.httpStatusCode,
    ]).toEqual(["NoSuchKey", "NotFound", "NoSuchBucket", "NotFound", 200]);
  });
});

describe("the embedded S3", () => {
  it.each([
    "../../app",
    "..%2F..%2Fapp",
    "%2E%2E/%2E%2E/app",
    "attachments/../../app",
    "attachments/%2E%2E/app",
    "attachments/a/.",
    "other/a",
    "attachments",
    "attachments//a",
    "attachments%2Fa",
    `attachments/${"a".repeat(240)}`,
  ])("refuses the key %s, and writes nothing", async (key) => {
    const before = readdirSync(folder, { recursive: true });
    const [path, headers] = [`/${Bucket}/${key}`, { authorization: "any" }];
    for (const method of ["PUT", "GET", "DELETE", "HEAD"])
      expect((await sendPlain(running.url, { method, path, headers }, "x")).status, method).toBe(400);
    expect([readdirSync(folder, { recursive: true }), existsSync(join(folder, "../app"))]).toEqual([before, false]);
  });

  it("names the origin of a page that it has refused, if the option for it would let the page send files", async () => {
    const page = "http://localhost:5173";
    for (const headers of [
      { origin: page },
      { origin: page, host: "evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ])
      expect((await sendPlain(running.url, { method: "OPTIONS", headers })).status).toBe(403);
    expect(refused).toEqual([page]);
  });

  it("refuses requests that others have signed or changed", async () => {
    await put("0123456789");
    const unsigned = "SignatureDoesNotMatch";
    const command = new GetObjectCommand({ Bucket, Key });
    const signedBy = async (accessKeyId: string, secretAccessKey: string) => {
      const s3 = client(running.url, { credentials: { accessKeyId, secretAccessKey } });
      return s3.send(command).then(() => "done", nameOf);
    };
    const send = async (to: string, init: RequestInit = {}) =>
      /<Code>(\w+)/.exec(await (await fetch(to, init)).text())?.[1] ?? "done";
    const authorizedBy = (authorization: string) =>
      send(`${running.url}/${Bucket}/${Key}`, { headers: { authorization } });
    const url = await getSignedUrl(client(), command, { expiresIn: 60 });
    const old = await getSignedUrl(client(), command, { expiresIn: 60, signingDate: new Date(Date.now() - 61_000) });
    expect((await fetch(url, { headers: { authorization: "Bearer key" } })).status).toBe(400);
    const { AWS_ACCESS_KEY_ID: id = "", AWS_SECRET_ACCESS_KEY: secret = "" } = process.env;
    const scope = `${id}/20261121/us-east-1/s3/aws4_request`;
    const dateless = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`;
    const sendTo = async (name: string) => {
      const { body } = await sendPlain(url, { headers: { host: new URL(url).host.replace("127.0.0.1", name) } });
      return /<Code>(\w+)/.exec(body)?.[1] ?? "done";
    };
    const outcomes = {
      "our credentials": [await signedBy(id, secret), "done"],
      "another key id": [await signedBy("other", secret), "InvalidAccessKeyId"],
      "another secret": [await signedBy(id, "other"), unsigned],
      "no date": [await authorizedBy(dateless), "AccessDenied"],
      "a signed URL": [await send(url), "done"],
      "a signed URL by another name": [await sendTo("localhost"), "done"],
      "a signed URL by an IPv6 address": [await sendTo("[::1]"), "done"],
      "a signed URL from a container": [await sendTo("host.docker.internal"), "done"],
      "a signed URL by a foreign name": [await sendTo("evil.example"), "AccessDenied"],
      "a URL for a month": [await send(url.replace("Expires=60", "Expires=2592000")), "AccessDenied"],
      "an Authorization beside it": [await send(url, { headers: { authorization: "Bearer key" } }), "InvalidArgument"],
      "an empty Authorization beside it": [await send(url, { headers: { authorization: "" } }), "InvalidArgument"],
      "another key in it": [await send(url.replace("/b?", "/c?")), unsigned],
      "another parameter in it": [await send(`${url}&versionId=1`), unsigned],
      "an expired one": [await send(old), "AccessDenied"],
      "a longer life for it": [await send(old.replace("Expires=60", "Expires=600")), unsigned],
      "any Authorization": [await authorizedBy("any"), "AccessDenied"],
      none: [await send(`${running.url}/${Bucket}/${Key}`, { method: "DELETE" }), "AccessDenied"],
    };
    for (const [label, [found, expected]] of Object.entries(outcomes)) expect(found, label).toBe(expected);
  });

  it.each<[string, () => Promise<unknown>, code?: string]>([
    ["a delimiter", () => client().send(new ListObjectsV2Command({ Bucket, Delimiter: "/" }))],
    ["a storage class", () => put("0123456789", { StorageClass: "GLACIER" })],
    ["an unknown checksum", () => put("0123456789", { ChecksumAlgorithm: "SHA1" })],
    ["another SHA-256", () => put("0123456789", { ChecksumSHA256: "AAAA" }), "BadDigest"],
    ["If-Match", () => put("0123456789", { IfMatch: "*" })],
    ["Cache-Control", () => put("0123456789", { CacheControl: "max-age=60" })],
    ["Content-Disposition", () => put("0123456789", { ContentDisposition: "attachment" })],
    ["Content-Language", () => put("0123456789", { ContentLanguage: "en" })],
    ["Expires", () => put("0123456789", { Expires: new Date() })],
    ["If-Modified-Since", () => client().send(new GetObjectCommand({ Bucket, Key, IfModifiedSince: new Date() }))],
    ["If-None-Match with an ETag", () => client().send(new GetObjectCommand({ Bucket, Key, IfNoneMatch: '"1"' }))],
    ["a tag with a file", () => put("0123456789", { Tagging: `${scanTag}=NO_THREATS_FOUND` })],
    ["a change of tags", () => client().send(new PutObjectTaggingCommand({ Bucket, Key, Tagging }))],
    ["a file in chunks", () => put(Readable.from(["0123456789"]))],
    ["the bucket's tags", () => client().send(new GetBucketTaggingCommand({ Bucket }))],
  ])("refuses %s", async (_label, send, code = "NotImplemented") => {
    expect(await send().catch(nameOf)).toBe(code);
  });

  it("keeps nothing of a file whose client disconnects within it", async () => {
    const s3 = client(running.url, { requestChecksumCalculation: "WHEN_REQUIRED" });
    const { port, pathname, search } = new URL(await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key })));
    const socket = connect(Number(port), "127.0.0.1");
    socket.end(`PUT ${pathname}${search} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 10\r\n\r\n01234`);
    expect(await text(socket)).not.toContain("200 OK");
    expect(readdirSync(join(folder, "objects", Bucket))).toEqual([]);
  });

  /** Sends the head of a PUT to a signed URL, without a body, and returns the response. */
  const putHead = async (...headers: readonly string[]) => {
    const s3 = client(running.url, { requestChecksumCalculation: "WHEN_REQUIRED" });
    const { host, port, pathname, search } = new URL(await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key })));
    const socket = connect(Number(port), "127.0.0.1");
    const lines = [`PUT ${pathname}${search} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...headers];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    return text(socket);
  };

  it("refuses a file that is too large or has no length, before it is sent", async () => {
    expect(await putHead("Content-Length: 104857601")).toMatch(/^HTTP\/1\.1 400 .*<Code>EntityTooLarge</s);
    expect(await putHead("Transfer-Encoding: chunked")).toMatch(/^HTTP\/1\.1 411 .*<Code>MissingContentLength</s);
  });

  it.runIf(process.platform === "linux")("keeps no file open, not even one whose client disconnects", async () => {
    await put(Buffer.alloc(10_000_000), { ContentLength: 10_000_000 });
    const { port, pathname, search } = new URL(await getSignedUrl(client(), new GetObjectCommand({ Bucket, Key })));
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    await once(socket, "data");
    socket.resetAndDestroy();
    const linkOf = (descriptor: string) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`);
      } catch {
        return "closed meanwhile";
      }
    };
    await vi.waitUntil(() => !readdirSync("/proc/self/fd").map(linkOf).includes(file()), { timeout: 30_000 });
  });

  it("returns a 503 when its folder cannot be used, and works again afterwards", async () => {
    await put("0123456789");
    const objects = join(folder, "objects", Bucket, `${Key.replaceAll("/", ".")}x`);
    mkdirSync(objects);
    expect(await put("0123456789", { Key: `${Key}x` }).catch((error) => error.$metadata.httpStatusCode)).toBe(503);
    rmSync(objects, { recursive: true });
    expect(readdirSync(join(folder, "objects", Bucket))).toHaveLength(1);
    await put("0123456789", { Key: `${Key}x` });
    expect(await sizes()).toEqual([10, 10]);
  });
});

const scanTag = "GuardDutyMalwareScanStatus";
const Tagging = { TagSet: [{ Key: scanTag, Value: "NO_THREATS_FOUND" }] };
const tags = async (of = Key) => {
  const { TagSet = [] } = await client().send(new GetObjectTaggingCommand({ Bucket, Key: of }));
  return TagSet.map(({ Key: name, Value }) => `${name} ${Value}`);
};

describe("the simulated malware scan", () => {
  const [clean, infected] = [`${scanTag} NO_THREATS_FOUND`, `${scanTag} THREATS_FOUND`];

  it.each([
    ["almost one", eicar.slice(1), clean],
    ["the file itself", eicar, infected],
    ["it inside another file", `%PDF-1.7\n${eicar}\n%%EOF`, infected],
  ])("tags %s, and a new upload has a tag of its own", async (_label, body, tag) => {
    scanDelayMs = 0;
    await put(body, { ContentLength: body.length });
    expect(await tags()).toEqual([tag]);
    await put("0123456789");
    expect(await tags()).toEqual([clean]);
  });

  it("tags a file late, or never, and not one that does not exist; a restart changes nothing", async () => {
    await put("0123456789");
    scanDelayMs = 1;
    await put(eicar, { Key: `${Key}2`, ContentLength: eicar.length });
    scanDelayMs = 3_600_000;
    await put(eicar, { Key: `${Key}3`, ContentLength: eicar.length });
    for (let starts = 0; starts < 2; starts += 1) {
      await vi.waitUntil(async () => (await tags(`${Key}2`)).length > 0, 20_000);
      expect([await tags(), await tags(`${Key}2`), await tags(`${Key}3`)]).toEqual([[], [infected], []]);
      expect(await tags(`${Key}4`).catch(nameOf)).toBe("NoSuchKey");
      expect(await restart()).toEqual([]);
    }
  });
});

describe("the embedded S3 with a folder", () => {
  it("has its files after a restart, and a signed URL still works", async () => {
    const sign = new PutObjectCommand({ Bucket, Key: `${Key}2`, ContentType: "text/plain" });
    const s3 = client(running.url, { requestChecksumCalculation: "WHEN_REQUIRED" });
    const url = await getSignedUrl(s3, sign, { expiresIn: 60 });
    await put("0123456789");
    expect([await restart(), await content()]).toEqual([[], ["text/plain", "0123456789"]]);
    // Browsers send this header while their developer tools are open.
    const headers = { "cache-control": "no-cache" };
    expect((await fetch(url, { method: "PUT", body: "01234", headers })).status).toBe(200);
    expect(await sizes()).toEqual([10, 5]);
  });

  it("writes an object beside the one that it replaces, which a kill meanwhile leaves whole", async () => {
    await put("0123456789");
    const { ino } = statSync(file());
    await put("9876543210");
    expect(statSync(file()).ino).not.toBe(ino);
  });

  it("reports a file that does not have its declared size at each start, and changes nothing", async () => {
    await put("0123456789");
    for (const [left, line] of [
      [1_027, `${Key} is damaged: it has 3 of 10 bytes.`],
      [100, `${Key} is damaged: it has 0 of -1 bytes.`],
    ] as const) {
      truncateSync(file(), left);
      for (let starts = 0; starts < 2; starts += 1) expect(await restart()).toEqual([expect.stringContaining(line)]);
      expect(await sizes()).toEqual([Math.max(0, left - 1_024)]);
    }
  });

  it("removes what was being written when it was killed, and passes over what is not its own", async () => {
    const objects = join(folder, "objects");
    const [written, folderOfKey] = [`${crypto.randomUUID()}.part`, file(`${Key}-folder`)];
    const others = [".DS_Store", "._attachments.a", "download.part", "notes"];
    for (const name of [written, ...others]) writeFileSync(join(objects, Bucket, name), "0");
    for (const name of others) writeFileSync(join(objects, name), "0");
    mkdirSync(folderOfKey);
    await put("0123456789");
    expect([await restart(), await sizes()]).toEqual([[], [10]]);
    expect(readdirSync(join(objects, Bucket)).sort()).toEqual(
      [...others, basename(file()), basename(folderOfKey)].sort(),
    );
    expect(readdirSync(objects).sort()).toEqual([...others, Bucket].sort());
  });
});
