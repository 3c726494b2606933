import { describe, expect, it, onTestFinished } from "vitest";
import { startGateway } from "../../infra/local/gateway.ts";
import { matcher } from "../../infra/local/match.ts";
import { fileKindOf } from "../../shared/attachments/file-kind.ts";
import {
  createAttachmentRoutes,
  listAttachmentsRoutes,
  updateAttachmentRoutes,
} from "../../shared/attachments/routes.ts";
import { ApiError, unauthorized } from "../../shared/errors.ts";
import { readForm } from "../../shared/http/form.ts";
import { readIdempotencyKey } from "../../shared/http/idempotency.ts";
import { parseQuery, readInput, readJson, requireMediaType } from "../../shared/http/input.ts";
import { pathId } from "../../shared/http/request.ts";
import { precondition } from "../../shared/http/responses.ts";
import { limits } from "../../shared/limits.ts";
import type { Reads } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import { newId } from "../../shared/schema/fields.ts";
import { isEmailAddress, isHostAndPort, isHttpUrl } from "../../shared/switches/addresses.ts";
import { createSwitchRoutes } from "../../shared/switches/routes.ts";
import { collections } from "../../shared/table/keys.ts";
import { pageRequest } from "../../shared/table/pages.ts";
import { eventOf, type Input } from "../support/requests/event.ts";
import { byExtent, exhaustive, sampleOf } from "../support/setup/extent.ts";

/**
 * Whatever reads what a customer sends takes time in proportion to its size. Each reader gets texts that repeat one or two pieces
 * between a beginning and an end. Where four times the size takes more than nine times the processor time, the reader is not linear.
 */

type Case = {
  readonly read: (text: string) => unknown;
  /** Beginnings and ends, between which the pieces are repeated. */
  readonly around: readonly (readonly [begin: string, end: string])[];
  readonly bytes: number;
};

/** More than the 10,240 bytes that a gateway takes. */
const headerBytes = 65_536;

const route = createAttachmentRoutes.request;
const json = { "content-type": "application/json" };
const formType = "multipart/form-data; boundary=b";
const part = (headers: string, content = "x") => `--b\r\n${headers}\r\n\r\n${content}\r\n--b--\r\n`;
const disposition = 'Content-Disposition: form-data; name="data[file]"';

/** Texts are Latin-1 in files and forms, so that the size is in bytes. */
const latin1 = (text: string) => new Uint8Array(Buffer.from(text, "latin1"));
const formWith = (input: Input) => readForm(eventOf(route, input), route.reads);
const bodyOf = (reads: Reads, current?: Record<string, unknown>) => (body: string) =>
  readInput(eventOf(route, { headers: json, body }), reads, readJson, current, []);
const readSwitch = bodyOf(createSwitchRoutes.own.reads);
const nested = (depth: number, text: string): [string, string] => [
  `${'{"a":'.repeat(depth)}{`,
  `${text}}${"}".repeat(depth)}`,
];
const inData = (name: string): [string, string] => [`{"type":"switch","data":{"${name}":"`, '"}}'];

