import middy from "@middy/core";
import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { createAttachmentRoutes, updateAttachmentRoutes } from "../../../shared/attachments/routes.ts";
import { ApiError, unauthorized } from "../../../shared/errors.ts";
import { readForm } from "../../../shared/http/form.ts";
import { idempotencyOf, readIdempotencyKey } from "../../../shared/http/idempotency.ts";
import { readJson } from "../../../shared/http/input.ts";
import { header, listHeader, pathId } from "../../../shared/http/request.ts";
import {
  documentReply,
  etag,
  precondition,
  respond,
  response,
  responseOrNotModified,
} from "../../../shared/http/responses.ts";
import { limits } from "../../../shared/limits.ts";
import { showSwitchRoute, updateSwitchRoute } from "../../../shared/switches/routes.ts";
import { keys } from "../../../shared/table/keys.ts";
import { transact } from "../../../shared/table/write.ts";
import { rawForm } from "../../support/fixtures/attachments.ts";
import { eventOf, type Input } from "../../support/requests/event.ts";

/** Decisions of the middleware about requests and responses, in cases where tests over HTTP would be slow or many. */

/** The status and the details of an error, or the returned value. */
const outcomeOf = async (work: () => unknown) => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [error.status, ...error.body.errors.map(({ detail }) => detail)];
  }
};

describe("a request", () => {
  it("has headers with names in any case, lists in several lines, and ids that cannot be decoded", () => {
    const headers = { "If-MATCH": '"2"' };
    const event = { headers, multiValueHeaders: { "if-match": ['"1"', '"2"'], other: ["x"], none: undefined } };
    expect([header(event, "if-match"), header(event, "absent")]).toEqual(['"2"', undefined]);
    expect([listHeader(event, "If-Match"), listHeader(event, "none")]).toEqual(['"1", "2"', undefined]);
    expect(listHeader({ headers, multiValueHeaders: {} }, "If-Match")).toBe('"2"');
    const requestedId = "%E0%A4%A";
    expect(pathId({ pathParameters: { id: requestedId } }, "id")).toEqual({ id: undefined, requestedId });
    expect(pathId({ pathParameters: null }, "id")).toEqual({ id: undefined, requestedId: "" });
  });
});

describe("an error that nobody has caught", () => {
  it.each([
    [503, "temporarily unavailable", { name: "TimeoutError" }],
    [503, "temporarily unavailable", { code: "ECONNRESET" }],
    [500, "went wrong on our side", { name: "AccessDenied" }],
  ])("is a %i (%s) for %o", async (statusCode, words, properties) => {
    const endpoint = middy(() => Promise.reject(Object.assign(new Error("injected"), properties)));
    const noContext = JSON.parse("{}");
    const response = await endpoint.use(respond(showSwitchRoute))(eventOf(showSwitchRoute, {}), noContext);
    expect(response).toMatchObject({ statusCode, body: expect.stringContaining(words) });
  });
});

it("a response forbids browsers to guess its type and, on AWS, to use HTTP without TLS", () => {
  const own = { "X-Content-Type-Options": "nosniff" };
  const headersOf = () => response("1", 200, { body: {} }).headers;
  expect(headersOf()).toMatchObject(own);
  expect(headersOf()).not.toHaveProperty("Strict-Transport-Security");
  vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "switches-list");
  expect(headersOf()).toMatchObject({ ...own, "Strict-Transport-Security": "max-age=31536000" });
  vi.unstubAllEnvs();
});

