import type { Context } from "aws-lambda";
import * as fc from "fast-check";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { lambdaContext } from "../../../infra/local/proxy-event.ts";
import { createAttachmentRoute, updateAttachmentRoute } from "../../../shared/attachments/routes.ts";
import { cleanUp, limitAttempt, limitCall, remainingMs, withDeadline } from "../../../shared/deadline.ts";
import { ApiError, isUnavailable, unavailableAs503 } from "../../../shared/errors.ts";
import { endpoint } from "../../../shared/http/endpoint.ts";
import { readForm } from "../../../shared/http/form.ts";
import { idempotencyOf, readIdempotencyKey } from "../../../shared/http/idempotency.ts";
import { readJson } from "../../../shared/http/input.ts";
import { header, listHeader, pathId, pathIds } from "../../../shared/http/request.ts";
import {
  createdReply,
  documentReply,
  etag,
  precondition,
  responseOrNotModified,
} from "../../../shared/http/responses.ts";
import { limits } from "../../../shared/limits.ts";
import { showSwitchRoute } from "../../../shared/switches/routes.ts";
import { hashApiKey, keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { eventOf, type Input } from "../../support/requests/event.ts";
import { captureLogs } from "../../support/servers/captured-logs.ts";

/** What the middleware decides about a request and its response, where requests over HTTP would be slow or many. */

afterEach(() => void vi.restoreAllMocks());

const ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/** The status and the details of an error, or what was returned. */
const outcomeOf = async (work: () => unknown) => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.status, ...error.body.errors.map(({ detail }) => detail)];
  }
};

describe("a header", () => {
  it("is found by its name in any case, and lists by all their lines", () => {
    const headers = { "If-MATCH": '"2"' };
    const event = { headers, multiValueHeaders: { "if-match": ['"1"', '"2"'], other: ["x"], none: undefined } };
    expect([header(event, "if-match"), header(event, "absent")]).toEqual(['"2"', undefined]);
    expect([listHeader(event, "If-Match"), listHeader(event, "none")]).toEqual(['"1", "2"', undefined]);
    expect(listHeader({ headers, multiValueHeaders: {} }, "If-Match")).toBe('"2"');
  });

  it.each([
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
    [extended, true],
    ['"a,b", "3"', true],
    ['"3" "', true],
    ['"2"', false],
    ['"33"', false],
    ['W/"3"', false],
    ['"x3"', false],
    ['"*"', false],
    ["3", false],
  ])("in If-Match: %s holds for version 3: %s", (given, holds) => {
    const check = precondition(eventOf(showSwitchRoute, { headers: given === undefined ? {} : { "if-match": given } }));
    if (holds) expect(check(3)).toBe(undefined);
    else expect(() => check(3)).toThrow(expect.objectContaining({ status: 412 }));
  });

  it("is in the replies, with what is logged", () => {
    const [body, headers] = [{ data: { id: "1" } }, { ETag: plain }];
    expect(documentReply(body, 3, { bytes: 15 })).toEqual({ body, headers, logged: { bytes: 15 } });
    const logged = { created_id: "1", bytes: 15 };
    expect(createdReply(body, { version: 3, bytes: 15 }, false)).toEqual({ body, headers, logged });
    const replayed = { ...headers, "Idempotency-Replayed": "true" };
    expect(createdReply(body, { version: 3 }, true)).toEqual({ body, headers: replayed });
  });

  it("of two digits is compared whole", () => {
    const check = precondition(eventOf(showSwitchRoute, { headers: { "if-match": '"12.abc-_"' } }));
    expect(check(12)).toBe(undefined);
    expect(() => check(1)).toThrow(expect.objectContaining({ status: 412 }));
    expect(() => precondition(eventOf(showSwitchRoute, { headers: { "if-match": '"12"x' } }))(12)).not.toThrow();
  });

  it.each([
    [undefined, 200],
    ["*", 304],
    ['"2", W/"3"', 304],
    [extended, 200],
    ['xW/"3"', 304],
  ])("in If-None-Match: %s makes the response %i", (given, status) => {
    const event = eventOf(showSwitchRoute, { headers: given === undefined ? {} : { "if-none-match": given } });
    const headers = { "Cache-Control": "no-store", "X-Request-Id": event.requestContext.requestId, ETag: plain };
    const modified = { statusCode: 200, headers: { "Content-Type": "application/json", ...headers }, body: '{"a":1}' };
    const response = responseOrNotModified(event, 200, documentReply({ a: 1 }, 3));
    expect(response).toEqual(status === 304 ? { statusCode: 304, headers, body: "" } : modified);
  });
});

