import * as fc from "fast-check";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod/mini";
import { createRequestAttachmentRoute, updateRequestAttachmentRoute } from "../../../shared/attachments/routes.ts";
import {
  cleanUp,
  currentDeadline,
  limitAttempt,
  limitCall,
  remainingMs,
  withDeadline,
} from "../../../shared/deadline.ts";
import { ApiError, isUnavailable, unavailableAs503 } from "../../../shared/errors.ts";
import { readForm } from "../../../shared/http/form.ts";
import { idempotencyOf, readIdempotencyKey } from "../../../shared/http/idempotency.ts";
import { readInput, readJson } from "../../../shared/http/input.ts";
import { header, listHeader, pathId, pathIds } from "../../../shared/http/request.ts";
import {
  createdReply,
  documentReply,
  etag,
  listReply,
  precondition,
  responseOrNotModified,
} from "../../../shared/http/responses.ts";
import { limits } from "../../../shared/limits.ts";
import { showSwitchRoute } from "../../../shared/switches/routes.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { eventOf, type Input } from "../../support/requests/event.ts";

/** What the middleware decides about a request and its response, called as functions. */

afterEach(() => void vi.unstubAllEnvs());

/** The status and the details of an error, or what was returned. */
const outcomeOf = async (work: () => unknown) => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.status, ...error.body.errors.map(({ detail }) => detail)];
  }
};

const ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

describe("a header", () => {
  it("is found by its name in any case, and lists by all their lines", () => {
    const headers = { "If-MATCH": '"2"' };
    const event = { headers, multiValueHeaders: { "if-match": ['"1"', '"2"'], other: ["x"], none: undefined } };
    expect([header(event, "if-match"), header(event, "absent")]).toEqual(['"2"', undefined]);
    expect([listHeader(event, "If-Match"), listHeader(event, "none")]).toEqual(['"1", "2"', undefined]);
    expect(listHeader({ headers, multiValueHeaders: {} }, "If-Match")).toBe('"2"');
  });

  it.each([
    [ulid, ulid, ulid],
    [ulid.toLowerCase(), ulid, ulid],
    [encodeURIComponent(` ${ulid}`), undefined, ` ${ulid}`],
    ["%E0%A4%A", undefined, "%E0%A4%A"],
    ["0".repeat(26), undefined, "0".repeat(26)],
    [undefined, undefined, ""],
  ])("id in the path %j is read as %s", (given, id, requestedId) => {
    const event = { pathParameters: given === undefined ? null : { id: given } };
    expect(pathId(event, "id")).toEqual({ id, requestedId });
    expect(pathIds(event)).toEqual(id === ulid ? { id } : {});
  });
});