describe("an ETag", () => {
  const [plain, extended] = [etag(3), etag(3, { account: { id: "1" } })];

  it("is the version, with a hash of what is included", () => {
    expect(plain).toBe('"3"');
    expect(extended).toMatch(/^"3\.[\w-]{16}"$/);
    expect(etag(3, { account: { id: "2" } })).not.toBe(extended);
  });

  it.each([
    ...["*", " * ", '"3"', extended, '"a,b", "3"', '"3" "', '"3"x'].map((tags) => [tags, "holds for", 3] as const),
    ...['"2"', '"33"', 'W/"3"', '"x3"', '"*"', "3"].map((tags) => [tags, "is a 412 for", 3] as const),
    ['"12.abc-_"', "holds for", 12] as const,
    ['"1"', "is a 412 for", 12] as const,
  ])("in If-Match: %s %s version %i", (tags, outcome, version) => {
    const check = () => precondition(eventOf(showSwitchRoute, { headers: { "if-match": tags } }))(version);
    if (outcome === "holds for") expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ status: 412 }));
  });

  it.each([
    ...["*", '"3"', 'W/"3"', '"2", "3"', '"3.abc"'].map((tags) => [tags, "is a 412 for", 3] as const),
    ...['"2"', '"33"', "", "3"].map((tags) => [tags, "holds for", 3] as const),
  ])("in If-None-Match of a PATCH: %s %s version %i", (tags, outcome, version) => {
    const check = () => precondition(eventOf(updateSwitchRoute, { headers: { "if-none-match": tags } }))(version);
    if (outcome === "holds for") expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ status: 412, headers: { ETag: plain } }));
  });

  it.each([
    ["*", undefined, 200],
    ['"3"', undefined, 200],
    ['"2", "3"', undefined, 200],
    ['"2"', undefined, 412],
    ['W/"3"', undefined, 412],
    [extended, undefined, 412],
    ["", undefined, 412],
    ['"3"', '"3"', 304],
    ['"2"', '"3"', 412],
    ["*", '"2"', 200],
  ])("in If-Match: %s and If-None-Match: %s makes a GET of version 3 a %i", (match, noneMatch, status) => {
    const headers = { "if-match": match, ...(noneMatch && { "if-none-match": noneMatch }) };
    const get = () =>
      responseOrNotModified(eventOf(showSwitchRoute, { headers }), 200, documentReply({}, 3)).statusCode;
    if (status === 412) expect(get).toThrow(expect.objectContaining({ status, headers: { ETag: plain } }));
    else expect(get()).toBe(status);
  });

  it("is not compared by a list, which has none", () => {
    const headers = { "if-match": '"2"', "if-none-match": "*" };
    expect(responseOrNotModified(eventOf(showSwitchRoute, { headers }), 200, { body: {} }).statusCode).toBe(200);
  });

  it.each([
    ['"2"', 200],
    [extended, 200],
    ["*", 304],
    ['"2", W/"3"', 304],
    ['xW/"3"', 304],
  ])("in If-None-Match: %s makes the response to version 3 a %i", (tags, status) => {
    const event = eventOf(showSwitchRoute, { headers: { "if-none-match": tags } });
    const common = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" };
    const headers = { ...common, "X-Request-Id": event.requestContext.requestId, ETag: plain };
    const modified = { statusCode: 200, headers: { "Content-Type": "application/json", ...headers }, body: '{"a":1}' };
    const response = responseOrNotModified(event, 200, documentReply({ a: 1 }, 3));
    expect(response).toEqual(status === 304 ? { statusCode: 304, headers, body: "" } : modified);
  });
});

describe("a JSON body", () => {
  const read = (body: string | Uint8Array, type = "application/json", encoding = "") => {
    const headers = { "Content-Type": type, "Content-Encoding": encoding };
    return outcomeOf(async () => (await readJson(eventOf(updateAttachmentRoutes.request, { headers, body }))).input);
  };

  it("has at most a mebibyte: more is a 413", async () => {
    const spaces = " ".repeat(limits.jsonBytes - 2);
    expect(await read(`"${spaces}"`)).toBe(spaces);
    expect(await read(`"${spaces} "`)).toEqual([413, expect.stringContaining("than 1048576 bytes.")]);
  });

  const [type, encoding] = ["The Content-Type must be application/json.", "The body must not have a Content-Encoding."];
  it.each<[string, Parameters<typeof read>, unknown]>([
    ["is read in base64", [Buffer.from('"é"')], "é"],
    [
      "may have a charset and the Content-Encoding identity",
      ["[]", "APPLICATION/JSON ; charset=utf-8", " IDENTITY "],
      [],
    ],
    ["is a 415 with a longer Content-Type", ["[]", "application/jsonx"], [415, type]],
    ["is a 415 with a Content-Type that only contains its own", ["[]", "text/application/json"], [415, type]],
    [
      "is a 415 with a Content-Encoding that compresses it",
      ["[]", "application/json", "identity, gzip"],
      [415, encoding],
    ],
    ["is a 415 with an unknown Content-Encoding", ["[]", "application/json", "xidentity"], [415, encoding]],
    ["is malformed if it is not UTF-8", [Uint8Array.of(0x22, 0xff, 0x22)], [422, "is not valid UTF-8"]],
    ["is malformed with a byte order mark", ['\ufeff"x"'], [422, "must not begin with a byte order mark"]],
    ["is malformed without a body", [""], [422, "is not valid JSON"]],
  ])("%s", async (_, sent, result) => {
    expect(await read(...sent)).toEqual(result);
  });
});

