import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fileKey } from "../../../shared/attachments/file-keys.ts";
import { openFile, putFile } from "../../../shared/attachments/files.ts";
import { limits } from "../../../shared/limits.ts";
import { keys, type ParentRef } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { atOnce } from "../../support/fault-proxy/table-proxy.ts";
import { attachmentOf, form, pageOf, upload as uploadForm } from "../../support/fixtures/attachments.ts";
import { sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { declaredFile, newContent, sendFile, sha256Of } from "../../support/fixtures/upload-content.ts";
import { completePath, prepareUpload, sentUpload, uploadOf, uploadsPath } from "../../support/fixtures/uploads.ts";
import { call, invalidBody, invalidParametersOf, notFoundBody } from "../../support/requests/client.ts";

const unknownId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const validityMs = limits.uploadSeconds * 1000;

const storedFile = async (parent: ParentRef, id: string) =>
  Buffer.concat(await Array.fromAsync((await openFile(fileKey(parent, id))) ?? []));

const t = await tenants();

describe.each(sampledParentTypes("order"))("a direct upload to a %s", (kind) => {
  const path = t.attachments(kind, "acme");
  const key = t.key("acme");
  const type = `${kind}_attachment`;

  const parent = () => ({ type: kind, id: t[kind]("acme") });
  const complete = (id: string, data: Readonly<Record<string, unknown>> = {}, headers = {}) =>
    call("POST", completePath(path, id), { key, json: { type, data: { name: "Scan", ...data } }, headers });
  const prepare = (data: Readonly<Record<string, unknown>>, headers = {}) =>
    call("POST", uploadsPath(path), { key, json: { type: "upload", data }, headers });

  const refusal = (detail: string) => invalidBody("path", "/upload_id", { detail, sub_code: "constraint.reference" });
  const expectRefusal = async (id: string, detail: string) => {
    const response = await complete(id);
    expect([response.status, response.body]).toEqual([422, refusal(detail)]);
  };
  const expectMissing = async (id: string, to = path) => {
    const response = await call("POST", completePath(to, id), { key, json: { type, data: { name: "Scan" } } });
    expect([response.status, response.body]).toEqual([404, notFoundBody("upload", id)]);
  };

  it("takes three calls and creates an ordinary attachment", async () => {
    const content = newContent();
    const startedAt = Date.now();
    const prepared = await prepare(declaredFile(content, { sha256: sha256Of(content).toUpperCase() }));
    expect([prepared.status, prepared.headers.get("etag")]).toEqual([201, '"1"']);
    const upload = uploadOf(prepared);
    expect(upload).toMatchObject({ ...declaredFile(content), method: "PUT" });
    expect(upload.headers).toEqual({
      "Content-Type": "application/pdf",
      "If-None-Match": "*",
      "x-amz-checksum-sha256": Buffer.from(upload.sha256, "hex").toString("base64"),
    });
    const validMs = Date.parse(upload.expires_at) - startedAt;
    expect(validMs).toBeGreaterThanOrEqual(validityMs);
    expect(validMs).toBeLessThanOrEqual(Date.now() - startedAt + validityMs);
    expect(await sendFile(upload, content)).toBe(200);
    const before = pageOf(await call("GET", path, { key })).total;
    const reference_id = randomUUID();
    const created = await complete(upload.id.toLowerCase(), { notes: "", file_hint: "LOA", reference_id });
    expect(created.status).toBe(201);
    const { inserted_at, updated_at, ...rest } = attachmentOf(created);
    const given = { name: "Scan", notes: null, file_hint: "LOA", reference_id, filename: "scan.pdf" };
    expect(rest).toEqual({ id: upload.id, ...given });
    expect(inserted_at).toBe(updated_at);
    const ownPath = `${path}/${upload.id}`;
    const fetched = await call("GET", ownPath, { key });
    expect([fetched.status, fetched.body]).toEqual([200, created.body]);
    expect(fetched.headers.get("etag")).toBe(created.headers.get("etag"));
    expect(pageOf(await call("GET", path, { key }))).toMatchObject({ total: before + 1 });
    expect(await storedFile(parent(), upload.id)).toEqual(content);
    const stored = await get(keys.attachment(parent(), upload.id));
    expect(stored).toMatchObject({ bytes: content.length, sha256: sha256Of(content), content_type: "application/pdf" });
    const patched = await call("PATCH", ownPath, { key, json: { type, data: { name: "Changed" } } });
    expect(attachmentOf(patched)).toMatchObject({ name: "Changed", filename: "scan.pdf" });
    expect((await call("DELETE", ownPath, { key })).status).toBe(200);
    expect(await openFile(fileKey(parent(), upload.id))).toBeUndefined();
  });

  it("takes null for each property that may be left out, and for no other", async () => {
    const content = newContent(16);
    const file = declaredFile(content);
    const prepared = await prepare({ ...file, content_type: null });
    expect(uploadOf(prepared)).toMatchObject({ content_type: "application/octet-stream" });
    expect(await sendFile(uploadOf(prepared), content)).toBe(200);
    const left = { notes: null, file_hint: null, reference_id: null, filename: null };
    const completed = attachmentOf(await complete(uploadOf(prepared).id, left));
    expect(completed).toMatchObject({ ...left, file_hint: "DEFAULT", filename: "scan.pdf" });
    const nulls = Object.fromEntries(Object.keys(file).map((name) => [name, null]));
    expect(invalidParametersOf(await prepare(nulls))).toEqual(
      ["filename", "bytes", "sha256"].map((name) => `body /data/${name} constraint.required`),
    );
    expect(invalidParametersOf(await complete((await prepareUpload(path, key, content)).id, { name: null }))).toEqual([
      "body /data/name constraint.required",
    ]);
  });

  it("has its type detected from the first and last bytes, whatever its length", async () => {
    const pdf = (name: string) => readFileSync(join(import.meta.dirname, `../../support/fixtures/pdfs/${name}.pdf`));
    const long = (start: Buffer) => Buffer.concat([start, Buffer.alloc(3_000_000, " "), pdf("user-rc4-128")]);
    for (const [label, content, detected_type, encrypted] of [
      ["a long PDF that asks for a password", long(Buffer.from("%PDF-1.7\n")), "application/pdf", true],
      ["a long text", long(Buffer.from("Dear carrier")), null, null],
    ] as const) {
      const { id } = await sentUpload(path, key, content);
      expect((await complete(id, {}, { "idempotency-key": randomUUID() })).status, label).toBe(201);
      const { body } = await call("GET", `${path}/${id}?include=file`, { key });
      const sha256 = sha256Of(content);
      const data = { bytes: content.length, content_type: "application/pdf", sha256, detected_type, encrypted };
      expect(body, label).toMatchObject({ associations: { file: { type: "file", data } } });
    }
  }, 20_000);

  it("is application/octet-stream without a content_type, and may get another file name when it is completed", async () => {
    const content = newContent();
    const { content_type: _, ...data } = declaredFile(content);
    const upload = uploadOf(await prepare(data));
    expect([upload.content_type, upload.headers["Content-Type"]]).toEqual(Array(2).fill("application/octet-stream"));
    await sendFile(upload, content);
    expect(attachmentOf(await complete(upload.id, { filename: "other.pdf" })).filename).toBe("other.pdf");
  });

  it("is refused with every invalid property", async () => {
    const valid = declaredFile(newContent());
    const invalid = { filename: "a/b.pdf", content_type: "text/plain\r\nx: 1", bytes: "12", sha256: "g".repeat(64) };
    for (const [label, data, problems] of [
      ["left out", {}, ["filename required", "bytes required", "sha256 required"]],
      ["invalid", invalid, ["filename format", "content_type format", "bytes type", "sha256 format"]],
      [
        "empty",
        { ...invalid, filename: "", bytes: 0 },
        ["filename required", "content_type format", "bytes range", "sha256 format"],
      ],
      ["too large", { ...valid, bytes: limits.uploadBytes + 1 }, ["bytes range"]],
    ] as const) {
      const response = await prepare(data);
      const expected = problems.map((problem) => `body /data/${problem.replace(" ", " constraint.")}`);
      expect([response.status, invalidParametersOf(response)], label).toEqual([422, expected]);
    }
    const wrongType = await call("POST", uploadsPath(path), { key, json: { type, data: valid } });
    expect(invalidParametersOf(wrongType)).toEqual(["body /type constraint.enum"]);
    expect((await prepare({ ...valid, bytes: limits.uploadBytes })).status).toBe(201);
  });

  it("creates one attachment for concurrent requests, and none after it is deleted", async () => {
    const { id } = await sentUpload(path, key);
    const before = pageOf(await call("GET", path, { key })).total;
    const responses = await atOnce(5, () => complete(id));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422]);
    for (const { status, body } of responses)
      if (status === 422) expect(body).toEqual(refusal("has already been used"));
    expect(pageOf(await call("GET", path, { key })).total).toBe(before + 1);
    await call("DELETE", `${path}/${id}`, { key });
    await expectRefusal(id, "has already been used");
  });

  it("does not exist with an unknown id, under another parent, or for an attachment from a form", async () => {
    const { id } = await sentUpload(path, key);
    for (const unknown of [unknownId, "not-a-ulid", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"]) await expectMissing(unknown);
    await expectMissing(id, t.attachments(kind, "sibling"));
    await expectMissing((await uploadForm(path, key)).id);
    expect((await complete(id)).status).toBe(201);
  });

  it("can be completed only after its file has arrived, and is not listed or shown before", async () => {
    const content = newContent();
    const before = pageOf(await call("GET", path, { key }));
    const upload = await prepareUpload(path, key, content);
    await expectRefusal(upload.id, "has no file yet");
    await sendFile(upload, content);
    expect(pageOf(await call("GET", path, { key }))).toEqual(before);
    expect((await call("GET", `${path}/${upload.id}`, { key })).status).toBe(404);
    expect((await complete(upload.id)).status).toBe(201);
  });

  it("cannot be completed if storage has a file of another length or type", async () => {
    const content = newContent();
    const store = async (file: Uint8Array, contentType: string) => {
      const prepared = await prepareUpload(path, key, content);
      const stored = { content: file, filename: "scan.pdf", contentType, sha256: sha256Of(file) };
      await putFile(fileKey(parent(), prepared.id), stored);
      return prepared;
    };
    const short = await store(content.subarray(1), "application/pdf");
    await expectRefusal(short.id, `has a file of ${content.length - 1} bytes instead of ${content.length}`);
    const empty = await store(new Uint8Array(), "application/pdf");
    await expectRefusal(empty.id, `has a file of 0 bytes instead of ${content.length}`);
    const other = await store(content, "text/html");
    await expectRefusal(other.id, "has a file of the type text/html instead of application/pdf");
  });

  it("cannot be completed if its file was sent with a Content-Encoding, which no signature covers", async () => {
    const content = gzipSync(Buffer.alloc(1_000_000));
    const upload = await prepareUpload(path, key, content);
    const headers = { ...upload.headers, "Content-Encoding": "gzip" };
    expect(await sendFile({ ...upload, headers }, content)).toBe(200);
    const advice = "has a file that was sent with a Content-Encoding: prepare another upload, and send it without";
    await expectRefusal(upload.id, advice);
  });

  it("does not exist after an hour, even if DynamoDB has not removed its record, which it keeps for 35 days", async () => {
    const { id, expires_at } = await sentUpload(path, key);
    const stored = await get(keys.upload(parent(), id));
    // The record outlasts any retry of the completion.
    const kept = Number(stored?.expires_at) * 1000 - Date.parse(expires_at);
    expect(kept / 86_400_000).toBeCloseTo(35, 3);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(expires_at) });
    onTestFinished(() => void vi.useRealTimers());
    await expectMissing(id);
    vi.setSystemTime(Date.parse(expires_at) - 1);
    expect((await complete(id)).status).toBe(201);
    await transact({ upload: { delete: keys.upload(parent(), id) } });
    await expectMissing(id);
  });

  it("is completed with JSON that has the parent's type and a name, and still unused after any error", async () => {
    const reference_id = randomUUID();
    await call("POST", path, { key, body: form({ "data[reference_id]": reference_id }) });
    const { id } = await sentUpload(path, key);
    const send = (json: unknown) => call("POST", completePath(path, id), { key, json });
    for (const [json, problems] of [
      [{ data: {} }, ["body /type constraint.required", "body /data/name constraint.required"]],
      [{ type: "upload", data: { name: "Scan" } }, ["body /type constraint.enum"]],
      [{ type, data: { name: "Scan", reference_id } }, ["body /data/reference_id constraint.unique"]],
    ] as const)
      expect(invalidParametersOf(await send(json))).toEqual(problems);
    expect((await complete(id)).status).toBe(201);
  });

  it("is looked for before the body is read", async () => {
    const response = await call("POST", completePath(path, unknownId), {
      key,
      body: "x",
      headers: { "content-type": "text/plain" },
    });
    expect([response.status, response.body]).toEqual([404, notFoundBody("upload", unknownId)]);
  });

  describe("with an Idempotency-Key", () => {
    const withKey = (idempotencyKey = randomUUID()) => ({ "idempotency-key": idempotencyKey });

    it("is prepared once by concurrent requests, which return the same upload and URL", async () => {
      const headers = withKey();
      const content = newContent();
      const responses = await atOnce(5, () => prepare(declaredFile(content), headers));
      expect(responses.map(({ status }) => status)).toEqual(Array(5).fill(201));
      expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
      expect(responses.filter((each) => each.headers.get("idempotency-replayed") === null)).toHaveLength(1);
      const [first] = responses;
      const again = await prepare(declaredFile(content), headers);
      expect([again.text, again.headers.get("idempotency-replayed")]).toEqual([first?.text, "true"]);
      const upload = first && uploadOf(first);
      expect(upload && (await sendFile(upload, content))).toBe(200);
      expect((await complete(upload?.id ?? "")).status).toBe(201);
      const other = await prepare(declaredFile(newContent()), headers);
      expect(invalidParametersOf(other)).toEqual(["header /Idempotency-Key constraint.unique"]);
    });

    it("is completed once, and retries return the first response even after an update, a delete and the expiry", async () => {
      const headers = withKey();
      const { id } = await sentUpload(path, key);
      const responses = await atOnce(5, () => complete(id, {}, headers));
      expect(responses.map(({ status }) => status)).toEqual(Array(5).fill(201));
      expect(new Set(responses.map(({ text }) => text)).size).toBe(1);
      expect(responses.filter((each) => each.headers.get("idempotency-replayed") === null)).toHaveLength(1);
      await call("PATCH", `${path}/${id}`, { key, json: { type, data: { name: "changed" } } });
      await call("DELETE", `${path}/${id}`, { key });
      const stored = await get(keys.upload(parent(), id));
      const old = new Date(Date.now() - validityMs).toISOString();
      await transact({ upload: { put: { ...stored, ...keys.upload(parent(), id), inserted_at: old } } });
      const again = await complete(id, {}, headers);
      expect([again.status, again.text, again.headers.get("idempotency-replayed")]).toEqual([
        201,
        responses[0]?.text,
        "true",
      ]);
      const [reused, other] = [await complete(id, {}, withKey()), await complete(id, { name: "Other" }, headers)];
      expect(reused.body).toEqual(refusal("has already been used"));
      expect(invalidParametersOf(other)).toEqual(["header /Idempotency-Key constraint.unique"]);
    });
  });
});

