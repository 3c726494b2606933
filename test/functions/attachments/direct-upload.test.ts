import { createHash, createHmac, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { createAttachment } from "../../../shared/attachments/attachments.ts";
import { openFile, putFile, signedPut } from "../../../shared/attachments/files.ts";
import { limits } from "../../../shared/limits.ts";
import { createRequestAttachment, createRequestUpload } from "../../../shared/routes.ts";
import type { Idempotency } from "../../../shared/table/idempotency.ts";
import { fileKey, keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { readParent } from "../../../shared/tenants/orders.ts";
import { attachmentOf, form, pageOf, upload as uploadForm } from "../../support/fixtures/attachments.ts";
import { kinds, tenants } from "../../support/fixtures/tenants.ts";
import { announcement, newContent, sendFile, sha256Of } from "../../support/fixtures/upload-content.ts";
import { arrivedUpload, prepareUpload, uploadOf, uploadsPath } from "../../support/fixtures/uploads.ts";
import { call, errorBody, faultsOf } from "../../support/requests/client.ts";
import { invoke } from "../../support/requests/event.ts";

const unknownId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const hour = limits.uploadSeconds * 1000;

describe.each(kinds)("a direct upload to a %s", (kind) => {
  let t: Awaited<ReturnType<typeof tenants>>;
  let path: string;
  let key: string;
  const type = `${kind}_attachment`;

  beforeAll(async () => {
    t = await tenants();
    path = t.attachments(kind, "acme");
    key = t.key("acme");
  });

  const parent = () => ({ type: kind, id: t[kind]("acme") });
  const claim = (data: Readonly<Record<string, unknown>>, headers = {}, to = path) =>
    call("POST", to, { key, json: { type, data: { name: "Scan", ...data } }, headers });
  const prepare = (data: Readonly<Record<string, unknown>>, headers = {}) =>
    call("POST", uploadsPath(path), { key, json: { type: "upload", data }, headers });

  const refusal = (detail: string) =>
    errorBody({
      code: "invalid_parameter",
      title: "Invalid Parameter",
      detail,
      sub_code: "constraint.reference",
      source: { in: "body", pointer: "/data/upload_id" },
    });
  const expectRefusal = async (upload_id: string, detail: string, to = path) => {
    const answer = await claim({ upload_id }, {}, to);
    expect([answer.status, answer.body]).toEqual([422, refusal(detail)]);
  };

  it("takes three calls, and makes an attachment like any other", async () => {
    const content = newContent();
    const startedAt = Date.now();
    const prepared = await prepare(announcement(content, { sha256: sha256Of(content).toUpperCase() }));
    expect(prepared.status).toBe(201);
    const upload = uploadOf(prepared);
    expect(upload).toMatchObject({ ...announcement(content), method: "PUT" });
    expect(upload.headers).toEqual({
      "Content-Length": String(content.length),
      "Content-Type": "application/pdf",
      "x-amz-checksum-sha256": Buffer.from(upload.sha256, "hex").toString("base64"),
    });
    const validMs = Date.parse(upload.expires_at) - startedAt;
    expect(validMs).toBeGreaterThanOrEqual(hour);
    expect(validMs).toBeLessThanOrEqual(Date.now() - startedAt + hour);
    expect(await sendFile(upload, content)).toBe(200);
    const before = pageOf(await call("GET", path, { key })).total;
    const reference_id = randomUUID();
    const created = await claim({ upload_id: upload.id.toLowerCase(), notes: "", file_hint: "LOA", reference_id });
    expect(created.status).toBe(201);
    const { inserted_at, updated_at, ...rest } = attachmentOf(created);
    expect(rest).toEqual({
      id: upload.id,
      name: "Scan",
      notes: null,
      file_hint: "LOA",
      reference_id,
      filename: "scan.pdf",
    });
    expect(inserted_at).toBe(updated_at);
    const one = `${path}/${upload.id}`;
    const shown = await call("GET", one, { key });
    expect([shown.status, shown.body, shown.headers.get("etag")]).toEqual([
      200,
      created.body,
      created.headers.get("etag"),
    ]);
    expect(pageOf(await call("GET", path, { key }))).toMatchObject({ total: before + 1 });
    const bytes = await openFile(fileKey(parent(), upload.id));
    expect(Buffer.concat(await Array.fromAsync(bytes ?? []))).toEqual(content);
    const stored = await get(keys.attachment(parent(), upload.id));
    expect(stored).toMatchObject({
      bytes: content.length,
      sha256: sha256Of(content),
      content_type: "application/pdf",
    });
    const patched = await call("PATCH", one, { key, json: { type, data: { name: "Changed" } } });
    expect(attachmentOf(patched)).toMatchObject({ name: "Changed", filename: "scan.pdf" });
    expect((await call("DELETE", one, { key })).status).toBe(200);
    expect(await openFile(fileKey(parent(), upload.id))).toBeUndefined();
  });

  it("says what the file is, from its first and its last bytes, however long it is", async () => {
    const pdf = (name: string) => readFileSync(join(import.meta.dirname, `../../support/fixtures/pdfs/${name}.pdf`));
    const long = (start: Buffer) => Buffer.concat([start, Buffer.alloc(3_000_000, " "), pdf("user-rc4-128")]);
    for (const [what, content, detected_type, encrypted] of [
      ["a PDF that asks for a password", pdf("user-aes-256"), "application/pdf", true],
      ["a PDF with an owner's password", pdf("owner-aes-256"), "application/pdf", false],
      ["a PDF without any", pdf("plain"), "application/pdf", false],
      ["a long PDF that asks for a password", long(Buffer.from("%PDF-1.7\n")), "application/pdf", true],
      ["a PDF without a trailer", newContent(), "application/pdf", false],
      ["a PNG", Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), "image/png", null],
      ["a long text", long(Buffer.from("Dear carrier")), null, null],
      ["one byte", Buffer.from("x"), null, null],
    ] as const) {
      const { id } = await arrivedUpload(path, key, content);
      expect((await claim({ upload_id: id }, { "idempotency-key": randomUUID() })).status, what).toBe(201);
      const { body } = await call("GET", `${path}/${id}?include=file`, { key });
      const sha256 = sha256Of(content);
      const data = { bytes: content.length, content_type: "application/pdf", sha256, detected_type, encrypted };
      expect(body, what).toMatchObject({ associations: { file: { type: "file", data } } });
      expect(await get(keys.attachment(parent(), id)), what).toMatchObject({ inspected: true });
    }
  }, 20_000);

  it("takes another file name with the attachment", async () => {
    const { id } = await arrivedUpload(path, key);
    expect(attachmentOf(await claim({ upload_id: id, filename: "other.pdf" })).filename).toBe("other.pdf");
  });

  it("is bytes of any kind where nothing says which", async () => {
    const { content_type: _, ...data } = announcement(newContent());
    const upload = uploadOf(await prepare(data));
    expect([upload.content_type, upload.headers["Content-Type"]]).toEqual(Array(2).fill("application/octet-stream"));
  });

  it("is refused with all that is wrong", async () => {
    const faults = async (data: Readonly<Record<string, unknown>>) => {
      const answer = await prepare(data);
      expect(answer.status).toBe(422);
      return faultsOf(answer);
    };
    expect(await faults({})).toEqual([
      "body /data/filename constraint.required",
      "body /data/bytes constraint.required",
      "body /data/sha256 constraint.required",
    ]);
    const good = announcement(newContent());
    for (const [name, value, rule] of [
      ["filename", "a/b.pdf", "constraint.format"],
      ["filename", "x".repeat(256), "constraint.length"],
      ["content_type", "pdf", "constraint.format"],
      ["content_type", "text/plain; charset=utf-8", "constraint.format"],
      ["content_type", "text/plain\r\nx-evil: 1", "constraint.format"],
      ["bytes", 0, "constraint.range"],
      ["bytes", 1.5, "constraint.type"],
      ["bytes", "12", "constraint.type"],
      ["bytes", limits.uploadBytes + 1, "constraint.range"],
      ["sha256", "abc", "constraint.format"],
      ["sha256", `${"g".repeat(64)}`, "constraint.format"],
    ] as const)
      expect(await faults({ ...good, [name]: value }), `${name} ${value}`).toEqual([`body /data/${name} ${rule}`]);
    const wrongType = await call("POST", uploadsPath(path), { key, json: { type, data: good } });
    expect(faultsOf(wrongType)).toEqual(["body /type constraint.enum"]);
    expect((await prepare({ ...good, bytes: limits.uploadBytes })).status).toBe(201);
  });

  it("is not found by who may not see its parent, and needs the attachments' own permissions", async () => {
    const content = newContent();
    const answer = await call("POST", uploadsPath(path), {
      key: t.key("other"),
      json: { type: "upload", data: announcement(content) },
    });
    expect(answer.status).toBe(404);
    const dark = await call("POST", uploadsPath(t.attachments(kind, "dark")), {
      key,
      json: { type: "upload", data: announcement(content) },
    });
    expect(dark.status).toBe(403);
  });

  it("is claimed once only", async () => {
    const { id } = await arrivedUpload(path, key);
    expect((await claim({ upload_id: id })).status).toBe(201);
    await expectRefusal(id, "has already been used");
    await call("DELETE", `${path}/${id}`, { key });
    await expectRefusal(id, "has already been used");
  });

  it("makes one attachment of many claims at once", async () => {
    const { id } = await arrivedUpload(path, key);
    const before = pageOf(await call("GET", path, { key })).total;
    const answers = await Promise.all(Array.from({ length: 5 }, () => claim({ upload_id: id })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422]);
    for (const { status, body } of answers) if (status === 422) expect(body).toEqual(refusal("has already been used"));
    expect(pageOf(await call("GET", path, { key })).total).toBe(before + 1);
  });

  it("is unknown by another id, and under any other parent", async () => {
    const { id } = await arrivedUpload(path, key);
    for (const upload_id of [unknownId, "not-a-ulid", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"])
      await expectRefusal(upload_id, `is not an upload of this ${kind}`);
    await expectRefusal(id, `is not an upload of this ${kind}`, t.attachments(kind, "sibling"));
    const formed = await uploadForm(path, key);
    await expectRefusal(formed.id, `is not an upload of this ${kind}`);
    expect((await claim({ upload_id: id })).status).toBe(201);
  });

  it("is refused before its file has arrived, and taken once it has", async () => {
    const content = newContent();
    const upload = await prepareUpload(path, key, content);
    await expectRefusal(upload.id, "has no file yet");
    await sendFile(upload, content);
    expect((await claim({ upload_id: upload.id })).status).toBe(201);
  });

  it("is refused with a file of another length or type, should storage ever have taken one", async () => {
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
    expect(await sendFile(other, content)).toBe(200);
    expect((await claim({ upload_id: other.id })).status).toBe(201);
  });

  it("is refused after an hour, whether or not the table has removed it", async () => {
    const { id } = await arrivedUpload(path, key);
    const stored = await get(keys.upload(parent(), id));
    const old = new Date(Date.now() - hour).toISOString();
    await transact({ upload: { put: { ...stored, ...keys.upload(parent(), id), inserted_at: old } } });
    await expectRefusal(id, "has expired");
    await transact({ upload: { delete: keys.upload(parent(), id) } });
    await expectRefusal(id, `is not an upload of this ${kind}`);
  });

  it("keeps its record for the table to remove, after any repetition of its claim", async () => {
    const { id, expires_at } = await arrivedUpload(path, key);
    const stored = await get(keys.upload(parent(), id));
    expect(Number(stored?.expires_at) * 1000).toBeGreaterThan(
      Date.parse(expires_at) + limits.idempotencySeconds * 1000,
    );
  });

  it("is seen by nobody before it is claimed", async () => {
    const before = pageOf(await call("GET", path, { key }));
    const { id } = await arrivedUpload(path, key);
    expect(pageOf(await call("GET", path, { key }))).toEqual(before);
    expect((await call("GET", `${path}/${id}`, { key })).status).toBe(404);
  });

  it("is not used up by a claim that is refused", async () => {
    const reference_id = randomUUID();
    const { id } = await arrivedUpload(path, key);
    const first = await claim({ upload_id: id, reference_id });
    expect(first.status).toBe(201);
    const second = await arrivedUpload(path, key);
    const answer = await claim({ upload_id: second.id, reference_id });
    expect(faultsOf(answer)).toEqual(["body /data/reference_id constraint.unique"]);
    expect((await claim({ upload_id: second.id })).status).toBe(201);
  });

  it("needs an upload_id and a name, and takes no form's file", async () => {
    const answer = await call("POST", path, { key, json: { type, data: { file: "x" } } });
    expect(faultsOf(answer)).toEqual([
      "body /data/upload_id constraint.required",
      "body /data/name constraint.required",
    ]);
    const body = form({ "data[upload_id]": unknownId }, null);
    expect(faultsOf(await call("POST", path, { key, body }))).toEqual(["body /data/file constraint.required"]);
    const untyped = await call("POST", path, { key, json: { data: { upload_id: unknownId, name: "x" } } });
    expect(faultsOf(untyped)).toEqual(["body /type constraint.required"]);
  });

  it("is what the 413 of a form speaks of", async () => {
    const large = new File([new Uint8Array(limits.fileBytes + 1)], "large.pdf");
    const answer = await call("POST", path, { key, body: form({}, large) });
    expect(answer.status).toBe(413);
    expect(answer.body).toMatchObject({
      errors: [{ params: { limit_bytes: limits.fileBytes, direct_upload: true } }],
    });
  });

  describe("with an Idempotency-Key", () => {
    const repeated = (idempotencyKey = randomUUID()) => ({ "idempotency-key": idempotencyKey });

    it("is prepared once: the same upload, the same URL", async () => {
      const headers = repeated();
      const content = newContent();
      const first = await prepare(announcement(content), headers);
      const again = await prepare(announcement(content), headers);
      expect([first.headers.get("idempotency-replayed"), again.headers.get("idempotency-replayed")]).toEqual([
        null,
        "true",
      ]);
      expect([again.status, again.text]).toEqual([201, first.text]);
      expect(await sendFile(uploadOf(again), content)).toBe(200);
      expect((await claim({ upload_id: uploadOf(first).id })).status).toBe(201);
      const other = await prepare(announcement(newContent()), headers);
      expect(faultsOf(other)).toEqual(["header /Idempotency-Key constraint.unique"]);
    });

    it("is prepared once by many at once", async () => {
      const headers = repeated();
      const data = announcement(newContent());
      const answers = await Promise.all(Array.from({ length: 5 }, () => prepare(data, headers)));
      expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    });

    it("is claimed once by two requests of which one began before the other had ended", async () => {
      const { id: upload_id } = await arrivedUpload(path, key);
      const use = keys.idempotency(t.account("acme"), randomUUID());
      // Both have found their key unused.
      const idempotency: Idempotency = {
        created: undefined,
        write: (created) => ({ put: { ...use, ...created }, when: { exists: false } }),
        winner: (stored) => z.parse(z.object({ id: z.string(), at: z.string() }), stored),
      };
      const found = await readParent(parent());
      if (!found) throw new Error("The parent is gone.");
      const input = { upload_id, name: "Scan", notes: null, file_hint: "LOA", reference_id: null } as const;
      const first = await createAttachment(found, input, new Date(), idempotency);
      const second = await createAttachment(found, input, new Date(), idempotency);
      expect([first.replayed, second.replayed]).toEqual([false, true]);
      expect(second.attachment).toEqual(first.attachment);
    });

    it("is claimed once, and every repetition has the first response, even after a change, a delete and the hour", async () => {
      const headers = repeated();
      const { id } = await arrivedUpload(path, key);
      const answers = await Promise.all(Array.from({ length: 5 }, () => claim({ upload_id: id }, headers)));
      expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.filter((each) => each.headers.get("idempotency-replayed") === null)).toHaveLength(1);
      await call("PATCH", `${path}/${id}`, { key, json: { type, data: { name: "changed" } } });
      await call("DELETE", `${path}/${id}`, { key });
      const stored = await get(keys.upload(parent(), id));
      const old = new Date(Date.now() - hour).toISOString();
      await transact({ upload: { put: { ...stored, ...keys.upload(parent(), id), inserted_at: old } } });
      const again = await claim({ upload_id: id }, headers);
      expect([again.status, again.text, again.headers.get("idempotency-replayed")]).toEqual([
        201,
        answers[0]?.text,
        "true",
      ]);
      const [reused, other] = [
        await claim({ upload_id: id }, repeated()),
        await claim({ upload_id: id, name: "Other" }, headers),
      ];
      expect(reused.body).toEqual(refusal("has already been used"));
      expect(faultsOf(other)).toEqual(["header /Idempotency-Key constraint.unique"]);
    });
  });
});

describe("the limit of a deployment", () => {
  it("is that of MAX_UPLOAD_BYTES, where it is lower", async () => {
    const t = await tenants();
    vi.stubEnv("MAX_UPLOAD_BYTES", "100");
    const prepare = (bytes: number) =>
      invoke(createRequestUpload, {
        headers: { authorization: `Bearer ${t.key("acme")}`, "content-type": "application/json" },
        ids: { request_id: t.request("acme") },
        body: JSON.stringify({ type: "upload", data: announcement(newContent(), { bytes }) }),
      });
    const [small, large] = [await prepare(100), await prepare(101)];
    vi.unstubAllEnvs();
    expect(small.statusCode).toBe(201);
    expect(large.statusCode).toBe(422);
    expect(JSON.parse(large.body).errors).toMatchObject([
      { detail: "must be at most 100", sub_code: "constraint.range", source: { pointer: "/data/bytes" } },
    ]);
  });
});

describe("another media type", () => {
  it("is refused with both that are taken", async () => {
    const t = await tenants();
    const { statusCode, body } = await invoke(createRequestAttachment, {
      headers: { authorization: `Bearer ${t.key("acme")}`, "content-type": "text/plain" },
      ids: { request_id: t.request("acme") },
      body: "x",
    });
    expect([statusCode, JSON.parse(body).errors[0]]).toMatchObject([
      415,
      {
        detail: "The Content-Type must be multipart/form-data or application/json.",
        params: { expected: "multipart/form-data, application/json" },
      },
    ]);
  });
});

/**
 * The signature, computed here from the published algorithm over exactly the headers that the caller is to send. It is the
 * URL's own, so S3, which computes it from what arrives, refuses any other length, type or checksum.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
const signatureOf = ({ method, url, headers }: { method: string; url: string; headers: Record<string, string> }) => {
  const { host, pathname, searchParams } = new URL(url);
  const encode = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join("&");
  const signed = Object.entries({ host, ...headers })
    .map(([name, value]) => `${name.toLowerCase()}:${value}`)
    .sort();
  const names = signed.map((line) => line.split(":")[0]).join(";");
  const canonical = [method, pathname, query, ...signed, "", names, "UNSIGNED-PAYLOAD"].join("\n");
  const [date = "", scope = ""] = [
    searchParams.get("X-Amz-Date") ?? "",
    (searchParams.get("X-Amz-Credential") ?? "").split("/").slice(1).join("/"),
  ];
  const hash = createHash("sha256").update(canonical).digest("hex");
  const mac = (by: string | Buffer, text: string) => createHmac("sha256", by).update(text).digest();
  const secret = scope.split("/").reduce<string | Buffer>(mac, `AWS4${process.env.AWS_SECRET_ACCESS_KEY}`);
  return mac(Buffer.from(secret), ["AWS4-HMAC-SHA256", date, scope, hash].join("\n")).toString("hex");
};

describe("the URL of a direct upload", () => {
  const prepared = async () => {
    const t = await tenants();
    return prepareUpload(t.attachments("request", "acme"), t.key("acme"), newContent());
  };

  it("has length, type and SHA-256 among its signed headers, for an hour, and in its path the bucket and the file", async () => {
    const { url, id, expires_at } = await prepared();
    const { searchParams, pathname } = new URL(url);
    expect(searchParams.get("X-Amz-SignedHeaders")).toBe("content-length;content-type;host;x-amz-checksum-sha256");
    expect(searchParams.get("X-Amz-Expires")).toBe("3600");
    expect([...searchParams.keys()].filter((name) => /checksum/i.test(name))).toEqual([]);
    expect(pathname).toMatch(new RegExp(`^/${process.env.BUCKET_NAME}/attachments/[\\d/]+/request/\\w{26}/${id}$`));
    const signedAt = searchParams.get("X-Amz-Date")?.replace(/(....)(..)(..T..)(..)(..)Z/, "$1-$2-$3:$4:$5") ?? "";
    expect(Date.parse(expires_at) - Date.parse(`${signedAt}Z`)).toBeLessThan(hour + 1000);
  });

  it("is signed over exactly the headers that it comes with: with any other, S3 computes another signature", async () => {
    const upload = await prepared();
    const signature = new URL(upload.url).searchParams.get("X-Amz-Signature");
    expect(signatureOf(upload)).toBe(signature);
    for (const [name, value] of [
      ["Content-Length", "1"],
      ["Content-Type", "text/html"],
      ["x-amz-checksum-sha256", Buffer.alloc(32).toString("base64")],
    ] as const)
      expect(signatureOf({ ...upload, headers: { ...upload.headers, [name]: value } }), name).not.toBe(signature);
  });

  /** What storage returns to another request than the one that was signed: its status, and the code in its body. */
  const answerTo = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init);
    return `${response.status} ${/<Code>(\w+)<\/Code>/.exec(await response.text())?.[1] ?? ""}`;
  };

  it("takes the file that was announced, and no other", async () => {
    const content = newContent();
    const t = await tenants();
    const [path, key] = [t.attachments("request", "acme"), t.key("acme")];
    const upload = await prepareUpload(path, key, content);
    const { "Content-Length": _, ...headers } = upload.headers;
    const put = (body: Uint8Array, other: Readonly<Record<string, string>> = {}) =>
      answerTo(upload.url, { method: "PUT", headers: { ...headers, ...other }, body: new Uint8Array(body) });
    const checksum = (body: Uint8Array) => Buffer.from(sha256Of(body), "hex").toString("base64");
    const changed = content.map((byte) => byte ^ 1);
    expect({
      "another file of the same length": await put(changed),
      "its SHA-256 too": await put(changed, { "x-amz-checksum-sha256": checksum(changed) }),
      "a shorter file": await put(content.subarray(1)),
      "another type": await put(content, { "Content-Type": "text/html" }),
      "another file's place": await answerTo(upload.url.replace(upload.id, unknownId), {
        method: "PUT",
        headers,
        body: new Uint8Array(content),
      }),
    }).toEqual({
      "another file of the same length": "400 BadDigest",
      "its SHA-256 too": "403 SignatureDoesNotMatch",
      "a shorter file": "403 SignatureDoesNotMatch",
      "another type": "403 SignatureDoesNotMatch",
      "another file's place": "403 SignatureDoesNotMatch",
    });
    const early = await call("POST", path, {
      key,
      json: { type: "request_attachment", data: { name: "Scan", upload_id: upload.id } },
    });
    expect(faultsOf(early)).toEqual(["body /data/upload_id constraint.reference"]);
    expect(await put(content)).toBe("200 ");
  });

  it("neither reads nor removes the file, nor does anybody without a signature", async () => {
    const content = newContent();
    const t = await tenants();
    const upload = await prepareUpload(t.attachments("request", "acme"), t.key("acme"), content);
    expect(await sendFile(upload, content)).toBe(200);
    const unsigned = upload.url.replace(/\?.*/, "");
    for (const method of ["GET", "DELETE"]) {
      expect(await answerTo(upload.url, { method }), method).toBe("403 SignatureDoesNotMatch");
      expect(await answerTo(unsigned, { method }), `${method} without a signature`).toBe("403 AccessDenied");
    }
    expect(await sendFile(upload, content)).toBe(200);
  });

  it("is valid for an hour", async () => {
    const content = newContent();
    const file = announcement(content);
    const sendSigned = async (msAgo: number) =>
      sendFile(await signedPut(`expiry/${randomUUID()}`, file, new Date(Date.now() - msAgo)), content);
    expect([await sendSigned(hour - 60_000), await sendSigned(hour + 1_000)]).toEqual([200, 403]);
  });
});