describe("an Idempotency-Key", () => {
  const written = { version: 1, updated_at: "2026-11-21T10:00:00.000Z" };
  const unrestricted = {
    label: null,
    inserted_at: written.updated_at,
    expires_at: null,
    revoked: false,
    replaced_by: null,
  };
  const apiKey = { id: "1", account: `account-${crypto.randomUUID()}`, user: "1", ...unrestricted, ...written };
  const event = (key: string) => eventOf(createAttachmentRoutes.request, { headers: { "Idempotency-Key": key } });
  const present = (key: string) => readIdempotencyKey(event(key), Promise.resolve(apiKey));

  const now = new Date("2026-11-21T10:00:00.999Z");
  const principal = { apiKey, user: { id: "1", account: "1", permissions: [], disabled: false, ...written } };
  const use = async (key: string, { name = "create", id = "A", value = 1 } = {}) => {
    const sent = { ...event(key), pathParameters: { request_id: id } };
    return idempotencyOf(await present(key), { name }, sent, principal, [["a", value]], now);
  };

  it("is another's on another route, with another id in the path and with other content: 422", async () => {
    const write = (await use("used"))?.write({ id: "7", at: "then" });
    await transact({ write });
    expect((await use("used"))?.created).toEqual({ id: "7", at: "then" });
    for (const other of [{ name: "complete" }, { id: "B" }, { value: 2 }])
      await expect(use("used", other), JSON.stringify(other)).rejects.toMatchObject({ status: 422 });
  });

  it("is remembered for a day, unless it expires within a second", async () => {
    const seconds = Math.floor(now.getTime() / 1000);
    for (const left of [0, 1]) {
      const key = `expires-${left}`;
      const write = (await use(key))?.write({ id: "7", at: "then" });
      const stored = { ...keys.idempotency(apiKey.account, key), expires_at: seconds + 86_400 };
      expect(write).toMatchObject({ put: stored, when: { absentOrExpiredAt: seconds } });
      if (write && "put" in write) await transact({ write: { put: { ...write.put, expires_at: seconds + left } } });
      expect((await use(key))?.created, key).toEqual(left > 0 ? { id: "7", at: "then" } : undefined);
      expect((await transact({ write: (await use(key))?.write({ id: "8", at: "now" }) }))?.size ?? 0, key).toBe(left);
    }
  });

  const [length, format] = ["constraint.length", "constraint.format"].map((sub_code) => ({ sub_code }));
  it.each([
    ["may have 255 visible ASCII characters", `!~${"x".repeat(253)}`, []],
    ["may not be empty", "", [{ ...length, params: { minimum: 1, maximum: 255 } }]],
    ["may not have 256 characters", "x".repeat(256), [length]],
    ["may not have a space within", "a b", [format]],
    ["may not have a control character", "\u007f", [format]],
  ])("%s", async (_, key, problems) => {
    const place = { in: "header", pointer: "/Idempotency-Key" };
    expect((await present(key))?.problems).toMatchObject(problems.map((problem) => ({ ...place, ...problem })));
  });

  it("is not looked up for an unknown caller, and is ignored by other methods than POST", async () => {
    await expect(readIdempotencyKey(event("a"), Promise.reject(unauthorized()))).rejects.toMatchObject({ status: 401 });
    const patch = eventOf(updateAttachmentRoutes.request, { headers: { "Idempotency-Key": "a b" } });
    expect(await readIdempotencyKey(patch, Promise.resolve(apiKey))).toBeUndefined();
  });
});