const readers: Readonly<Record<string, Case>> = {
  "the kind of a file": {
    read: (text) => fileKindOf({ first: latin1(text), last: latin1(text), bytes: text.length }),
    around: [
      ["", ""],
      ["%PDF-1.7\n", "null "],
      ["%PDF-1.7\n/Encrypt", "null "],
      ["%PDF-1.7\nxref \ntrailer <<", ">>\nstartxref\n9\n%%EOF"],
      ["%PDF-1.7\n1 0 obj <</Type /XRef ", ">>\nstartxref\n9\n%%EOF"],
      ["%PDF-1.7\n", "\nstartxref\n9\n%%EOF"],
    ],
    bytes: limits.fileBytes,
  },
  "a form": {
    read: (text) => formWith({ headers: { "content-type": formType }, body: latin1(text) }),
    around: [
      ["", ""],
      ["--b\r\n", ""],
      [`--b\r\n${disposition}; filename="`, '"\r\n\r\nx\r\n--b--\r\n'],
      [`--b\r\n${disposition}; filename*=`, "\r\n\r\nx\r\n--b--\r\n"],
      [`--b\r\n${disposition}; filename="a"\r\nContent-Type: `, "\r\n\r\nx\r\n--b--\r\n"],
      [`--b\r\n${disposition}; filename="a"\r\n\r\n`, "\r\n--b--\r\n"],
      [part(disposition).slice(0, -4), ""],
      ['--b\r\nContent-Disposition: form-data; name="', '"\r\n\r\nx\r\n--b--\r\n'],
      ['--b\r\nContent-Disposition: form-data; name="data[name]"\r\n\r\n', "\r\n--b--\r\n"],
    ],
    bytes: limits.fileBytes,
  },
  "a form's Content-Type": {
    read: (text) => formWith({ headers: { "content-type": text }, body: latin1(part(disposition)) }),
    around: [
      ["multipart/form-data", ""],
      ["multipart/form-data; boundary=", ""],
      ['multipart/form-data; boundary="', '"'],
      ["multipart/form-data; x=", "; boundary=b"],
    ],
    bytes: headerBytes,
  },
  "a JSON body": {
    read: readSwitch,
    around: [
      ["", ""],
      ["[", "]"],
      ['{"a":"', '"}'],
      ['{"a":', "}"],
      nested(2_000, '"a":1'),
      inData("name"),
      inData("sms_identity"),
    ],
    bytes: limits.jsonBytes,
  },
  "an update": {
    read: bodyOf(updateAttachmentRoutes.request.reads, { id: "x", filename: "x", reference_id: null }),
    around: [inData("name"), inData("notes"), inData("filename"), inData("reference_id"), inData("id")],
    bytes: limits.jsonBytes,
  },
  "the endpoints of a switch": {
    read: (text) => {
      const data = { name: "x", sms_protocol: "HTTP", sms_endpoints: [text, `${text}x`] };
      return readSwitch(JSON.stringify({ type: "switch", data }));
    },
    around: [
      ["https://", ""],
      ["", ""],
    ],
    bytes: 500_000,
  },
  "an HTTP endpoint": {
    read: isHttpUrl,
    around: [
      ["https://", ".example/"],
      ["", ""],
    ],
    bytes: headerBytes,
  },
  "an email address": {
    read: isEmailAddress,
    around: [
      ["a@", ".example"],
      ["", "@a.example"],
    ],
    bytes: headerBytes,
  },
  "a host and port": {
    read: isHostAndPort,
    around: [
      ["", ":25"],
      ["[", "]:25"],
    ],
    bytes: headerBytes,
  },
  "a query": {
    read: (text) => {
      const query = { after: text, first: text, include: text, reference_id: text };
      parseQuery(eventOf(route, { query }), listAttachmentsRoutes.request.reads);
    },
    around: [
      ["", ""],
      ["file,", ""],
    ],
    bytes: headerBytes,
  },
  "a cursor": {
    read: (after) => pageRequest(collections.switches(newId()), { after }),
    around: [["", ""]],
    bytes: headerBytes,
  },
  "an id in the path": {
    read: (id) => pathId(eventOf(route, { ids: { id } }), "id"),
    around: [
      ["", ""],
      ["%", ""],
    ],
    bytes: headerBytes,
  },
  "a path": {
    read: (text) => matcher(routes)("GET", text),
    around: [
      ["/", ""],
      ["/api/v1/requests/", "/x"],
    ],
    bytes: headerBytes,
  },
  "an Idempotency-Key": {
    read: (text) =>
      readIdempotencyKey(eventOf(route, { headers: { "idempotency-key": text } }), Promise.reject(unauthorized())),
    around: [["", ""]],
    bytes: headerBytes,
  },
  "If-Match and If-None-Match": {
    read: (text) => precondition(eventOf(route, { headers: { "if-match": `"1", ${text}`, "if-none-match": text } }))(1),
    around: [
      ["", ""],
      ['"', '"'],
    ],
    bytes: headerBytes,
  },
  "Content-Encoding": {
    read: (text) =>
      requireMediaType(eventOf(route, { headers: { ...json, "content-encoding": text } }), "application/json"),
    around: [["", ""]],
    bytes: headerBytes,
  },
};

