import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { keys } from "../../../shared/table/keys.ts";
import { get } from "../../../shared/table/read.ts";
import { transact } from "../../../shared/table/write.ts";
import { atOnce, beforeTableCall, type TableCall } from "../../support/fault-proxy/table-proxy.ts";
import { attachmentOf, pageOf, upload } from "../../support/fixtures/attachments.ts";
import { sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { otherTimes } from "../../support/fixtures/times.ts";
import { call, errorBody, invalidParametersOf, notFoundBody } from "../../support/requests/client.ts";

const t = await tenants();

describe.each(sampledParentTypes("request"))("attachments of a %s", (kind) => {
  const path = t.attachments(kind, "acme");
  const key = t.key("acme");

  const unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const patch = (id: string, data: unknown, headers = {}) =>
    call("PATCH", `${path}/${id}`, { key, headers, json: { type: `${kind}_attachment`, data } });

  describe("show", () => {
    it("returns the document that the upload returned, for its id in either case", async () => {
      const attachment = await upload(path, key);
      for (const id of [attachment.id, attachment.id.toLowerCase()]) {
        const response = await call("GET", `${path}/${id}`, { key });
        expect(response.status, id).toBe(200);
        expect(attachmentOf(response), id).toEqual(attachment);
        expect(response.headers.get("etag"), id).toBe('"1"');
      }
    });

    it("returns 404 for an attachment of another parent, an unknown id and an id that is not a ULID", async () => {
      const { id } = await upload(t.attachments(kind, "sibling"), key);
      for (const other of [id, unknown, "not-a-ulid", "1", "%00", "a%2Fb"]) {
        const response = await call("GET", `${path}/${other}`, { key });
        expect(response.status, other).toBe(404);
        expect(response.body, other).toEqual(notFoundBody(`${kind}_attachment`, decodeURIComponent(other)));
      }
    });
  });

  describe("update", () => {
    it("changes what is sent, keeps the rest and sets updated_at", async () => {
      const before = await upload(path, key, { "data[notes]": "old", "data[file_hint]": "LOA" });
      const response = await patch(before.id, { name: " New " });
      expect(response.status).toBe(200);
      const after = attachmentOf(response);
      expect(after).toEqual({ ...before, name: "New", updated_at: expect.any(String) });
      expect(after.updated_at > before.updated_at).toBe(true);
      expect(response.headers.get("etag")).toBe('"2"');
      expect(attachmentOf(await call("GET", `${path}/${before.id}`, { key }))).toEqual(after);
    });

    it("clears notes with null or an empty text", async () => {
      for (const notes of [null, ""]) {
        const { id } = await upload(path, key, { "data[notes]": "old" });
        expect(attachmentOf(await patch(id, { notes })).notes, JSON.stringify(notes)).toBeNull();
      }
    });

    it("leaves updated_at as it is if nothing changes, even if immutable properties are echoed", async () => {
      const before = await upload(path, key, { "data[reference_id]": "aaaaaaaa-0000-4000-8000-00000000000b" });
      const response = await patch(before.id, {
        ...before,
        filename: ` ${before.filename}\t`,
        reference_id: ` ${before.reference_id?.toUpperCase()} `,
        color: "unknown properties are ignored",
      });
      expect(response.status).toBe(200);
      expect(attachmentOf(response)).toEqual(before);
      expect(response.headers.get("etag")).toBe('"1"');
    });

    it("takes the whole document with a change, again and again, in a typed client's notation of times", async () => {
      const before = await upload(path, key, { "data[reference_id]": crypto.randomUUID() });
      const { body } = await call("GET", `${path}/${before.id}?include=file,forwarding`, { key });
      for (const [n, times] of otherTimes(before).entries()) {
        const json = { ...z.parse(z.looseObject({}), body), data: { ...before, ...times, name: `${n}` } };
        const first = await call("PATCH", `${path}/${before.id}`, { key, json });
        expect([first.status, attachmentOf(first).name], JSON.stringify(times)).toEqual([200, `${n}`]);
        const again = await call("PATCH", `${path}/${before.id}`, { key, json });
        expect([again.status, again.body], "after a lost answer").toEqual([200, first.body]);
        expect(attachmentOf(again).inserted_at).toBe(before.inserted_at);
      }
    });

    it("names every invalid property in one response", async () => {
      const { id } = await upload(path, key, { "data[reference_id]": crypto.randomUUID() });
      const immutable = { id: unknown, filename: "LOA.pdf", reference_id: null };
      const ignored = { inserted_at: "x", updated_at: null };
      const data = { name: null, notes: 7, file_hint: "X", ...immutable, ...ignored };
      const response = await call("PATCH", `${path}/${id}`, { key, json: { type: "switch", data } });
      expect(response.status).toBe(422);
      expect(invalidParametersOf(response)).toEqual([
        "body /type constraint.enum",
        "body /data/name constraint.required",
        "body /data/notes constraint.type",
        "body /data/file_hint constraint.enum",
        ...Object.keys(immutable).map((name) => `body /data/${name} constraint.immutable`),
      ]);
    });

    it("returns 412 with the current ETag for an outdated If-Match instead of losing an update", async () => {
      const { id } = await upload(path, key);
      expect((await patch(id, { name: "a" }, { "if-match": '"1"' })).status).toBe(200);
      const headers = { "if-match": '"1"' };
      const lost = await patch(id, { name: "b" }, headers);
      const detail = "The resource has changed since the version in If-Match.";
      const body = errorBody({ code: "precondition_failed", title: "Precondition Failed", detail });
      expect([lost.status, lost.body, lost.headers.get("etag")]).toEqual([412, body, '"2"']);
      const kept = await call("DELETE", `${path}/${id}`, { key, headers });
      expect([kept.status, kept.headers.get("etag")]).toEqual([412, '"2"']);
    });

    it("keeps every one of several concurrent changes", async () => {
      const { id } = await upload(path, key);
      const changes = [{ name: "n" }, { notes: "o" }, { file_hint: "LOA" }];
      const responses = await atOnce(3, (n) => patch(id, changes[n]));
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
      const final = attachmentOf(await call("GET", `${path}/${id}`, { key }));
      expect(final).toMatchObject({ name: "n", notes: "o", file_hint: "LOA" });
      const conditional = await atOnce(4, (n) => patch(id, { name: `${n}` }, { "if-match": '"4"' }));
      expect(conditional.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
    });
  });

  describe("delete", () => {
    it("returns the document as it was, and 404 from then on", async () => {
      const attachment = await upload(path, key);
      const response = await call("DELETE", `${path}/${attachment.id}`, { key });
      expect([response.status, response.headers.get("etag")]).toEqual([200, '"1"']);
      expect(attachmentOf(response)).toEqual(attachment);
      for (const method of ["GET", "DELETE"]) {
        const gone = await call(method, `${path}/${attachment.id}`, { key });
        expect([gone.status, gone.body]).toEqual([404, notFoundBody(`${kind}_attachment`, attachment.id)]);
      }
    });

    it("succeeds once for each attachment when 24 concurrent requests delete 12", async () => {
      const own = await tenants();
      const list = own.attachments(kind, "acme");
      const uploads = await Promise.all(Array.from({ length: 12 }, () => upload(list, own.key("acme"))));
      const responses = await atOnce(24, (n) =>
        call("DELETE", `${list}/${uploads[n % 12]?.id}`, { key: own.key("acme") }),
      );
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(12);
      expect(responses.filter(({ status }) => status === 404)).toHaveLength(12);
      expect(pageOf(await call("GET", list, { key: own.key("acme") }))).toMatchObject({ ids: [], total: 0 });
    });

    it("returns the document with a change that came meanwhile", async () => {
      const { id } = await upload(path, key);
      const isWrite = ({ operation }: TableCall) => operation === "TransactWriteItems";
      beforeTableCall(isWrite, () => patch(id, { name: "Changed meanwhile" }));
      const response = await call("DELETE", `${path}/${id}`, { key });
      expect([response.status, response.headers.get("etag")]).toEqual([200, '"2"']);
      expect(attachmentOf(response).name).toBe("Changed meanwhile");
    });

    it("that could not remove the file succeeds for one of two concurrent repetitions", async () => {
      const { id } = await upload(path, key);
      const parent = { type: kind, id: t[kind]("acme") };
      const stored = await get(keys.attachment(parent, id));
      await call("DELETE", `${path}/${id}`, { key });
      const expires_at = Date.now() / 1_000 + 60;
      const put = { ...stored, ...keys.unfinishedDelete(parent, id), expires_at };
      await transact({ unfinished: { put } });
      const responses = await atOnce(2, () => call("DELETE", `${path}/${id}`, { key }));
      expect(responses.map(({ status }) => status).sort()).toEqual([200, 404]);
    });
  });
});