describe("a form", () => {
  type Part = readonly [headers: string, content: string | Uint8Array];
  const part = (name: string, content: string | Uint8Array, more = ""): Part => [
    `Content-Disposition: form-data; name="${name}"${more}`,
    content,
  ];
  const name = part("data[name]", "LOA");
  const file = (more: string, content = "%PDF") => part("data[file]", content, more);
  const read = (input: Input) =>
    outcomeOf(() => readForm(eventOf(createAttachmentRoutes.request, input), createAttachmentRoutes.request.reads));
  const form = (...parts: readonly Part[]) => read(rawForm(...parts));
  const Parsed = z.object({ input: z.object({ data: z.looseObject({ file: z.optional(z.unknown()) }) }) });
  const dataOf = async (...parts: readonly Part[]) => {
    const result = await form(...parts);
    return Array.isArray(result) ? result : z.parse(Parsed, result).input.data;
  };
  const parsed = { input: { type: undefined, data: { name: "LOA" } }, problems: [] };

  it("has exactly one file, ignores a text of its name beside it, and may have no other part twice", async () => {
    const [text, first, second] = [file("", "a.pdf"), file('; filename="a"'), file('; filename="b"')];
    const kept = { file: { filename: "a" } };
    expect(await dataOf(text, first)).toMatchObject(kept);
    const once = { in: "body", sub_code: "constraint.type", detail: "must be given only once" };
    const problems = (...pointers: string[]) => pointers.map((pointer) => ({ ...once, pointer }));
    expect(await form(first, text, second)).toMatchObject({ input: { data: kept }, problems: problems("/data/file") });
    const twice = { input: { type: "a", data: { name: "LOA" } }, problems: problems("/data/name", "/type") };
    expect(await form(name, name, part("type", "a"), part("type", "b"))).toEqual(twice);
  });

  it("never loses a part of a file that contains its boundary", async () => {
    const delimiters = ["\r\n------patchbay", "\r\n------patchbay--", "\n------patchbay", "\r\n\r\n"];
    const pieces = [...delimiters, "\r\n", "\n", "--", "-", " ", "\t", "x", "x: y"];
    const contents = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((all) => all.join(""));
    const keptOrRefused = async (content: string) => {
      const outcome = await dataOf(name, file('; filename="a"', content));
      const kept = { name: "LOA", file: { content: new Uint8Array(Buffer.from(content)) } };
      const refused = [
        422,
        expect.stringMatching(
          /as a form: (its boundary occurs|a delimiter follows|the headers of part \d|part \d has )/,
        ),
      ];
      expect(outcome, JSON.stringify(content)).toMatchObject(Array.isArray(outcome) ? refused : kept);
    };
    const lines = ["", "X", "-", " -- x", "\t", "--", "-- \r\nx", "\r\n\r\nx", "\r\nx", "\r\n"];
    for (const line of lines) await keptOrRefused(`a\r\n------patchbay${line}b`);
    await fc.assert(fc.asyncProperty(contents, keptOrRefused), { numRuns: 500 });
  });

  const because = (why: string) => [422, `can't be read as a form: ${why}`];
  const noDelimiter = because("its boundary occurs in a line that is not a delimiter");
  const [noEnd, noHeaderEnd] = [
    because("the closing delimiter is missing"),
    because("the headers of part 1 do not end with an empty line"),
  ];
  const setByHand = "Let the HTTP client set that header: do not set it by hand";
  const noBoundary = because(`its Content-Type has no boundary. ${setByHand}`);
  const otherBoundary = because(`the boundary of its Content-Type does not occur in it. ${setByHand}`);
  const longBoundary = because("its boundary must have at most 70 characters");
  const [media, delimiter, longest] = ["multipart/form-data", "------patchbay", "b".repeat(70)];
  const start = `\r\n${name[0]}\r\n\r\nLOA\r\n${delimiter}`;
  const [body, hint] = [`${delimiter}${start}--\r\n`, `\r\n${part("data[file_hint]", "")[0]}\r\n\r\nLOA`];
  const encoded = [415, "The body must not have a Content-Encoding."];
  it.each<[string, string, unknown, (string | undefined)?, string?]>([
    ["is read with a media type in capitals", body, parsed, "MULTIPART/FORM-DATA ;boundary=----patchbay"],
    ["is read with the Content-Encoding identity", body, parsed, undefined, "Identity"],
    ["is a 415 with a Content-Encoding", "\x1f\x8b", encoded, undefined, "gzip"],
    ["is a 415 with a Content-Encoding that it does not have", body, encoded, undefined, "identity, gzip"],
    ["needs exactly its media type", "", [415, `The Content-Type must be ${media}.`], `${media}x; boundary=x`],
    ...[media, `${media};`, `${media}; boundary=`, `${media}; boundary=""`, `${media}; charset=utf-8`].map(
      (type): [string, string, unknown, string] => [`says that ${type} has no boundary`, body, noBoundary, type],
    ),
    ["is read with a boundary of one character", body.replaceAll(delimiter, "--b"), parsed, `${media};boundary=b`],
    [
      "is read with a boundary of 70",
      body.replaceAll(delimiter, `--${longest}`),
      parsed,
      `${media};boundary=${longest}`,
    ],
    ["is refused with a boundary of 71", "", longBoundary, `${media};boundary=${longest}b`],
    ["is read with padding after its delimiters", `${delimiter} \t${start}-- \t\r\n`, parsed],
    ["is read with a line before it, and no line break at its end", `x\r\n${delimiter}${start}--`, parsed],
    ["is read with a text after its end", `${body}What follows is ignored.`, parsed],
    ["is read with a bare LF after its last delimiter", `${delimiter}${start}--\nx`, parsed],
    ...["\ufeff", "\n", " ", "x", "\ufeff\r\n "].map((before): [string, string, unknown] => [
      `never loses its first part: ${JSON.stringify(before)} before it is refused`,
      `${before}${delimiter}${hint}${body.replace(delimiter, `\r\n${delimiter}`)}`,
      noDelimiter,
    ]),
    ["is refused with a part after a bare LF", `${delimiter}${hint}\n${body}`, noDelimiter],
    ["is refused with a text after a delimiter", `${delimiter} x${start}--`, noDelimiter],
    ["is refused with a delimiter that ends in a bare LF", `${delimiter}${start.replace("\r", "")}--`, noDelimiter],
    ["is refused with one dash at its end", `${delimiter}${start}-`, noDelimiter],
    ["is refused with a text at its end", `${delimiter}${start}-- x`, noDelimiter],
    ["is refused without its end", `${delimiter}${start.replace(/\r\n-+patchbay$/, "")}`, noEnd],
    ["is refused with a part after its end", `${body}${body}`, because("a delimiter follows the closing one")],
    ["is refused without a delimiter", "x", otherBoundary],
    ["is refused with a boundary that it does not have", body, otherBoundary, `${media}; boundary=by-hand`],
    ["is refused if it is empty", "", otherBoundary],
    ["never loses a part without a content", `${delimiter}${hint.slice(0, -3)}${body}`, noHeaderEnd],
    ["never loses a part without an end of its headers", `${delimiter}${hint.slice(0, -5)}${body}`, noHeaderEnd],
  ])("%s", async (_, body, outcome, type = `${media}; boundary=----patchbay`, encoding = "") => {
    const headers = { "Content-Type": type, "Content-Encoding": encoding };
    expect(await read({ headers, body: Buffer.from(body) })).toEqual(outcome);
  });

  it("is not read where it arrives as text, because its bytes may have changed", async () => {
    const { headers, body } = rawForm(name);
    expect(await read({ headers, body: `${body}` })).toEqual([500, expect.any(String)]);
  });

  const bytesOf = (...parts: readonly Part[]) => parts.reduce((sum, [headers]) => sum + headers.length + 4, 0);
  const room = limits.form.headerBytes - bytesOf(name, part("", ""), part("x".repeat(16_000), ""));
  const longNames = (left: number) => ["x".repeat(16_000), "x".repeat(left)];
  it.each([
    ["has at most 100 parts", "more than 100 parts", Array<string>(99).fill("x"), Array<string>(100).fill("x")],
    ["has at most 32,768 bytes of headers", "more than 32768 bytes", longNames(room), longNames(room + 1)],
  ])("%s", async (_, why, allowed, refused) => {
    const withNames = (names: readonly string[]) => form(...names.map((each) => part(each, "x")), name);
    expect(await withNames(allowed)).toEqual(parsed);
    expect(await withNames(refused)).toEqual([422, expect.stringContaining(why)]);
  });

  const noHeader = because("part 1 has a line that is not a header");
  const json = "\r\nContent-Type: application/json ; x=y";
  const sent = (content: string | Uint8Array, more = "") => part("data[name]", content, more);
  const inCharset = (charset: string, content: string | Uint8Array = "LOA") =>
    sent(content, `\r\nContent-Type: text/plain; format=flowed; ${charset}`);
  const in8Bit = (charset: string, ...content: number[]) => inCharset(`charset=${charset}`, Uint8Array.from(content));
  const isNot = (charset: string) => because(`data[name] is not valid ${charset}`);
  const encodedAs = (encoding: string) => sent("LOA", `\r\nContent-Transfer-Encoding: ${encoding}`);
  it.each<[string, Part, object]>([
    ["leaves out an empty text", sent(""), {}],
    ["reads a folded header", ['content-disposition:form-data;\r\n name="data[name]";', "LOA"], { name: "LOA" }],
    ["is malformed with a line that is not a header", sent("LOA", "\r\nX y"), noHeader],
    ["is malformed with a space before the colon of a header", sent("LOA", "\r\nX : y"), noHeader],
    ["is malformed with a folded line before its first header", [`\tX: y\r\n${name[0]}`, "LOA"], noHeader],
    ["reads a JSON string, as generated clients send it", sent('"LOA"', json), { name: "LOA" }],
    ["leaves out JSON's null", sent("null", json), {}],
    ["takes JSON that is not a string as it is", sent("[1]", json), { name: "[1]" }],
    ["takes what is not JSON as it is", sent("LOA", json), { name: "LOA" }],
    ["takes a quoted text that is not called JSON as it is", sent('"LOA"'), { name: '"LOA"' }],
    ["reads a text of megabytes, whose length the schema limits", sent("x".repeat(4e6)), { name: "x".repeat(4e6) }],
    ["is malformed with a text that is not UTF-8", sent(Uint8Array.of(0xff)), because("data[name] is not valid UTF-8")],
    ...["utf-8", '"UTF-8"', "utf8", " unicode-1-1-utf-8 ; x=y", "utf-8; charset=UTF-8", '""', ""].map(
      (charset): [string, Part, object] => [
        `reads UTF-8 with the charset ${charset}`,
        inCharset(`charset=${charset}`, "é"),
        { name: "é" },
      ],
    ),
    ...["ISO-8859-1", "latin1", "Windows-1252", "cp1252", "l1"].map((charset): [string, Part, object] => [
      `reads the charset ${charset}`,
      inCharset(`Charset = "${charset}"`, Uint8Array.of(0xe9, 0x80)),
      { name: "é€" },
    ]),
    ["reads Cyrillic in KOI8-R", in8Bit("koi8-r", 0xc1), { name: "а" }],
    ["reads Japanese in Shift_JIS", in8Bit("Shift_JIS", 0x82, 0xa0), { name: "あ" }],
    ["reads Japanese in ISO-2022-JP", inCharset("charset=iso-2022-jp", "\x1b$B0Q\x1b(B"), { name: "委" }],
    ["reads Chinese in GB18030", in8Bit("gb18030", 0x81, 0x30, 0x84, 0x36), { name: "¥" }],
    ["reads UTF-16", inCharset("charset=utf-16le", "L\0O\0A\0"), { name: "LOA" }],
    ["reads UTF-16 of .NET, with its mark", in8Bit("utf-16", 0xff, 0xfe, 0x4c, 0), { name: "L" }],
    ["reads UTF-16 of Java, which is big-endian", in8Bit("UTF-16", 0xfe, 0xff, 0, 0x4c), { name: "L" }],
    ["keeps a mark in UTF-8", inCharset("charset=utf-8", "\ufeffL"), { name: "\ufeffL" }],
    ["reads ASCII", inCharset("charset=us-ascii", "LOA~\x7f"), { name: "LOA~\x7f" }],
    ["reads JSON in another charset", sent(Uint8Array.of(0x22, 0xe9, 0x22), `${json}; charset=latin1`), { name: "é" }],
    ["ignores a charset in a quoted text", inCharset('x="; charset=utf-7"', "é"), { name: "é" }],
    ["is malformed beyond ASCII", in8Bit("us-ascii", 0x80), isNot("us-ascii")],
    ["is malformed in UTF-8 that is called ASCII", inCharset("charset=ascii", "é"), isNot("ascii")],
    ["is malformed with half a character of UTF-16", in8Bit("utf-16le", 0x4c, 0, 0x4c), isNot("utf-16le")],
    ["is malformed with half a surrogate pair", in8Bit("utf-16be", 0xd8, 0), isNot("utf-16be")],
    ["is malformed with half a character of EUC-JP", in8Bit("euc-jp", 0xa4), isNot("euc-jp")],
    ["is malformed with a byte that ISO-8859-3 does not have", in8Bit("iso-8859-3", 0xa5), isNot("iso-8859-3")],
    ["is malformed with a NUL of UTF-16", in8Bit("utf-16be", 0, 0), because("data[name] contains a NUL")],
    ...["utf-7", "x-nonsense", "replacement", "iso-2022-kr", "utf-32", "cp850", "'utf-8'"].map(
      (charset): [string, Part, object] => [
        `is malformed in the unknown charset ${charset}`,
        inCharset(`charset=${charset}`),
        because(`data[name] has the unknown charset ${charset}`),
      ],
    ),
    [
      "is malformed in two charsets",
      inCharset("charset=utf-8; charset=latin1", "LOA"),
      because("data[name] has two charsets, utf-8 and latin1"),
    ],
    ["is malformed with a NUL", sent("L\0O\0A\0"), because("data[name] contains a NUL")],
    [
      "takes a file in any charset",
      file('; filename="a.txt"\r\nContent-Type: text/plain; charset=utf-16le', "a\0"),
      { file: expect.objectContaining({ contentType: "text/plain" }), filename: "a.txt" },
    ],
    ["ignores the charset of an unknown part", part("x", "a\0", "\r\nContent-Type: text/plain; charset=utf-16le"), {}],
    ["reads the Content-Transfer-Encoding binary", encodedAs("BINARY"), { name: "LOA" }],
    ["is malformed with any other", encodedAs("8bitx"), because("data[name] has the Content-Transfer-Encoding 8bitx")],
    ["takes data[file] without a filename and a type for a text", file("", "loa.pdf"), { file: "loa.pdf" }],
  ])("%s", async (_, one, data) => {
    expect(await dataOf(one)).toEqual(data);
  });

  const x250 = "x".repeat(250);
  const pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation";
  const typed = (type: string) => `\r\nContent-Type: ${type}`;
  it.each([
    ["attachment where it has no name", typed("application/PDF"), "attachment", "application/pdf"],
    ["whatever its type is", `; filename="a.pdf"${typed(`${x250}/y`)}`, "a.pdf", "application/octet-stream"],
    ["with a long type", `; filename="a.pptx"${typed(pptx)}`, "a.pptx", pptx],
    ["attachment where its name is ..", '; filename=".."', "attachment"],
    ["by a name of three dots", '; filename="..."', "..."],
    ["by its base name", '; filename="../a/b.pdf"', "b.pdf"],
    ["by its base name on Windows", '; filename="C:\\\\a\\b.pdf"', "b.pdf"],
    ["by what %22, %0D, %0A and a quote after a backslash mean", '; filename="a%22b%0D%0A\\".pdf"', 'a"b".pdf'],
    ["by a name without quotes, in any case", ';FileName = a.pdf; x="y;z" ;', "a.pdf"],
    ["by its filename*, also before its filename", `; filename*=UTF-8''%E2%82%AC.pdf; filename="a.pdf"`, "€.pdf"],
    ["by its filename* rather than by its filename", `; filename="a.pdf"; filename*=iso-8859-1'de'%E4.pdf`, "ä.pdf"],
    ["without control characters", `; filename="a\u0007b.pdf"`, "ab.pdf"],
    ["without what changes the direction of text", `; filename="\u202ea\u061cfdp\u200e\u200f.\u2069exe"`, "afdp.exe"],
    ["without spaces around its name", '; filename=" a .pdf "', "a .pdf"],
    ["by 255 characters, not bytes", `; filename="${"😀".repeat(255)}"`, "😀".repeat(255)],
    ["by 256 characters, for the schema to refuse", `; filename="${"😀".repeat(256)}"`, "😀".repeat(256)],
    ["by a quoted filename*", `; filename="???.pdf"; filename*="UTF-8''%E5%A7%94.pdf"`, "委.pdf"],
    ["by a filename* with a quoted text", `; filename*=utf-8''"%E5%A7%94 b.pdf"`, "委 b.pdf"],
    ["by a filename* with a language", `; filename*=UTF8'zh-Hant'%E5%A7%94`, "委"],
    [
      "by a filename* with characters that need no quotes",
      "; filename*=utf-8''R&D%20@%20a=b,%20(1).pdf ",
      "R&D @ a=b, (1).pdf",
    ],
    ["by a filename* in UTF-8", `; filename="LOA (1).pdf"; filename*=utf-8''Größe%20(1).pdf; x=y`, "Größe (1).pdf"],
    ["by its filename beside an empty filename*", `; filename="a.pdf"; filename*=UTF-8''`, "a.pdf"],
    ["by an encoded word in Base64", '; filename="=?utf-8?B?5aeULnBkZg==?="', "委.pdf"],
    ["by an encoded word in quoted-printable", '; filename=" =?UTF-8*zh?q?=E5=A7=94_b.pdf?= "', "委 b.pdf"],
    ["by an encoded word in another charset", '; filename="=?iso-2022-jp?B?GyRCMFFHJBsoQi5wZGY=?="', "委任.pdf"],
    ["by a character in two encoded words", '; filename="=?utf-8?B?5ac=?= =?UTF-8?B?lC5wZGY=?="', "委.pdf"],
    ["by encoded words in two charsets", '; filename="=?utf-8?Q?=E5=A7=94?==?iso-8859-1?Q?=E4.pdf?="', "委ä.pdf"],
    ["by its filename* beside an encoded word", `; filename="=?x?B?!?="; filename*=utf-8''%E5%A7%94`, "委"],
    ["by a name that only contains an encoded word", '; filename="a =?utf-8?B?5aeU?="', "a =?utf-8?B?5aeU?="],
    ["by a name that only looks like an encoded word", '; filename="=?utf-8?X?5aeU?="', "=?utf-8?X?5aeU?="],
    ["with its percent signs", '; filename="%E5%A7%94%20.pdf"', "%E5%A7%94%20.pdf"],
    ["with the percent signs of a name without quotes", "; filename=a%22b.pdf", "a%22b.pdf"],
  ])("names its file %s", async (_, more, filename, contentType = "text/plain") => {
    expect(await dataOf(file(more))).toMatchObject({ file: { filename, contentType } });
  });

  it.each<[string, Part, string]>([
    ["no Content-Disposition", ["X: y", "x"], "part 1 has no Content-Disposition"],
    [
      "another type",
      ['Content-Disposition: x-form-data; name="data[name]"', "x"],
      "data[name] has a Content-Disposition that is not form-data",
    ],
    [
      "two of them",
      sent("x", '\r\nContent-Disposition: form-data; name="type"'),
      "data[name] has two Content-Dispositions",
    ],
    ["two names", ['Content-Disposition: form-data;name="data[name]";NAME="type"', "x"], "data[name] gives name twice"],
    ["two filenames", file('; filename="a"; filename="a"'), "data[file] gives filename twice"],
    ["two filename*", file("; filename*=UTF-8''a; filename*=UTF-8''a"), "data[file] gives filename* twice"],
    [
      "a name*",
      [`Content-Disposition: form-data; name*=UTF-8''data%5Bname%5D`, "x"],
      "part 1 has a name* in place of its name",
    ],
    ["bare quotes", file('; filename="my "best" loa.pdf"'), "data[file] has a value with a bare quote"],
    ["bare quotes in the middle", file('; filename=my"best"'), "data[file] has a value with a bare quote"],
    ["a bare quote before a semicolon", file('; filename="a"; name="b.pdf"'), "data[file] gives name twice"],
    ["no closing quote", file('; filename="my loa.pdf'), "data[file] has a quote that is not closed"],
    ["a backslash before the last quote", file('; filename="a\\"'), "data[file] has a quote that is not closed"],
    ["a text after a quote", file('; filename="a.pdf"x'), "data[file] has a value with a bare quote"],
    ["a filename that needs quotes", file("; filename=my loa.pdf"), "data[file] has a value that needs quotes"],
    ["a comma that needs quotes", file("; filename=a,b.pdf"), "data[file] has a value that needs quotes"],
    ["a quote in a filename*", file(`; filename*=UTF-8''a (1)"b".pdf`), "data[file] has a value that needs quotes"],
    [
      "a semicolon in a filename*",
      file(`; filename="a;b.pdf"; filename*=utf-8''a;b.pdf`),
      "data[file] has a parameter that cannot be read",
    ],
    ["a semicolon that needs quotes", file("; filename=a;b.pdf"), "data[file] has a parameter that cannot be read"],
    [
      "a filename* that is not UTF-8",
      file(`; filename="a.pdf"; filename*=UTF-8''%ff.pdf`),
      "data[file] has a filename* that cannot be decoded",
    ],
    [
      "a filename* without a charset",
      file(`; filename="a.pdf"; filename*="a.pdf"`),
      "data[file] has a filename* that cannot be decoded",
    ],
    ["a filename* in UTF-16", file(`; filename*=UTF-16''a.pdf`), "data[file] has a filename* that cannot be decoded"],
    [
      "an encoded word in an unknown charset",
      file('; filename="=?x-y?Q?a?="'),
      "data[file] has a filename with an encoded word that cannot be decoded",
    ],
    [
      "an encoded word with other bytes",
      file('; filename="=?utf-8?Q?=FF?="'),
      "data[file] has a filename with an encoded word that cannot be decoded",
    ],
    [
      "an encoded word that is not Base64",
      file('; filename="=?utf-8?B?a!b?="'),
      "data[file] has a filename with an encoded word that cannot be decoded",
    ],
    [
      "a character of Base64 that means no byte",
      file('; filename="=?utf-8?B?YS5wZGYx5?="'),
      "data[file] has a filename with an encoded word that cannot be decoded",
    ],
    [
      "an encoded word with a bare equals sign",
      file('; filename="=?utf-8?Q?a=b.pdf?="'),
      "data[file] has a filename with an encoded word that cannot be decoded",
    ],
    [
      "a byte order mark before a filename",
      file('; \xef\xbb\xbffilename="a.pdf"\r\nContent-Type: application/pdf'),
      "data[file] has a parameter that cannot be read",
    ],
    [
      "a character that no parameter's name has",
      file('; \\filename="a.pdf"\r\nContent-Type: application/pdf'),
      "data[file] has a parameter that cannot be read",
    ],
    ["no name", ['Content-Disposition: form-data; names="data[notes]"', "x"], "part 1 has no name"],
    [
      "a name that does not help",
      [`Content-Disposition: form-data; name="${"x".repeat(65)}"; x`, "x"],
      "part 1 has a parameter that cannot be read",
    ],
    [
      "a filename in pieces",
      file('; filename*0="a"; filename*1="b.pdf"'),
      "data[file] has a filename in pieces (a continuation of RFC 2231)",
    ],
    [
      "an extended filename in pieces",
      file("; filename*0*=UTF-8''a; filename*1*=b.pdf"),
      "data[file] has a filename in pieces (a continuation of RFC 2231)",
    ],
    [
      "a filename that is not UTF-8",
      file('; filename="\xe4.pdf"'),
      "data[file] has a Content-Disposition that is not UTF-8",
    ],
  ])("never shortens, drops or changes a name: it is malformed with %s", async (_, one, why) => {
    const { headers, body } = rawForm(one);
    const latin1 = Buffer.from(body.toString(), "latin1");
    expect(await read({ headers, body: latin1 })).toEqual(because(why));
  });
});