describe("the URL of a direct upload", () => {
  it("signs the length, type and SHA-256 for an hour, and names the bucket and the file in its path", async () => {
    const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
    const { url, id, expires_at } = await prepareUpload(path, key, newContent());
    const { searchParams, pathname } = new URL(url);
    expect(searchParams.get("X-Amz-SignedHeaders")).toBe(
      "content-length;content-type;host;if-none-match;x-amz-checksum-sha256",
    );
    expect(searchParams.get("X-Amz-Expires")).toBe("3600");
    expect([...searchParams.keys()].filter((name) => /checksum/i.test(name))).toEqual([]);
    expect(pathname).toMatch(new RegExp(`^/${process.env.BUCKET_NAME}/attachments/[\\d/]+/request/\\w{26}/${id}$`));
    const signedAt = searchParams.get("X-Amz-Date")?.replace(/(....)(..)(..T..)(..)(..)Z/, "$1-$2-$3:$4:$5") ?? "";
    expect(Date.parse(expires_at) - Date.parse(`${signedAt}Z`)).toBeLessThan(validityMs + 1000);
  });

  /** Sends a request to storage. Returns the status of the response, and the error code in its body. */
  const storageResponse = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init);
    return `${response.status} ${/<Code>(\w+)<\/Code>/.exec(await response.text())?.[1] ?? ""}`;
  };

  it("accepts only the file that was declared, once, and nothing else", async () => {
    const content = newContent();
    const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
    const upload = await prepareUpload(path, key, content);
    const { "Content-Length": _, ...headers } = upload.headers;
    const put = (body: Uint8Array, other: Readonly<Record<string, string>> = {}, url = upload.url) =>
      storageResponse(url, { method: "PUT", headers: { ...headers, ...other }, body: new Uint8Array(body) });
    const checksum = (body: Uint8Array) => Buffer.from(sha256Of(body), "hex").toString("base64");
    const changed = content.map((byte) => byte ^ 1);
    const unsigned = upload.url.replace(/\?.*/, "");
    for (const [label, outcome, response] of [
      ["another file of the same length", "400 BadDigest", put(changed)],
      ["its SHA-256 too", "403 SignatureDoesNotMatch", put(changed, { "x-amz-checksum-sha256": checksum(changed) })],
      ["a shorter file", "403 SignatureDoesNotMatch", put(content.subarray(1))],
      ["another type", "403 SignatureDoesNotMatch", put(content, { "Content-Type": "text/html" })],
      ["no condition", "403 SignatureDoesNotMatch", put(content, { "If-None-Match": "" })],
      ["another object", "403 AccessDenied", put(content, { "x-amz-copy-source": `/${process.env.BUCKET_NAME}/any` })],
      ["a chunked file", "403 AccessDenied", put(content, { "x-amz-content-sha256": "STREAMING-UNSIGNED" })],
      ["another place", "403 SignatureDoesNotMatch", put(content, {}, upload.url.replace(upload.id, unknownId))],
      ["reading", "403 SignatureDoesNotMatch", storageResponse(upload.url, { method: "GET" })],
      ["deleting", "403 SignatureDoesNotMatch", storageResponse(upload.url, { method: "DELETE" })],
      ["reading without a signature", "403 AccessDenied", storageResponse(unsigned, { method: "GET" })],
    ] as const)
      expect(await response, label).toBe(outcome);
    expect([await put(content), await put(content)]).toEqual(["200 ", "412 PreconditionFailed"]);
  });
});
