import { describe, expect, it } from "vitest";
import { atOnce } from "../../support/fault-proxy/table-proxy.ts";
import { attachmentOf, form, pageOf, pdf, upload } from "../../support/fixtures/attachments.ts";
import { sampledParentTypes, tenants } from "../../support/fixtures/tenants.ts";
import { call, codeOf, fetchFromService, invalidParametersOf, takenBody } from "../../support/requests/client.ts";

/** http.cases.test.ts tests how forms are read. */

const t = await tenants();

describe.each(sampledParentTypes("request"))("attachments of a %s", (kind) => {
  const path = t.attachments(kind, "acme");
  const key = t.key("acme");
  const parentId = t[kind]("acme");

  const post = (body: FormData, headers = {}) => call("POST", path, { key, body, headers });

  describe("an upload", () => {
    it("returns 201 with the whole document, an ETag and a request id", async () => {
      const response = await post(
        form({
          type: `${kind}_attachment`,
          "data[name]": "  Letter of authorization ",
          "data[notes]": "signe\u0301\r\nby hand",
          "data[file_hint]": "LOA",
          "data[reference_id]": "7B3E4C1A-0000-4000-8000-00000000ABCD",
          "data[filename]": "signed loa.pdf",
        }),
      );
      const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect([response.status, response.body]).toEqual([
        201,
        {
          type: `${kind}_attachment`,
          data: {
            id: expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/),
            name: "Letter of authorization",
            notes: "signe\u0301\r\nby hand",
            file_hint: "LOA",
            reference_id: "7b3e4c1a-0000-4000-8000-00000000abcd",
            filename: "signed loa.pdf",
            inserted_at: timestamp,
            updated_at: timestamp,
          },
          ...(kind === "request" && { associations: { request: { type: "request", data: { id: parentId } } } }),
        },
      ]);
      expect(response.headers.get("etag")).toBe('"1"');
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("x-request-id")).toMatch(/.+/);
    });

    it("has defaults for optional parts that are left out or empty, ignores unknown ones, and has the file's own name", async () => {
      const empty = ["type", "data[notes]", "data[file_hint]", "data[reference_id]", "data[filename]"];
      const parts = { ...Object.fromEntries(empty.map((name) => [name, ""])), "data[color]": "red", unknown: "1" };
      for (const [label, sent] of [
        ["left out", {}],
        ["empty", parts],
      ] as const)
        expect(attachmentOf(await post(form(sent, pdf("Gebühren – 请求.pdf")))), label).toMatchObject({
          name: "LOA",
          notes: null,
          file_hint: "DEFAULT",
          reference_id: null,
          filename: "Gebühren – 请求.pdf",
        });
    });

    it("accepts the parent's id in lower case", async () => {
      const response = await call("POST", path.replace(parentId, parentId.toLowerCase()), { key, body: form() });
      expect(response.status).toBe(201);
      if (kind === "request")
        expect(response.body).toMatchObject({ associations: { request: { data: { id: parentId } } } });
    });

    it.each<[string, (text: string) => FormData]>([
      ["/data/name", (text) => form({ "data[name]": text })],
      ["/data/filename", (text) => form({ "data[filename]": text })],
      ["/data/filename", (text) => form({}, pdf(text))],
    ])("counts the characters of %s as trimmed, not UTF-16 units or bytes", async (pointer, formWith) => {
      expect((await post(formWith(` ${"😀".repeat(255)} `))).status).toBe(201);
      const length = { sub_code: "constraint.length", detail: "must be at most 255 characters" };
      const response = await post(formWith("😀".repeat(256)));
      expect([response.status, response.body]).toMatchObject([422, { errors: [{ ...length, source: { pointer } }] }]);
      expect(invalidParametersOf(response)).toHaveLength(1);
    });

    it("has the data[filename] in place of a longer name of the file", async () => {
      const response = await post(form({ "data[filename]": "short.pdf" }, pdf(`${"x".repeat(300)}.pdf`)));
      expect(attachmentOf(response).filename).toBe("short.pdf");
    });

    it.each([" ", "\t\r\n", "\u00a0", "\u2003\ufeff"])(
      "is read without the padding of form builders: %j",
      async (blank) => {
        const [reference_id, own] = [crypto.randomUUID(), t.attachments(kind, "sibling")];
        const data = { name: "LOA", file_hint: "LOA", reference_id, filename: "a b.pdf" };
        const padded = Object.entries(data).map(([name, value]) => [`data[${name}]`, `${blank}${value}${blank}`]);
        const type = `${blank}${kind}_attachment${blank}`;
        const response = await call("POST", own, { key, body: form({ type, ...Object.fromEntries(padded) }) });
        expect([response.status, attachmentOf(response)]).toMatchObject([201, { ...data, notes: null }]);
        const notes = `${blank}Signed${blank}`.replaceAll("\r\n", "\n");
        const patched = await call("PATCH", `${own}/${attachmentOf(response).id}`, {
          key,
          json: { type, data: { name: `${blank}LOA${blank}`, file_hint: `${blank}DEFAULT`, notes } },
        });
        expect(attachmentOf(patched)).toMatchObject({ ...data, file_hint: "DEFAULT", notes });
      },
    );
  });

  describe("an invalid upload", () => {
    it("names every invalid part of the form in one response", async () => {
      const invalid = {
        type: "switch",
        "data[name]": " ",
        "data[notes]": "n".repeat(100_000),
        "data[file_hint]": "loa",
        "data[reference_id]": "no-uuid",
        "data[filename]": "a/b",
      };
      const body = form(invalid, null);
      body.append("data[notes]", "again");
      const response = await post(body);
      const errors = [
        ["/data/notes", "constraint.type", "must be given only once"],
        ["/type", "constraint.enum", `must be ${kind}_attachment`, { allowed: [`${kind}_attachment`] }],
        ["/data/file", "constraint.required", "can't be blank"],
        ["/data/name", "constraint.required", "can't be blank"],
        ["/data/notes", "constraint.length", "must be at most 4000 characters", { maximum: 4_000 }],
        ["/data/file_hint", "constraint.enum", "must be one of DEFAULT, LOA", { allowed: ["DEFAULT", "LOA"] }],
        ["/data/reference_id", "constraint.format", "must be a UUID"],
        [
          "/data/filename",
          "constraint.format",
          "must not contain /, \\, control characters, nor those that change the direction of text",
        ],
      ].map(([pointer, sub_code, detail, params]) => ({
        code: "invalid_parameter",
        title: "Invalid Parameter",
        detail,
        sub_code,
        source: { in: "body", pointer },
        ...(params && { params }),
      }));
      expect([response.status, response.body]).toEqual([422, { errors }]);
    });

    it.each<[string, FormData, string]>([
      ["without a name", form({ "data[name]": undefined }), "/data/name constraint.required"],
      ["with an empty name", form({ "data[name]": "" }), "/data/name constraint.required"],
      ["with an empty file", form({}, pdf("loa.pdf", "")), "/data/file constraint.length"],
      ["with a text in place of the file", form({ "data[file]": "loa.pdf" }, null), "/data/file constraint.type"],
      ["with a long filename", form({ "data[filename]": "f".repeat(256) }), "/data/filename constraint.length"],
    ])("%s returns 422", async (_, body, parameter) => {
      const response = await post(body);
      expect([response.status, invalidParametersOf(response)]).toEqual([422, [`body ${parameter}`]]);
    });

    const controls = [
      "\u0001",
      "\u0008",
      "\u000b",
      "\u000c",
      "\u000e",
      "\u001b",
      "\u001f",
      "\u007f",
      "\u0080",
      "\u0085",
      "\u009f",
    ];
    const directions = Array.from("\u061c\u200e\u200f\u202a\u202e\u2066\u2069");
    it.each([...controls, ...directions, "\t", "\n"])(
      "with %j in its name or, unless tabs and lines, its notes returns 422",
      async (character) => {
        const sent = { "data[name]": `a${character}b`, "data[notes]": `a${character}b` };
        const errors = ["body /data/name constraint.format"];
        if (controls.includes(character)) errors.push("body /data/notes constraint.format");
        expect(invalidParametersOf(await post(form(sent)))).toEqual(errors);
      },
    );

    it("with a NUL in a text names the part, as it may be in another charset", async () => {
      const response = await post(form({ "data[filename]": "a\0" }));
      const malformed = { sub_code: "malformed", detail: "can't be read as a form: data[filename] contains a NUL" };
      expect([response.status, response.body]).toMatchObject([422, { errors: [malformed] }]);
    });

    const refused = Array.from("\\\x1f\x7f\x9f\u061c\u200e\u200f\u202a\u202e\u2066\u2069", (one) => `a${one}`);
    it.each([".", "..", " ", ...refused])("with the filename %j returns 422", async (name) => {
      const response = await post(form({ "data[filename]": name }));
      expect(invalidParametersOf(response)).toEqual(["body /data/filename constraint.format"]);
    });

    it("with a file over the limit returns 413, which points to a direct upload, from the function or from the gateway, but has no document above 10 MB", async () => {
      const postFile = (bytes: number) => post(form({}, new File([new Uint8Array(bytes)], "big.bin")));
      expect((await postFile(4_600_000)).status).toBe(201);
      for (const bytes of [4_600_001, 9_000_000]) {
        const response = await postFile(bytes);
        expect([response.status, codeOf(response)], `${bytes} bytes`).toEqual([413, "payload_too_large"]);
        const params = { limit_bytes: 4_600_000, direct_upload: true };
        expect(response.body, `${bytes} bytes`).toMatchObject({ errors: [{ params }] });
      }
      const init = { body: form({}, new File([new Uint8Array(11_000_000)], "big.bin")) };
      const response = await fetchFromService({ method: "POST", path, init });
      expect([response.status, await response.text()]).toEqual([413, expect.stringMatching(/^HTTP content length/)]);
    });

    it("with a file over the limit returns 413, even if an earlier part cannot be read", async () => {
      const big = new File([new Uint8Array(4_600_001)], "big.bin");
      expect(codeOf(await post(form({ "data[notes]": "\0" }, big)))).toBe("payload_too_large");
    });
  });

  describe("a reference_id", () => {
    const reference = "11111111-2222-3333-4444-555555555555";

    it("is unique under its parent regardless of case, names the attachment that has it, and can be used again at once after a DELETE", async () => {
      const first = await upload(path, key, { "data[reference_id]": reference });
      await upload(t.attachments(kind, "sibling"), key, { "data[reference_id]": reference });
      const again = await post(form({ "data[reference_id]": reference.toUpperCase() }));
      const taken = takenBody("/data/reference_id", { id: first.id, type: `${kind}_attachment` });
      expect([again.status, again.body]).toEqual([422, taken]);
      expect((await call("DELETE", `${path}/${first.id}`, { key })).status).toBe(200);
      expect((await post(form({ "data[reference_id]": reference }))).status).toBe(201);
    });

    it("is given to one of 12 concurrent uploads, and the total counts only that one", async () => {
      const own = t.attachments(kind, "done");
      const body = () => form({ "data[reference_id]": reference });
      const responses = await atOnce(12, () => call("POST", own, { key, body: body() }));
      expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(422)]);
      expect(pageOf(await call("GET", own, { key }))).toMatchObject({ total: 1 });
    });
  });
});
