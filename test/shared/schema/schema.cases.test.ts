import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import {
  Attachment,
  CarrierReceipt,
  MediaType,
  minimalMetadata,
  NewMetadata,
  SentMetadata,
  Upload,
  UploadBytes,
  UploadedFile,
  UploadFile,
  uploadExpiry,
  warningOf,
} from "../../../shared/attachments/attachment-schema.ts";
import { check } from "../../../shared/schema/check.ts";
import { includeOf, PageQuery, parseUlid, Timestamp, Uuid, withoutRules } from "../../../shared/schema/fields.ts";
import { NewSwitch } from "../../../shared/switches/switch-schema.ts";

/** The inputs that the schemas accept, and the problems that they report. */

afterEach(() => void vi.unstubAllEnvs());

const uploaded = { content: new Uint8Array(1), sha256: "0".repeat(64), filename: "a", contentType: "a/b" };

/** The problems of an input, each as "pointer sub_code detail". */
const problemsOf = (schema: z.core.$ZodType, input: unknown) =>
  (check(schema, input, "body").problems ?? []).map(
    ({ pointer, sub_code, detail }) => `${pointer} ${sub_code} ${detail}`,
  );

const ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const uuid = "7b3e4c1a-5d2f-4e8a-9c61-0f2d8a4b6e13";
const at = "2026-11-21T10:00:00.000Z";

it("reads ids and times as a whole", () => {
  expect([parseUlid(ulid.toLowerCase()), parseUlid(`${ulid}0`), parseUlid(`0${ulid}`)]).toEqual([
    ulid,
    undefined,
    undefined,
  ]);
  const times = [at, `x${at}`, `${at}x`].map((time) => z.safeParse(Timestamp, time).success);
  expect(times).toEqual([true, false, false]);
});

it.each<[z.core.$ZodType, unknown, string]>([
  [z.object({ "a/b~c": z.boolean() }), { "a/b~c": 1 }, "/a~1b~0c constraint.type must be true or false"],
  [z.array(z.string()), "x", " constraint.type must be an array"],
  [z.record(z.string(), z.string()), 1, " constraint.type must be an object"],
  [z.int(), 1.5, " constraint.type must be a whole number"],
  [z.number(), "1", " constraint.type must be a number"],
  [z.strictObject({}), { a: 1, b: 2 }, " constraint.enum has unknown properties: a, b"],
  [z.array(z.string()).check(z.maxLength(1)), ["a", "b"], " constraint.length must have at most 1 items"],
  [z.array(z.string()).check(z.minLength(1)), [], " constraint.length must have at least 1 items"],
  [z.string().check(z.minLength(2)), "a", " constraint.length must be at least 2 characters"],
  [z.number().check(z.minimum(1)), 0, " constraint.range must be at least 1"],
  [z.string().check(z.refine(() => false, "is wrong")), "a", " constraint.format is wrong"],
  [Uuid, `${uuid}0`, " constraint.format must be a UUID"],
  [MediaType, "text/plain; x=y", " constraint.format must be a media type without parameters"],
  [MediaType, `a/${"b".repeat(128)}`, " constraint.format must be a media type without parameters"],
  [includeOf("a", "b"), "a,c", " constraint.enum must be one of a, b"],
  [PageQuery, { first: "x1" }, "/first constraint.format must be a whole number"],
  [PageQuery, { first: "1x" }, "/first constraint.format must be a whole number"],
  [PageQuery, { last: `-${"9".repeat(400)}` }, "/last constraint.range must be at least 1"],
])("names what is refused: $1 with $2", (schema, input, problem) => {
  expect(problemsOf(schema, input)).toEqual([problem]);
});

it.each([
  [NewSwitch, { name: "n".repeat(256) }, { minimum: 1, maximum: 255 }],
  [z.partial(NewSwitch), { sms_secret: "s".repeat(1_025) }, { maximum: 1_024 }],
  [NewSwitch, { name: "n", sms_endpoints: Array(11).fill("") }, { maximum: 10 }],
  [NewSwitch, { name: "n", sms_endpoints: ["", "e".repeat(2_049)] }, { maximum: 2_048 }],
  [NewSwitch, { name: "n", sms_protocol: "MM4" }, { allowed: ["NONE", "HTTP", "MAILBOX", "EMAIL", "SMTP"] }],
  [z.object({ type: z.literal("switch") }), { type: "request" }, { allowed: ["switch"] }],
  [
    z.object({ a: z.strictObject({ id: Uuid, name: z.boolean() }) }),
    { a: { id: uuid, name: true, b: 1 } },
    { allowed: ["id", "name"] },
  ],
  [PageQuery, { first: "0" }, { minimum: 1, maximum: 100 }],
  [PageQuery, { last: "101" }, { minimum: 1, maximum: 100 }],
  [includeOf("a", "b"), "a,c", { allowed: ["a", "b"] }],
  [UploadBytes, 1e12, { minimum: 1, maximum: 104_857_600 }],
  [UploadedFile, { ...uploaded, content: new Uint8Array() }, { minimum: 1 }],
  [Uuid, "1", undefined],
  [z.object({ a: z.string() }), {}, undefined],
] as const)("gives the limits of $1 as the params of its problem: $2", (schema, input, params) => {
  expect(check<z.core.$ZodType>(schema, input, "body").problems?.map((problem) => problem.params)).toEqual([params]);
});