describe("an ETag", () => {
  const [plain, extended] = [etag(3), etag(3, { account: { id: "1" } })];
  it("is the version, with a hash of what is included", () => {
    expect(plain).toBe('"3"');
    expect(extended).toMatch(/^"3\.[\w-]{16}"$/);
    expect(etag(3, { account: { id: "2" } })).not.toBe(extended);
  });

  it.each([
    [undefined, true],
    ["*", true],
    [" * ", true],
    ['"3"', true],
    [extended, true],
    ['"2", "3"', true],
    ['"a,b", "3"', true],
    ['"2"', false],
    ['"33"', false],
    ['"3" "', true],
    ['W/"3"', false],
    ['"03"', false],
    ['"x3"', false],
    ['"3x"', false],
    ['"*"', false],
    ["3", false],
    ["", false],
  ])("in If-Match: %s holds for version 3: %s", (given, holds) => {
    const check = precondition(eventOf(showSwitchRoute, { headers: given === undefined ? {} : { "if-match": given } }));
    if (holds) expect(check(3)).toBe(undefined);
    else expect(() => check(3)).toThrow(expect.objectContaining({ status: 412 }));
  });

  it.each([
    [undefined, 200],
    ["*", 304],
    ['"3"', 304],
    ['W/"3"', 304],
    ['"2", W/"3"', 304],
    ['"2"', 200],
    [extended, 200],
    ['xW/"3"', 304],
  ])("in If-None-Match: %s makes the response %i", (given, status) => {
    const event = eventOf(showSwitchRoute, { headers: given === undefined ? {} : { "if-none-match": given } });
    const full = responseOrNotModified(event, 200, documentReply({ a: 1 }, 3));
    const headers = { "Cache-Control": "no-store", "X-Request-Id": event.requestContext.requestId, ETag: plain };
    const type = { "Content-Type": "application/json" };
    const unmodified = { statusCode: 304, headers, body: "" };
    const modified = { statusCode: 200, headers: { ...type, ...headers }, body: '{"a":1}' };
    expect(full).toEqual(status === 304 ? unmodified : modified);
    expect(responseOrNotModified(event, 200, { body: {} }).statusCode).toBe(200);
  });

  it("of two digits is compared whole", () => {
    const check = precondition(eventOf(showSwitchRoute, { headers: { "if-match": '"12.abc-_"' } }));
    expect(check(12)).toBe(undefined);
    expect(() => check(1)).toThrow(expect.objectContaining({ status: 412 }));
    const after = precondition(eventOf(showSwitchRoute, { headers: { "if-match": '"12"x' } }));
    expect(after(12)).toBe(undefined);
  });

  it("is in the replies, with what is logged", () => {
    const body = { data: { id: "1" } };
    expect(documentReply(body, 3, { bytes: 15 })).toEqual({ body, headers: { ETag: plain }, logged: { bytes: 15 } });
    expect(createdReply(body, { version: 3, bytes: 15 }, false)).toEqual({
      body,
      headers: { ETag: plain },
      logged: { created_id: "1", bytes: 15 },
    });
    expect(createdReply(body, { version: 3 }, true)).toEqual({
      body,
      headers: { ETag: plain, "Idempotency-Replayed": "true" },
    });
    const included = { account: { id: "1" } };
    expect(documentReply(body, 3, { included })).toMatchObject({ body, headers: { ETag: etag(3, included) } });
    const page = { items: [1, 2], after: "a", before: null, limit: 2 };
    expect(listReply(page, 5, (item) => item * 10)).toEqual({
      body: { type: "list", data: { items: [10, 20], page_info: { after: "a", before: null, limit: 2, total: 5 } } },
    });
  });
});