describe("a JSON body", () => {
  const { reads } = updateAttachmentRoute("request");
  const read = (headers: Record<string, string>, body?: string | Uint8Array) =>
    outcomeOf(async () => {
      const event = eventOf(updateAttachmentRoute("request"), { headers, ...(body !== undefined && { body }) });
      return (await readJson(event, reads)).input;
    });
  const json = { "Content-Type": "application/json" };

  it.each([
    ["APPLICATION/JSON ; charset=utf-8", "identity", undefined],
    ["application/json", " IDENTITY ", undefined],
    ["application/jsonx", "", "The Content-Type must be application/json."],
    ["text/application/json", "", "The Content-Type must be application/json."],
    ["application/json", "identity, gzip", "The body must not have a Content-Encoding."],
    ["application/json", "xidentity", "The body must not have a Content-Encoding."],
  ])("of the type %j, encoded as %j: %s", async (type, encoding, refused) => {
    const headers = { "Content-Type": type, "Content-Encoding": encoding };
    expect(await read(headers, "[]")).toEqual(refused ? [415, refused] : []);
  });

  const spaces = " ".repeat(limits.jsonBytes - 2);
  it.each<[string, string | Uint8Array | undefined, unknown]>([
    ["in base64", Buffer.from('"é"'), "é"],
    ["of the largest size", `"${spaces}"`, spaces],
    ["too large by a byte", `"${spaces} "`, [413, expect.stringContaining("than 1048576 bytes.")]],
    ["not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), [422, "is not valid UTF-8"]],
    ["with a byte order mark", '\ufeff"x"', [422, "must not begin with a byte order mark"]],
    ["none", undefined, [422, "is not valid JSON"]],
  ])("%s", async (_, body, result) => {
    expect(await read(json, body)).toEqual(result);
  });
});

describe("an Idempotency-Key", () => {
  const now = new Date("2026-11-21T10:00:00.999Z");
  const seconds = Math.floor(now.getTime() / 1000);
  const apiKey = { id: "1", account: `account-${crypto.randomUUID()}`, user: "1", expires_at: null, revoked: false };
  const principal = { apiKey, user: { id: "1", account: "1", permissions: [], disabled: false } };
  const event = (key: string) =>
    eventOf(createAttachmentRoute("request"), { ids: { request_id: ulid }, headers: { "Idempotency-Key": key } });
  const present = (key: string) => readIdempotencyKey(event(key), Promise.resolve(apiKey));
  const use = async (key: string, compared: unknown = [["a", 1]]) =>
    idempotencyOf(await present(key), { name: "create" }, event(key), principal, compared, now);

  it.each([
    ["", "length"],
    [`!~${"x".repeat(253)}`, undefined],
    ["x".repeat(256), "length"],
    ["a b", "characters"],
    ["\u007f", "characters"],
  ])("%j has a problem with its %s", async (key, problem) => {
    const place = { in: "header", pointer: "/Idempotency-Key" };
    const problems = {
      length: {
        sub_code: "constraint.length",
        params: { minimum: 1, maximum: 255 },
        detail: "must be 1 to 255 characters",
      },
      characters: { sub_code: "constraint.format", detail: "must be visible ASCII characters" },
    };
    const expected = problem === "length" || problem === "characters" ? [{ ...place, ...problems[problem] }] : [];
    expect((await present(key))?.problems).toEqual(expected);
  });

  it.each([
    [0, undefined],
    [1, { id: "7", at: "then" }],
  ])("is remembered for a day, while it expires in more than no second: %i", async (left, created) => {
    const key = `expires-${left}`;
    const write = (await use(key))?.write({ id: "7", at: "then" });
    const stored = { ...keys.idempotency(apiKey.account, key), expires_at: seconds + 86_400 };
    expect(write).toMatchObject({ put: stored, when: { absentOrExpiredAt: seconds } });
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
  const { reads } = createAttachmentRoute("request");
  const read = (input: Input) => outcomeOf(() => readForm(eventOf(createAttachmentRoute("request"), input), reads));
  const form = (parts: readonly Part[], boundary = "limit") =>
    read({ headers: { "Content-Type": `multipart/form-data; boundary=${boundary}` }, body: bodyOf(parts, boundary) });
  const Parsed = z.object({ input: z.object({ data: z.record(z.string(), z.unknown()) }) });
  const dataOf = async (...parts: readonly Part[]) => {
    const result = await form(parts);
    return Array.isArray(result) ? result : z.parse(Parsed, result).input.data;
  };
  const nameOf = (content: string | Uint8Array, more = ""): Part => [disposition("data[name]", more), content];
  const name = nameOf("LOA");
  const file = (more: string, content = "%PDF"): Part => [disposition("data[file]", more), content];
  const fileOf = async (part: Part) => z.parse(z.looseObject({}), Object(await dataOf(part)).file);
  const refusedAs = (why: string) => [422, `can't be read as a form: ${why}`];
  const parsed = { input: { type: undefined, data: { name: "LOA" } }, problems: [] };

  it.each([
    ["MULTIPART/FORM-DATA ;boundary=limit", parsed],
    ["multipart/form-datax; boundary=limit", [415, "The Content-Type must be multipart/form-data."]],
    ["multipart/form-data", refusedAs("its boundary must have 1 to 70 characters")],
  ])("of the type %j is read: %s", async (type, outcome) => {
    const body = bodyOf([name], "limit", "\r\nWhat follows a form is ignored.");
    expect(await read({ headers: { "Content-Type": type }, body })).toEqual(outcome);
  });

  it.each([
    ["padding after a delimiter", "--limit \t\r\n", "--limit-- \t", true],
    ["a line break before it, and none at its end", "\r\n--limit\r\n", "--limit--", true],
    ["an end of one dash", "--limit\r\n", "--limit-", false],
    ["an end with a line feed", "--limit\r\n", "--limit--\n", false],
    ["no end", "--limit\r\n", "--limit", false],
    ["a text after a delimiter", "--limit x\r\n", "--limit--", false],
  ])("with %s is read or refused: %j, %j", async (_, start, end, isRead) => {
    const headers = { "Content-Type": "multipart/form-data; boundary=limit" };
    const body = Buffer.from(`${start}${name[0]}\r\n\r\n${name[1]}\r\n${end}`);
    const refused = [422, expect.stringMatching(/as a form: it has/)];
    expect(await read({ headers, body })).toEqual(isRead ? parsed : refused);
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

  const own = (part: Part) => Buffer.byteLength(`${part[0]}\r\n\r\n`);
  const long = (length: number): Part => [disposition("x".repeat(length - own([disposition(""), ""]))), "x"];
  const headersOf = (bytes: number) => [long(16_000), long(bytes - 16_000 - own(name)), name];
  const count = (parts: number) => [...Array.from({ length: parts - 1 }, (): Part => [disposition("x"), "x"]), name];
  it.each<[string, Part[], string, string | undefined]>([
    ["a boundary of 70 characters", [name], "b".repeat(70), undefined],
    ["a boundary of 71 characters", [name], "b".repeat(71), "its boundary must have 1 to 70 characters"],
    ["100 parts", count(100), "limit", undefined],
    ["101 parts", count(101), "limit", "it has more than 100 parts"],
    ["headers of 32,768 bytes", headersOf(limits.form.headerBytes), "limit", undefined],
    [
      "headers of 32,769 bytes",
      headersOf(limits.form.headerBytes + 1),
      "limit",
      "its headers have more than 32768 bytes",
    ],
  ])("with %s", async (_, parts, boundary, refused) => {
    expect(await form(parts, boundary)).toEqual(refused ? refusedAs(refused) : parsed);
  });

  const json = "\r\nContent-Type: application/json ; x=y";
  const encodedAs = (encoding: string) => nameOf("LOA", `\r\nContent-Transfer-Encoding: ${encoding}`);
  it.each([
    ["no text", nameOf(""), {}],
    ["a part that is no form data", ['Content-Disposition: attachment; name="data[name]"', "x"], {}],
    ["a part without a disposition", ["X: y", "x"], refusedAs("a part has no Content-Disposition")],
    ["a folded header", ['Content-Disposition: form-data;\r\n name="data[name]"', "LOA"], { name: "LOA" }],
    ["a line that is no header", nameOf("LOA", "\r\nX y"), refusedAs("a part has a line that is not a header")],
    ["JSON", nameOf('"LOA"', json), { name: "LOA" }],
    ["JSON's null", nameOf("null", json), {}],
    ["JSON that is no text", nameOf("[1]", json), { name: "[1]" }],
    ["no JSON", nameOf("LOA", json), { name: "LOA" }],
    ["JSON sent as text", nameOf('"LOA"'), { name: '"LOA"' }],
    ["a long text", nameOf("x".repeat(65_536)), { name: "x".repeat(65_536) }],
    ["a text that is too long", nameOf("x".repeat(65_537)), refusedAs("data[name] has more than 65536 bytes")],
    ["a text that is not UTF-8", nameOf(Uint8Array.of(0xff)), refusedAs("data[name] is not valid UTF-8")],
    ["an encoding", encodedAs("BINARY"), { name: "LOA" }],
    ["base64", encodedAs("base64"), refusedAs("data[name] has the Content-Transfer-Encoding base64")],
    ["another encoding", encodedAs("8bitx"), refusedAs("data[name] has the Content-Transfer-Encoding 8bitx")],
    ["a file without a name or a type", file("", "loa.pdf"), { file: "loa.pdf" }],
  ] satisfies [string, Part, object][])("with %s", async (_, part, data) => {
    expect(await dataOf(part)).toEqual(data);
  });

  it("has the file, and not a text of the same name beside it", async () => {
    const [text, first, second] = [file("", "a.pdf"), file('; filename="a"'), file('; filename="b"')];
    const kept = { file: { filename: "a" } };
    expect(await dataOf(text, first)).toMatchObject(kept);
    const problems = [{ pointer: "/data/file", detail: "must be given only once" }];
    expect(await form([first, text, second])).toMatchObject({ input: { data: kept }, problems });
  });

  it.each([
    [15, undefined],
    [16, [413, "The body or the file is larger than 15 bytes. A larger file needs a direct upload."]],
  ])("with a file of %i bytes, of at most 15, is refused as %j", async (bytes, refused) => {
    vi.stubEnv("MAX_FILE_BYTES", "15");
    const result = await dataOf(file('; filename="a.pdf"', "x".repeat(bytes)));
    vi.unstubAllEnvs();
    expect(Array.isArray(result) ? result : undefined).toEqual(refused);
  });

  it("has its type, and each part once", async () => {
    const twice = await form([name, name, [disposition("type"), "a"], [disposition("type"), "b"]]);
    const problem = { in: "body", sub_code: "constraint.type", detail: "must be given only once" };
    const problems = ["/data/name", "/type"].map((pointer) => ({ ...problem, pointer }));
    expect(twice).toEqual({ input: { type: "a", data: { name: "LOA" } }, problems });
  });

  const type = "\r\nContent-Type: application/PDF";
  it.each([
    [type, "attachment", "application/pdf"],
    [`; filename="a.pdf"\r\nContent-Type: ${"x".repeat(61)}/y`, "a.pdf", "application/octet-stream"],
    ['; filename=".."', "attachment", "text/plain"],
    ['; filename="..."', "...", "text/plain"],
    ['; filename="../a/b.pdf"', "b.pdf", "text/plain"],
    ['; filename="C:\\\\a\\b.pdf"', "b.pdf", "text/plain"],
    ['; filename="a%22b%0D%0A.pdf"', 'a"b.pdf', "text/plain"],
    ['; filename=" a .pdf "', "a .pdf", "text/plain"],
    ["; filename=\"a.pdf\"; filename*=UTF-8''%E2%82%AC.pdf", "€.pdf", "text/plain"],
    ["; filename*=UTF-8''%ff.pdf", "attachment", "text/plain"],
    [`; filename="${"😀".repeat(255)}"`, "😀".repeat(255), "text/plain"],
    [`; filename="${"x".repeat(252)}.pdf"`, `${"x".repeat(251)}.pdf`, "text/plain"],
    [`; filename="${"x".repeat(254)} xyz"`, "x".repeat(254), "text/plain"],
    [`; filename="${"x".repeat(250)}.${"y".repeat(20)}"`, `${"x".repeat(234)}.${"y".repeat(20)}`, "text/plain"],
    [`; filename="${"x".repeat(250)}.${"y".repeat(21)}"`, `${"x".repeat(250)}.yyyy`, "text/plain"],
    [`; filename="${"x".repeat(250)}.y zyxw"`, `${"x".repeat(250)}.y zy`, "text/plain"],
  ])("with a file named %s", async (more, filename, contentType) => {
    expect(await fileOf(file(more))).toMatchObject({ filename, contentType });
  });
});

describe("an error of AWS", () => {
  const named = (name: string, properties = {}) => Object.assign(new Error("injected"), { name, ...properties });
  it.each<[string, unknown, boolean]>([
    ...["InternalServerError", "InternalError", "LimitExceededException", "ProvisionedThroughputExceededException"]
      .concat("RequestLimitExceeded", "RequestTimeout", "ServiceUnavailable", "SlowDown", "ThrottlingException")
      .concat("TimeoutError", "TransactionConflictException", "TransactionInProgressException")
      .map((name): [string, unknown, boolean] => [`the name ${name}`, named(name), true]),
    ["status 500", named("x", { $metadata: { httpStatusCode: 500 } }), true],
    ["status 499", named("x", { $metadata: { httpStatusCode: 499 } }), false],
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
  ])("with %s is unavailable: %3$s", (_, error, unavailable) => {
    expect(isUnavailable(error)).toBe(unavailable);
    const thrown = unavailable ? { status: 503, cause: error } : error;
    expect(() => unavailableAs503(error)).toThrow(expect.objectContaining(thrown));
  });
});

describe("a deadline", () => {
  it("is six seconds before the function's timeout, and four more for what must follow a failed call", async () => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);
    expect([remainingMs(), await cleanUp(async () => remainingMs())]).toEqual([Infinity, Infinity]);
    for (const [timeout, left] of [
      [10_000, 4_000],
      [29_000, 23_000],
    ] as const)
      await withDeadline(timeout, async () =>
        expect([remainingMs(), await cleanUp(async () => remainingMs())]).toEqual([left, 4_000]),
      );
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
  });

  it("that has passed lets no call and no attempt start", async () => {
    vi.spyOn(performance, "now").mockReturnValue(1_000);
    let started = 0;
    const send = async () => {
      started += 1;
    };
    for (const limit of [limitCall, limitAttempt])
      await expect(withDeadline(6_000, () => limit(send, { ...context })({}))).rejects.toMatchObject(late);
    expect(started).toBe(0);
    await withDeadline(6_001, () => limitAttempt(send, { ...context })({}));
    expect(started).toBe(1);
  });
});

describe("an endpoint", () => {
  const secret = `apik_${"x".repeat(43)}`;
  const account = `account-${crypto.randomUUID()}`;
  const [apiKey, user] = [
    { id: "key", account, user: account, expires_at: null, revoked: false },
    { id: account, account, permissions: [], disabled: false },
  ];
  beforeAll(() =>
    transact({
      key: { put: { ...keys.apiKey(hashApiKey(secret)), ...apiKey } },
      user: { put: { ...keys.user(account), ...user } },
    }),
  );
  const reads = { from: "nothing", schema: z.undefined() } as const;
  const admits = { load: async () => "loaded", admit: (loaded: string) => ({ owner: "owner", loaded }) };
  /** Calls an endpoint that does this, and returns its response and its log line. */
  const invoke = async (handle: () => object, headers: Record<string, string> = {}, route = showSwitchRoute) => {
    const own = endpoint({ ...route, reads }, admits, ({ origin }) => ({
      body: { origin, ...handle() },
      headers: { ETag: plain },
      logged: { extra: 1 },
    }));
    const event = eventOf(route, { headers: { authorization: `Bearer ${secret}`, ...headers }, ids: { id: ulid } });
    const { written, stop } = captureLogs();
    const response = await own(event, z.parse(z.custom<Context>(), lambdaContext(29_000))).finally(stop);
    const [line = "{}"] = written;
    return { ...response, event, line: z.parse(z.looseObject({ ms: z.number() }), JSON.parse(line)) };
  };
  const plain = etag(3);

  it.each([
    [`bearer   ${secret}`, 200],
    [`Bearer ${secret}x`, 401],
    [`xBearer ${secret}`, 401],
    [`Bearer${secret}`, 401],
    ["", 401],
  ])("with the header %s", async (authorization, status) => {
    expect((await invoke(() => ({}), { authorization })).statusCode).toBe(status);
  });

  it("logs the caller, what was called and what it says itself, and hands on who changes what", async () => {
    const { line, event, body } = await invoke(() => ({}));
    const { requestId: request_id, extendedRequestId: extended_request_id } = event.requestContext;
    const who = { key_id: "key", account_id: account, user_id: account, owner_account_id: "owner", extra: 1 };
    const what = { route: showSwitchRoute.name, status: 200, path: { id: ulid }, request_id, extended_request_id };
    expect(line).toMatchObject({ level: "INFO", ...what, ...who });
    expect(Math.abs(line.ms)).toBeLessThan(86_400_000);
    expect(JSON.parse(body).origin).toMatchObject({ actor: { type: "api_key", id: "key", user: account }, request_id });
  });

  it("returns a 500 for an unknown error, whose cause is in the log only", async () => {
    const { statusCode, body, line } = await invoke(() => {
      throw new Error("the cause");
    });
    expect([statusCode, body.includes("the cause")]).toEqual([500, false]);
    expect(line).toMatchObject({ level: "ERROR", status: 500, error: { message: "the cause" } });
  });

  it("returns a 304 for a GET only", async () => {
    const conditional = { "if-none-match": plain };
    expect((await invoke(() => ({}), conditional)).statusCode).toBe(304);
    expect((await invoke(() => ({}), conditional, { ...showSwitchRoute, method: "POST" })).statusCode).toBe(200);
  });
});