it("a stored text has no rules, neither those of a check nor those of a format", () => {
  const text = z._default(z.nullable(z.email().check(z.maxLength(3))), null);
  const Stored = z.object(withoutRules({ text, list: z.array(z.url()) }));
  expect(z.parse(Stored, { text: "neither", list: ["nor"] })).toEqual({ text: "neither", list: ["nor"] });
  expect(z.parse(Stored, { list: [] })).toEqual({ text: null, list: [] });
  expect(z.safeParse(Stored, { text: 1, list: [] }).success).toBe(false);
});

it.each([
  ["attachments", NewMetadata],
  ["switches", NewSwitch],
])("every property of %s but the name has a default, as stored items can lack it", (_, schema) => {
  const { error } = z.safeParse(schema, { name: "Only a name" });
  const missing = (error?.issues ?? []).map(({ path }) => path.join("/"));
  expect(missing, "give these a default: z._default(schema, value)").toEqual([]);
});

describe("an attachment", () => {
  const stored = {
    ...minimalMetadata("LOA"),
    id: ulid,
    filename: "a",
    inserted_at: at,
    updated_at: at,
    version: 1,
    bytes: 1,
    sha256: "0",
    content_type: "a/b",
    detected_type: null,
    encrypted: null,
  };

  it.each([
    ["LOA", "application/pdf", false, null],
    ["LOA", "image/tiff", null, null],
    ["LOA", "image/png", null, null],
    ["LOA", "image/jpeg", null, null],
    ["LOA", "application/pdf", true, "The letter of authorization is encrypted."],
    ["LOA", "application/pdf", null, "Whether the letter of authorization is encrypted is not known."],
    ["LOA", null, null, "The letter of authorization is not a PDF, TIFF, PNG or JPEG."],
    ["DEFAULT", null, true, null],
  ] as const)(
    "with the hint %s, of the type %j and encrypted: %j, has the warning %j",
    (file_hint, detected_type, encrypted, warning) => {
      expect(warningOf({ ...stored, file_hint, detected_type, encrypted })).toBe(warning);
    },
  );

  it("is stored without rules for input, and sent with four of its properties", () => {
    const older = { ...stored, name: "", notes: "x".repeat(9_999), reference_id: "no UUID" };
    expect(z.parse(Attachment, older)).toEqual(older);
    const { name, notes, file_hint, filename } = stored;
    expect(z.parse(SentMetadata, stored)).toEqual({ name, notes, file_hint, filename });
  });

  it("is pending, forwarded, withdrawn or refused at the carrier, and its upload open or claimed for an hour", () => {
    const sent = z.parse(SentMetadata, stored);
    for (const state of ["pending", "forwarded", "withdrawn", "refused"])
      expect(z.parse(CarrierReceipt, { state, at, sent, more: 1 })).toEqual({ state, at, reason: null, sent });
    const file = { filename: "a", content_type: "a/b", bytes: 1, sha256: "0" };
    for (const state of ["open", "claimed"])
      expect(z.parse(Upload, { id: "1", ...file, inserted_at: at, state })).toMatchObject({ state, inserted_at: at });
    expect(uploadExpiry({ inserted_at: at }).toISOString()).toBe("2026-11-21T11:00:00.000Z");
  });

  it.each([
    [{}, []],
    [{ bytes: 15 }, []],
    [{ bytes: 16 }, ["/bytes constraint.range must be at most 15"]],
    [{ bytes: 104_857_600 }, ["/bytes constraint.range must be at most 15"]],
    [{ bytes: 104_857_601 }, ["/bytes constraint.range must be at most 15"]],
    [{ bytes: 2 ** 53 }, ["/bytes constraint.range must be at most 15"]],
    [{ bytes: 1e300 }, ["/bytes constraint.range must be at most 15"]],
    [{ bytes: -1e300 }, ["/bytes constraint.range must be at least 1"]],
    [{ bytes: 1.5 }, ["/bytes constraint.type must be a whole number"]],
    [{ bytes: 0 }, ["/bytes constraint.range must be at least 1"]],
    [{ sha256: "0" }, ["/sha256 constraint.format must be 64 hexadecimal digits"]],
    [{ filename: ".." }, ["/filename constraint.format must not be blank, . or .."]],
    [{ filename: "" }, ["/filename constraint.required can't be blank"]],
    [{ filename: " " }, ["/filename constraint.format must not be blank, . or .."]],
    [{ filename: " .. " }, ["/filename constraint.format must not be blank, . or .."]],
    [{ filename: [] }, ["/filename constraint.type must be a string"]],
    [
      { filename: "\ud800/" },
      [
        "/filename constraint.format must not contain /, \\, control characters, nor those that change the direction of text",
      ],
    ],
    [
      { filename: "/".repeat(256) },
      [
        "/filename constraint.length must be at most 255 characters",
        "/filename constraint.format must not contain /, \\, control characters, nor those that change the direction of text",
      ],
    ],
    [{ filename: "\ud800" }, ["/filename constraint.format must be well-formed Unicode"]],
  ])("from an upload of %j has the problems %j", (changes, problems) => {
    vi.stubEnv("MAX_UPLOAD_BYTES", "15");
    const file = { filename: "a.pdf", bytes: 1, sha256: "AB".repeat(32), ...changes };
    expect(problemsOf(UploadFile, file)).toEqual(problems);
    if (problems.length === 0) expect(z.parse(UploadFile, file).sha256).toBe("ab".repeat(32));
  });
});