const blanks = [" ", "\t", "\r\n", "\n", "\0"];
const pieces = [
  ...blanks,
  "a",
  "0",
  "-",
  ".",
  ",",
  ";",
  ":",
  "/",
  "@",
  "=",
  "*",
  "%",
  "%41",
  "(",
  ")",
  "[",
  "]",
  "{",
  '"',
  "\\",
  '\\"',
  "'",
  '"a":1,',
  '{"a":',
  "<<",
  ">>",
  "/Encrypt",
  "%/Encrypt\n",
  "null ",
  "obj",
  "xref ",
  "startxref\n9",
  "%PDF-1.7",
  "--b\r\n",
  "\r\n--b",
  "Content-Disposition: form-data; name=a\r\n\r\n",
  "=?utf-8?B?",
  "?=",
  "=?utf-8?Q?a?= ",
  "; filename=a",
  'W/"',
  "xn--",
  "\u00e9",
];
const pairs = pieces.flatMap((one) => pieces.map((other) => (one === other ? one : one + other)));

/** The processor time of this thread, in milliseconds. Another process does not count. */
const cost = async (read: Case["read"], text: string): Promise<number> => {
  const before = process.threadCpuUsage();
  try {
    await read(text);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
};

const leastCost = async (read: Case["read"], text: string): Promise<number> =>
  Math.min(await cost(read, text), await cost(read, text), await cost(read, text));

/** Whether four times the size takes more than nine times as long, from a small size to the largest. */
const growsFaster = async ({ read, around, bytes }: Case, piece: string): Promise<string[]> => {
  const slow = async ([begin, end]: readonly [string, string]) => {
    const textOf = (size: number) => begin + piece.repeat(Math.ceil(size / piece.length)) + end;
    const costs: number[] = [];
    for (let size = 4_096; size <= bytes; size *= 2) {
      costs.push(await cost(read, textOf(size)));
      const allowed = 9 * Math.max(costs.at(-3) ?? Number.POSITIVE_INFINITY, 4);
      if ((costs.at(-1) ?? 0) <= allowed) continue;
      if ((await leastCost(read, textOf(size))) > 9 * Math.max(await leastCost(read, textOf(size / 4)), 4))
        return [`${JSON.stringify([begin.slice(0, 60), piece, end.slice(0, 60)])} at ${size} bytes`];
    }
    return [];
  };
  const found: string[] = [];
  for (const each of around) found.push(...(await slow(each)));
  return found;
};

describe("time in proportion to the size is what it takes to read", () => {
  const stride = byExtent({ sample: 101, most: 17, all: 1 });
  const most = byExtent({ sample: 65_536, most: 262_144, all: Number.POSITIVE_INFINITY });
  it.each(Object.entries(readers))("%s", { timeout: 1_200_000 }, async (_, reader) => {
    const limited = { ...reader, bytes: Math.min(reader.bytes, most) };
    const found: string[] = [];
    for (const piece of sampleOf(pairs, stride)) found.push(...(await growsFaster(limited, piece)));
    expect(found).toEqual([]);
  });

  it("a JSON body whose depth and whose repetitions of a name grow", async () => {
    const read = (text: string) => {
      const count = text.length / 16;
      return readSwitch(`${'{"a":'.repeat(count)}{${'"a":1,'.repeat(count)}"a":1}${"}".repeat(count)}`);
    };
    expect(await growsFaster({ read, around: [["", ""]], bytes: 262_144 }, "x")).toEqual([]);
  });

  it("a body from the size on of which the local gateway reads only ten at a time", async () => {
    const { url, close } = await startGateway({
      routes,
      load: () => async () => ({ statusCode: 201, body: "" }),
      port: 0,
    });
    onTestFinished(close);
    // The processor time of one request is too short to be measured.
    const fifty = async (body: string) => {
      for (let nth = 0; nth < 50; nth += 1)
        await (await fetch(`${url}/api/v1/switches`, { method: "POST", body })).text();
    };
    const [medium, large] = ["x".repeat(60_000), "x".repeat(70_000)];
    await fifty(large);
    expect(await leastCost(fifty, large)).toBeLessThan(3 * (await leastCost(fifty, medium)));
  });

  it.runIf(exhaustive)("is noticed where it is not so", async () => {
    const square = (text: string) => Array.from(text, (_, at) => text.indexOf("b", at)).length;
    const planted: Case = { read: square, around: [["", ""]], bytes: 262_144 };
    expect(await growsFaster(planted, "a")).toHaveLength(1);
  });
});