describe("a JSON body", () => {
  const { reads } = updateRequestAttachmentRoute;
  const read = (input: Input) =>
    outcomeOf(async () => (await readJson(eventOf(updateRequestAttachmentRoute, input), reads)).input);
  const json = { "Content-Type": "application/json" };

  it.each([
    ["application/json", true],
    ["APPLICATION/JSON ; charset=utf-8", true],
    ["application/json;", true],
    ["application/jsonx", false],
    ["text/application/json", false],
    ["", false],
    [undefined, false],
  ])("of the type %j is read: %s", async (type, isRead) => {
    const headers = type === undefined ? {} : { "Content-Type": type };
    const refused = [415, "The Content-Type must be application/json."];
    expect(await read({ headers, body: "[]" })).toEqual(isRead ? [] : refused);
  });

  it.each([
    ["", true],
    ["identity", true],
    [" IDENTITY ", true],
    ["gzip", false],
    ["identity, gzip", false],
    ["xidentity", false],
  ])("with the Content-Encoding %j is read: %s", async (encoding, isRead) => {
    const event = eventOf(updateRequestAttachmentRoute, {
      headers: { ...json, "Content-Encoding": encoding },
      body: "[]",
    });
    const refused = { detail: "The body must not have a Content-Encoding.", params: { expected: "application/json" } };
    const result = await readJson(event, reads).catch(({ body }) => body);
    expect(result).toMatchObject(isRead ? { input: [] } : { errors: [refused] });
  });

  it.each<[string, string | Uint8Array | undefined, unknown]>([
    ["in text", '"é"', "é"],
    ["in base64", Buffer.from('"é"'), "é"],
    ["of the largest size", `"${" ".repeat(limits.jsonBytes - 2)}"`, " ".repeat(limits.jsonBytes - 2)],
    [
      "too large by a byte",
      `"${" ".repeat(limits.jsonBytes - 1)}"`,
      [413, expect.stringContaining("than 1048576 bytes.")],
    ],
    ["not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), [422, "is not valid UTF-8"]],
    ["with a byte order mark", '\ufeff"x"', [422, "must not begin with a byte order mark"]],
    ["not JSON", "{", [422, "is not valid JSON"]],
    ["none", undefined, [422, "is not valid JSON"]],
  ])("%s", async (_, body, result) => {
    expect(await read({ headers: json, ...(body !== undefined && { body }) })).toEqual(result);
  });

  it("is compared without defaults, and reports every problem, those of the headers last", async () => {
    const schema = z.object({ data: z.object({ a: z.string(), b: z._default(z.number(), 1) }) });
    const isSame = (sent: unknown, current: unknown) => sent === current;
    const rules = (sent: unknown) =>
      JSON.stringify(sent).includes("bad")
        ? [{ in: "body", pointer: "/data/a", sub_code: "constraint.format", detail: "is bad" } as const]
        : [];
    const eventWith = (body: object) =>
      eventOf(updateRequestAttachmentRoute, { headers: json, body: JSON.stringify(body) });
    const own = { from: "json", schema, immutable: { fixed: isSame }, rules } as const;
    const input = (body: object, headers: readonly string[] = []) => {
      const problems = headers.map(
        (detail) => ({ in: "header", pointer: "/X", sub_code: "malformed", detail }) as const,
      );
      return outcomeOf(() => readInput(eventWith(body), own, readJson, { fixed: 1 }, problems));
    };
    const parsed = { input: { data: { a: "x", b: 1 } } };
    expect(await input({ data: { a: "x", fixed: 1 } })).toEqual({ ...parsed, compared: [["a", "x"]] });
    const both = Object.entries({ a: "x", b: 1 });
    expect(await input({ data: { a: "x", b: 1 } })).toEqual({ ...parsed, compared: both });
    const all = [422, "can't be changed", "is bad", "last"];
    expect(await input({ data: { a: "bad", fixed: 2 } }, ["last"])).toEqual(all);
    const loose = { from: "json", schema: z.looseObject({}), immutable: { fixed: isSame } } as const;
    const fixed = readInput(eventWith({ data: { fixed: 2 } }), loose, readJson, undefined, []);
    const source = { in: "body", pointer: "/data/fixed" };
    const error = { code: "invalid_parameter", title: "Invalid Parameter", sub_code: "constraint.immutable" };
    await expect(fixed).rejects.toMatchObject({ body: { errors: [{ ...error, detail: "can't be changed", source }] } });
    expect(await input({ data: { fixed: 2 } })).toEqual([422, "can't be blank", "can't be changed"]);
    expect(await input({ data: { a: "x" } }, ["the only one"])).toEqual([422, "the only one"]);
    expect(await input({ data: { fixed: null, a: "x" } })).toEqual([422, "can't be changed"]);
    expect(await input({})).toEqual([422, "can't be blank"]);
  });

  it("is not read where a route reads a query or nothing", async () => {
    const schema = z.object({ n: z.string() });
    const query = (values: Record<string, string>) =>
      outcomeOf(() =>
        readInput(eventOf(showSwitchRoute, { query: values }), { from: "query", schema }, readJson, undefined, []),
      );
    expect(await query({ n: "1" })).toEqual({ input: { n: "1" }, compared: undefined });
    expect(await query({})).toEqual([422, "can't be blank"]);
    const nothing = { from: "nothing", schema: z.undefined() } as const;
    const event = eventOf(showSwitchRoute, { body: "{" });
    expect(await readInput(event, nothing, readJson, undefined, [])).toEqual({ input: undefined, compared: undefined });
  });
});

describe("an Idempotency-Key", () => {
  const now = new Date("2026-11-21T10:00:00.999Z");
  const seconds = Math.floor(now.getTime() / 1000);
  const apiKey = { id: "1", account: `account-${crypto.randomUUID()}`, user: "1", expires_at: null, revoked: false };
  const principal = { apiKey, user: { id: "1", account: "1", permissions: [], disabled: false } };
  const event = (key?: string, id = ulid, route = createRequestAttachmentRoute) =>
    eventOf(route, { ids: { request_id: id }, ...(key !== undefined && { headers: { "Idempotency-Key": key } }) });
  const present = (key?: string, route = createRequestAttachmentRoute) =>
    readIdempotencyKey(event(key, ulid, route), Promise.resolve(apiKey));
  const use = async (key: string, compared: unknown = [["a", 1]], id?: string, name = "create") =>
    idempotencyOf(await present(key), { name }, event(key, id), principal, compared, now);

  it.each([
    ["", ["must be 1 to 255 characters"]],
    ["x", []],
    ["x".repeat(254), []],
    ["x".repeat(255), []],
    ["x".repeat(256), ["must be 1 to 255 characters"]],
    ["!~", []],
    ["a b", ["must be visible ASCII characters"]],
    ["\u007f", ["must be visible ASCII characters"]],
    ["é", ["must be visible ASCII characters"]],
  ])("%j has the problems %j", async (key, problems) => {
    const found = await present(key);
    const reason = (detail: string) =>
      detail.includes("1 to")
        ? { sub_code: "constraint.length", params: { minimum: 1, maximum: 255 } }
        : { sub_code: "constraint.format" };
    const place = { in: "header", pointer: "/Idempotency-Key" };
    expect(found?.problems).toEqual(problems.map((detail) => ({ ...place, ...reason(detail), detail })));
  });

  it("is read from a POST only, also for an unknown API key", async () => {
    expect(await present()).toBe(undefined);
    expect(await readIdempotencyKey({ ...event("x"), httpMethod: "PATCH" }, Promise.resolve(apiKey))).toBe(undefined);
    const unknown = await readIdempotencyKey(event("x"), Promise.resolve(undefined));
    expect(unknown).toEqual({ key: "x", stored: undefined, problems: [] });
    expect(idempotencyOf(undefined, { name: "create" }, event(), principal, [], now)).toBe(undefined);
  });

  it("repeats what was created with the same body under the same path for a day", async () => {
    const created = { id: "7", at: "2026-11-21T10:00:00.000Z" };
    const first = await use("one");
    expect(first?.created).toBe(undefined);
    const write = first?.write(created);
    expect(write).toMatchObject({
      put: { ...keys.idempotency(apiKey.account, "one"), ...created, expires_at: seconds + 86_400 },
      when: { absentOrExpiredAt: seconds },
    });
    await transact({ write });
    expect((await use("one"))?.created).toEqual(created);
    const refused = [422, "has already been used with another body"];
    expect(await outcomeOf(() => use("one", [["a", 2]]))).toEqual(refused);
    expect(await outcomeOf(() => use("one", undefined, "0".repeat(26)))).toEqual(refused);
    expect(await outcomeOf(() => use("one", undefined, undefined, "another"))).toEqual(refused);
    expect((await use("two"))?.created).toBe(undefined);
  });

  it.each([
    [0, undefined],
    [1, { id: "7", at: "then" }],
  ])("is remembered while it expires in more than no second: %i", async (left, created) => {
    const key = `expires-${left}`;
    const write = (await use(key))?.write({ id: "7", at: "then" });
    if (write && "put" in write) await transact({ write: { put: { ...write.put, expires_at: seconds + left } } });
    expect((await use(key))?.created).toEqual(created);
  });

  it("compares a file by its SHA-256, not by its bytes", async () => {
    const file = (byte: number, sha256: string) => [["file", { content: Uint8Array.of(byte), sha256 }]];
    await transact({ write: (await use("file", file(1, "a")))?.write({ id: "7", at: "then" }) });
    expect((await use("file", file(2, "a")))?.created).toEqual({ id: "7", at: "then" });
    expect(await outcomeOf(() => use("file", file(1, "b")))).toEqual([422, "has already been used with another body"]);
  });
});

describe("a form", () => {
  type Part = readonly [headers: string, content: string | Uint8Array];
  const disposition = (name: string, more = "") => `Content-Disposition: form-data; name="${name}"${more}`;
  const bodyOf = (parts: readonly Part[], boundary: string, after = "\r\n") => {
    const head = (headers: string) => Buffer.from(`--${boundary}\r\n${headers}\r\n\r\n`);
    const all = parts.flatMap(([headers, content]) => [head(headers), Buffer.from(content), Buffer.from("\r\n")]);
    return Buffer.concat([...all, Buffer.from(`--${boundary}--${after}`)]);
  };
  const multipart = (boundary: string) => ({ "Content-Type": `multipart/form-data; boundary=${boundary}` });
  const { reads } = createRequestAttachmentRoute;
  const read = (input: Input) => outcomeOf(() => readForm(eventOf(createRequestAttachmentRoute, input), reads));
  const form = (parts: readonly Part[], boundary = "limit") =>
    read({ headers: multipart(boundary), body: bodyOf(parts, boundary) });
  const Parsed = z.object({ input: z.object({ type: z.unknown(), data: z.record(z.string(), z.unknown()) }) });
  const dataOf = async (...parts: readonly Part[]) => {
    const result = await form(parts);
    return Array.isArray(result) ? result : z.parse(Parsed, result).input.data;
  };
  const nameOf = (content: string | Uint8Array, more = ""): Part => [disposition("data[name]", more), content];
  const name = nameOf("LOA");
  const file = (more: string, content = "%PDF"): Part => [disposition("data[file]", more), content];
  const fileOf = async (part: Part) => z.parse(z.looseObject({}), Object(await dataOf(part)).file);

  it.each([
    ["multipart/form-data; boundary=limit", true],
    ["MULTIPART/FORM-DATA ;boundary=limit", true],
    ["multipart/form-datax; boundary=limit", false],
    ["x multipart/form-data; boundary=limit", false],
    ["application/json", false],
    [undefined, false],
  ])("of the type %j is read: %s", async (type, isRead) => {
    const headers = type === undefined ? {} : { "Content-Type": type };
    const result = await read({ headers, body: bodyOf([name], "limit", "\r\nWhat follows a form is ignored.") });
    const parsed = { input: { type: undefined, data: { name: "LOA" } }, problems: [] };
    expect(result).toEqual(isRead ? parsed : [415, "The Content-Type must be multipart/form-data."]);
  });

  it.each([
    ["padding after a delimiter", "--limit \t\r\n", "--limit-- \t", true],
    ["a line break before it, and none at its end", "\r\n--limit\r\n", "--limit--", true],
    ["an end of one dash", "--limit\r\n", "--limit-", false],
    ["an end with a line feed", "--limit\r\n", "--limit--\n", false],
    ["no end", "--limit\r\n", "--limit", false],
    ["a text after a delimiter", "--limit x\r\n", "--limit--", false],
  ])("with %s is read or refused: %j, %j", async (_, start, end, isRead) => {
    const parsed = { input: { type: undefined, data: { name: "LOA" } }, problems: [] };
    const body = Buffer.from(`${start}${name[0]}\r\n\r\n${name[1]}\r\n${end}`);
    const refused = [422, expect.stringMatching(/as a form: it has/)];
    expect(await read({ headers: multipart("limit"), body })).toEqual(isRead ? parsed : refused);
  });

  it("never loses a part of a file that contains its boundary", async () => {
    const pieces = ["\r\n--limit", "\r\n--limit--", "\r\n", "\n", "--", "-", " ", "\t", "x", "x: y", "\r\n\r\n"];
    const contents = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((all) => all.join(""));
    const keptOrRefused = async (content: string) => {
      const outcome = await dataOf(name, file('; filename="a"', content));
      const kept = { name: "LOA", file: { content: new Uint8Array(Buffer.from(content)) } };
      const refused = [422, expect.stringMatching(/as a form: (it|a part) /)];
      expect(outcome, JSON.stringify(content)).toMatchObject(Array.isArray(outcome) ? refused : kept);
    };
    const lines = ["", "X", "-", " -- x", "\t", "--", "-- \r\nx", "\r\n\r\nx", "\r\nx", "\r\n"];
    for (const line of lines) await keptOrRefused(`a\r\n--limit${line}b`);
    await fc.assert(fc.asyncProperty(contents, keptOrRefused), { numRuns: 500 });
  });

  it.each([
    [1, true],
    [70, true],
    [71, false],
  ])("with a boundary of %i characters is read: %s", async (length, isRead) => {
    const refused = [422, "can't be read as a form: its boundary must have 1 to 70 characters"];
    const parsed = { input: { type: undefined, data: { name: "LOA" } }, problems: [] };
    expect(await form([name], "b".repeat(length))).toEqual(isRead ? parsed : refused);
  });

  it("without a boundary, as text, or cut off is refused", async () => {
    const [body, headers] = [bodyOf([name], "limit"), multipart("limit")];
    const none = [422, "can't be read as a form: its boundary must have 1 to 70 characters"];
    expect(await read({ headers: { "Content-Type": "multipart/form-data" }, body })).toEqual(none);
    expect(await read({ headers, body: "text" })).toEqual([500, "Something went wrong on our side."]);
    const unreadable = [422, expect.stringMatching(/as a form: ./)];
    expect(await read({ headers, body: body.subarray(0, -12) })).toEqual(unreadable);
    expect(await read({ headers })).toEqual(unreadable);
  });

  it.each([
    [100, true],
    [101, false],
  ])("of %i parts is read: %s", async (count, isRead) => {
    const parts = [...Array.from({ length: count - 1 }, (): Part => [disposition("unknown"), "x"]), name];
    const refused = [422, "can't be read as a form: it has more than 100 parts"];
    expect(await dataOf(...parts)).toEqual(isRead ? { name: "LOA" } : refused);
  });

  it.each([
    [0, true],
    [1, false],
  ])("whose headers have %i bytes too many is read: %s", async (more, isRead) => {
    const own = (part: Part) => Buffer.byteLength(`${part[0]}\r\n\r\n`);
    const rest = limits.form.headerBytes + more - own(name);
    const long = (length: number): Part => [disposition("x".repeat(length - own([disposition(""), ""]))), "x"];
    const refused = [422, "can't be read as a form: its headers have more than 32768 bytes"];
    expect(await dataOf(long(16_000), long(rest - 16_000), name)).toEqual(isRead ? { name: "LOA" } : refused);
  });

  const refusedAs = (why: string) => [422, `can't be read as a form: ${why}`];
  const encoded = (encoding: string, data: object): [string, Part, object] => {
    const part = nameOf("LOA", `\r\nContent-Transfer-Encoding: ${encoding}`);
    return [`the encoding ${encoding}`, part, data];
  };
  it.each([
    ["a text", name, { name: "LOA" }],
    ["no text", nameOf(""), {}],
    ["an unknown part", [disposition("data[other]"), "x"], {}],
    ["a part that is no form data", ['Content-Disposition: attachment; name="data[name]"', "x"], {}],
    ["a part without a disposition", ["X: y", "x"], refusedAs("a part has no Content-Disposition")],
    ["a folded header", ['Content-Disposition: form-data;\r\n name="data[name]"', "LOA"], { name: "LOA" }],
    ["a line that is no header", nameOf("LOA", "\r\nX y"), refusedAs("a part has a line that is not a header")],
    ["JSON", nameOf('"LOA"', "\r\nContent-Type: application/json ; x=y"), { name: "LOA" }],
    ["JSON's null", nameOf("null", "\r\nContent-Type: application/json"), {}],
    ["JSON that is no text", nameOf("[1]", "\r\nContent-Type: application/json"), { name: "[1]" }],
    ["no JSON", nameOf("LOA", "\r\nContent-Type: application/json"), { name: "LOA" }],
    ["JSON sent as text", nameOf('"LOA"'), { name: '"LOA"' }],
    ["a long text", nameOf("x".repeat(65_536)), { name: "x".repeat(65_536) }],
    ["a text that is too long", nameOf("x".repeat(65_537)), refusedAs("data[name] has more than 65536 bytes")],
    ["a text that is not UTF-8", nameOf(Uint8Array.of(0xff)), refusedAs("data[name] is not valid UTF-8")],
    ...["7bit", "8bit", "BINARY", ""].map((encoding) => encoded(encoding, { name: "LOA" })),
    ...["base64", "x7bit", "8bitx"].map((encoding) =>
      encoded(encoding, refusedAs(`data[name] has the Content-Transfer-Encoding ${encoding}`)),
    ),
    ["a file without a name or a type", file("", "loa.pdf"), { file: "loa.pdf" }],
  ] satisfies [string, Part, object][])("with %s", async (_, part, data) => {
    expect(await dataOf(part)).toEqual(data);
  });

  it("has the file, and not a text of the same name beside it", async () => {
    const [text, first, second] = [file("", "a.pdf"), file('; filename="a"'), file('; filename="b"')];
    const kept = { file: { filename: "a" } };
    for (const parts of [
      [text, first],
      [first, text, text],
    ])
      expect(await dataOf(...parts)).toMatchObject(kept);
    const problems = [{ pointer: "/data/file", detail: "must be given only once" }];
    expect(await form([first, text, second])).toMatchObject({ input: { data: kept }, problems });
  });

  it("has its type, and each part once", async () => {
    const twice = await form([name, name, [disposition("type"), "a"], [disposition("type"), "b"]]);
    const problem = { in: "body", sub_code: "constraint.type", detail: "must be given only once" };
    const problems = ["/data/name", "/type"].map((pointer) => ({ ...problem, pointer }));
    expect(twice).toEqual({ input: { type: "a", data: { name: "LOA" } }, problems });
  });

  it.each([
    [15, true],
    [16, false],
  ])("with a file of %i bytes, of at most 15, is read: %s", async (bytes, isRead) => {
    vi.stubEnv("MAX_FILE_BYTES", "15");
    const detail = "The body or the file is larger than 15 bytes. A larger file needs a direct upload.";
    const result = await dataOf(file('; filename="a.pdf"', "x".repeat(bytes)));
    expect(Array.isArray(result) ? result : "read").toEqual(isRead ? "read" : [413, detail]);
  });

  it("has a file with its SHA-256", async () => {
    expect(await fileOf(file('; filename="a.pdf"\r\nContent-Type: application/PDF', "abcde"))).toEqual({
      content: new Uint8Array(Buffer.from("abcde")),
      sha256: "36bbe50ed96841d10443bcb670d6554f0a34b761be67ec9c4a8ad2c0c44ca42c",
      filename: "a.pdf",
      contentType: "application/pdf",
    });
  });

  it.each([
    ['; filename="a.pdf"', "a.pdf", "text/plain"],
    ["\r\nContent-Type: application/pdf", "attachment", "application/pdf"],
    [`; filename="a.pdf"\r\nContent-Type: ${"x".repeat(61)}/y`, "a.pdf", "application/octet-stream"],
    ['; filename=""', "attachment", "text/plain"],
    ['; filename="."', "attachment", "text/plain"],
    ['; filename=".."', "attachment", "text/plain"],
    ['; filename="..."', "...", "text/plain"],
    ['; filename="../a/b.pdf"', "b.pdf", "text/plain"],
    ['; filename="C:\\\\a\\b.pdf"', "b.pdf", "text/plain"],
    ['; filename="a\\"b.pdf"', 'a"b.pdf', "text/plain"],
    ['; filename="a%22b%0D%0A.pdf"', 'a"b.pdf', "text/plain"],
    ['; filename=" a .pdf "', "a .pdf", "text/plain"],
    ['; filename="é.pdf"', "é.pdf", "text/plain"],
    ["; filename=\"a.pdf\"; filename*=UTF-8''%E2%82%AC.pdf", "€.pdf", "text/plain"],
    ["; filename*=UTF-8''%ff.pdf", "attachment", "text/plain"],
  ])("with a file named %s", async (more, filename, contentType) => {
    expect(await fileOf(file(more))).toMatchObject({ filename, contentType });
  });

  it.each([
    ["of 255 characters", "x".repeat(255), "x".repeat(255)],
    ["of 256 characters", "x".repeat(256), "x".repeat(255)],
    ["of 256 characters with an extension", `${"x".repeat(252)}.pdf`, `${"x".repeat(251)}.pdf`],
    ["of 255 characters beyond 16 bits", "😀".repeat(255), "😀".repeat(255)],
    ["of 256 characters with a space where it is shortened", `${"x".repeat(254)} xyz`, "x".repeat(254)],
    ["with the longest extension", `${"x".repeat(250)}.${"y".repeat(20)}`, `${"x".repeat(234)}.${"y".repeat(20)}`],
    ["with too long an extension", `${"x".repeat(250)}.${"y".repeat(21)}`, `${"x".repeat(250)}.yyyy`],
    ["with a space after its last dot", `${"x".repeat(250)}.y zyxw`, `${"x".repeat(250)}.y zy`],
    ["with a dot in the middle", `${"x".repeat(250)}.y.pdfx`, `${"x".repeat(250)}.pdfx`],
  ])("with a file whose name is %s", async (_, given, filename) => {
    expect(await fileOf(file(`; filename="${given}"`))).toMatchObject({ filename });
  });
});

describe("an error of AWS", () => {
  const named = (name: string, properties = {}) => Object.assign(new Error("injected"), { name, ...properties });
  it.each([
    ...["InternalServerError", "InternalError", "LimitExceededException", "ProvisionedThroughputExceededException"],
    ...["RequestLimitExceeded", "RequestTimeout", "ServiceUnavailable", "SlowDown", "ThrottlingException"],
    ...["TimeoutError", "TransactionConflictException", "TransactionInProgressException"],
  ])("named %s means that the service is unavailable", (name) => {
    expect(isUnavailable(named(name))).toBe(true);
  });

  it.each<[string, unknown, boolean]>([
    ["status 500", named("x", { $metadata: { httpStatusCode: 500 } }), true],
    ["status 499", named("x", { $metadata: { httpStatusCode: 499 } }), false],
    ["a status that is no number", named("x", { $metadata: { httpStatusCode: "500" } }), false],
    ["no status", named("x", { $metadata: {} }), false],
    ["no metadata", named("x", { $metadata: null }), false],
    ["the code of a broken connection", named("x", { code: "EPIPE" }), true],
    ["the code of a broken stream", named("x", { code: "ERR_STREAM_PREMATURE_CLOSE" }), true],
    ["another code", named("x", { code: "ERR_INVALID_ARG" }), false],
    ["no letters", named("x", { code: "E1" }), false],
    ["a code that is a number", named("x", { code: 7 }), false],
    ["a body that cannot be read", named("x", { $responseBodyText: "<" }), true],
    ["a body that cannot be parsed", Object.assign(new SyntaxError(), { $metadata: {} }), true],
    ["a mistake of the code", new SyntaxError(), false],
    ["no error", { name: "SlowDown" }, false],
  ])("with %s: %s", (_, error, unavailable) => {
    expect(isUnavailable(error)).toBe(unavailable);
    const thrown = unavailable ? { status: 503, cause: error } : error;
    expect(() => unavailableAs503(error)).toThrow(expect.objectContaining(thrown));
  });
});

describe("a deadline", () => {
  it("is six seconds before the function's timeout, and four more for what must follow a failed call", async () => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);
    expect([currentDeadline(), remainingMs()]).toEqual([undefined, Number.POSITIVE_INFINITY]);
    await withDeadline(10_000, async () => {
      expect(remainingMs()).toBe(4_000);
      expect(await cleanUp(async () => remainingMs())).toBe(4_000);
    });
    await withDeadline(29_000, async () =>
      expect([remainingMs(), await cleanUp(async () => remainingMs())]).toEqual([23_000, 4_000]),
    );
    expect(await cleanUp(async () => remainingMs())).toBe(Number.POSITIVE_INFINITY);
    vi.restoreAllMocks();
  });

  const context = { clientName: "DynamoDBClient", commandName: "GetItemCommand" };
  const described = { call: "dynamodb GetItem" };
  const late = { name: "TimeoutError", message: "The request's deadline has passed." };

  it("ends a call and its attempts, whose number is in the error", async () => {
    const failing = { ...context };
    const attempt = limitAttempt(async () => {
      throw new Error("injected");
    }, failing);
    const twice = limitCall(() => attempt({}).catch(() => attempt({})), failing);
    await expect(twice({})).rejects.toMatchObject({ message: "injected", ...described, attempts: 2 });
    const never = limitCall(() => new Promise(() => undefined), { ...context });
    await expect(withDeadline(6_010, () => never({}))).rejects.toMatchObject({ ...late, ...described, attempts: 0 });
    const works = limitCall(async (input: number) => input + 1, { ...context });
    expect([await works(1), await withDeadline(29_000, () => works(1))]).toEqual([2, 2]);
  });

  it("that has passed lets no call and no attempt start", async () => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);
    onTestFinished(() => void vi.restoreAllMocks());
    let started = 0;
    const send = async () => {
      started += 1;
    };
    await expect(withDeadline(6_000, () => limitCall(send, { ...context })({}))).rejects.toMatchObject(late);
    await expect(withDeadline(6_000, () => limitAttempt(send, { ...context })({}))).rejects.toMatchObject(late);
    expect(started).toBe(0);
    await withDeadline(6_001, () => limitAttempt(send, { ...context })({}));
    expect(started).toBe(1);
  });
});
