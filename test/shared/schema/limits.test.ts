import { describe, expect, it } from "vitest";
import { $ZodType } from "zod/v4/core";
import { UploadedFile } from "../../../shared/attachments/attachment-schema.ts";
import { limits } from "../../../shared/limits.ts";
import { routes } from "../../../shared/routes.ts";
import { check } from "../../../shared/schema/check.ts";
import { keys } from "../../../shared/table/keys.ts";
import { entrySchemas } from "../../../shared/tenants/apply-schema.ts";

/** Every part of a request has a limit, and the largest requests and items fit into Lambda's events and DynamoDB's items. */

type Place = { readonly name: string; readonly schema: $ZodType };

const ofRoutes = routes.map(({ name, reads }) => ({ name, from: reads.from, schema: reads.schema }));
const ofApply = Object.entries(entrySchemas).map(([section, schema]) => ({ name: `apply ${section}`, schema }));
const requests: readonly Place[] = [...ofRoutes, ...ofApply];

const at = (object: object, name: string): unknown => Reflect.get(object, name);

/** The definitions of a schema and of its checks. */
const rulesOf = ({ _zod: { def } }: $ZodType) => [def, ...(def.checks ?? []).map((one) => one._zod.def)];

const patternsOf = (schema: $ZodType) => rulesOf(schema).flatMap((rule) => at(rule, "pattern") ?? []);

/** The longest text that a pattern matches, if nothing in it repeats without a limit and it has no alternatives. */
const longest = (pattern: unknown): number => {
  // A negative lookahead does not make the text longer.
  const source = pattern instanceof RegExp ? pattern.source.replace(/\(\?![^)]*\)/, "") : "";
  const [, body = "(?"] = /^\^(.*)\$$/.exec(source) ?? [];
  const tokens = [...body.matchAll(/(\[[^\]]*\]|\\.|.)(?:\{(?:\d+,)?(\d+)\})?/g)];
  const isOpen = tokens.some(([token]) => /^[*+?|({.]$/.test(token));
  return isOpen ? Number.POSITIVE_INFINITY : tokens.reduce((sum, [, , times = "1"]) => sum + Number(times), 0);
};

/** The limits that a schema states, without those of its patterns. */
const limitsOf = (schema: $ZodType, side: "max" | "min"): number[] =>
  rulesOf(schema).flatMap((rule) => {
    if (!("check" in rule)) return [];
    const names = { max: ["max_length", "less_than"], min: ["min_length", "greater_than"] }[side];
    const limit = at(rule, `${side}imum`) ?? at(rule, "value");
    return names.includes(String(rule.check)) ? [Number(limit)] : [];
  });

const maxOf = (schema: $ZodType) => Math.min(...limitsOf(schema, "max"), ...patternsOf(schema).map(longest));

/**
 * The schemas directly inside one. For a conversion, that is the schema of its input. It is that of its output if this is a number,
 * which is short, or if the conversion only removes padding.
 */
const partsOf = ({ name, schema }: Place): Place[] => {
  const { def } = schema._zod;
  const [converted, shape] = [at(def, "out"), Object(at(def, "shape"))];
  const isShort = converted instanceof $ZodType && allPartsOf({ name, schema: converted }).some(isNumber);
  const sent = at(def, "in");
  const isPadded = sent instanceof $ZodType && sent._zod.def.type === "transform";
  const inside = [isShort || isPadded ? converted : sent, at(def, "innerType"), at(def, "element")];
  // The form parser makes and limits the properties of an uploaded file.
  const properties = schema === UploadedFile ? [] : Object.entries(shape);
  return [
    ...inside.map((one) => [name, one] as const),
    ...properties.map(([key, one]) => [`${name} ${key}`, one] as const),
  ].flatMap(([name, schema]) => (schema instanceof $ZodType ? [{ name, schema }] : []));
};

const allPartsOf = (place: Place): Place[] => [place, ...partsOf(place).flatMap(allPartsOf)];

const isNumber = ({ schema }: Place) => schema._zod.def.type === "number";

/** Whether a value can have any size. Schemas of unknown kinds count as unlimited. */
const isUnlimited = ({ schema }: Place): boolean => {
  const { type } = schema._zod.def;
  if (type === "string" || type === "array") return maxOf(schema) === Number.POSITIVE_INFINITY;
  if (type === "number") return limitsOf(schema, "max").length === 0 || limitsOf(schema, "min").length === 0;
  return !/^(object|optional|nullable|default|pipe|transform|boolean|enum|literal|null|undefined)$/.test(type);
};

/** Whether a schema has a format or a rule without a detail of its own. */
const lacksDetail = ({ schema }: Place) =>
  rulesOf(schema).some((rule) => {
    const isRule = "check" in rule && /^(string_format|custom)$/.test(String(rule.check));
    return isRule && at(rule, "error") === undefined;
  });

const namesOf = (places: readonly Place[]) => [...new Set(places.map(({ name }) => name))];

describe("every part of a request", () => {
  const all = requests.flatMap(allPartsOf);

  it("has a limit", () => {
    expect(namesOf(all.filter(isUnlimited)), "give these a maximum, from shared/limits.ts").toEqual([]);
    expect(all.length).toBeGreaterThan(200);
  });

  it("has no limit that shared/limits.ts does not have", () => {
    const stated = new Set(
      Object.values(limits).flatMap((one) => (typeof one === "object" ? Object.values(one) : one)),
    );
    const others = all.filter(({ schema }) =>
      limitsOf(schema, "max").some((limit) => !stated.has(limit) && Number.isSafeInteger(limit)),
    );
    expect(namesOf(others), "add the maximum of these to shared/limits.ts").toEqual([]);
  });

  it("has a detail of its own for each format and rule", () => {
    expect(namesOf(all.filter(lacksDetail)), 'give these a text, such as { error: "must be a UUID" }').toEqual([]);
  });

  const values = [
    undefined,
    null,
    0,
    -1,
    1.5,
    "",
    "\ud800",
    "\0",
    "x".repeat(5_000),
    true,
    [],
    Array(200).fill({}),
    {},
  ];

  it("is refused with a sentence", () => {
    const details = all.flatMap(({ name, schema }) =>
      values.flatMap((value) => (check(schema, value, "body").problems ?? []).map(({ detail }) => `${name} ${detail}`)),
    );
    expect(details.filter((detail) => !/ (can't be|must|has unknown) /.test(detail))).toEqual([]);
    expect(details.length).toBeGreaterThan(500);
  });
});

/** The most bytes that a character can take in any text, and in one that its pattern limits to ASCII. */
type Encoding = { readonly any: number; readonly ascii: number };
/** In UTF-8, as DynamoDB counts it. */
const stored: Encoding = { any: 4, ascii: 1 };
/** In JSON, where each UTF-16 unit may be escaped (\u0000). */
const sent: Encoding = { any: 12, ascii: 6 };
/** In the JSON of a response's body, which Lambda escapes once more. A control character is the longest. */
const returned: Encoding = { any: 7, ascii: 7 };
/** The bytes around a value in JSON or in an item, such as quotes, a colon, a comma and a type. */
const around = 6;

/** The most bytes that a value of a schema can take. */
const sizeOf = (schema: $ZodType, encoding: Encoding): number => {
  const inside = partsOf({ name: "", schema }).map((part) => part.name.length + sizeOf(part.schema, encoding));
  const { type, ...def } = schema._zod.def;
  if (type === "string") {
    const isAscii = patternsOf(schema).some((pattern) => pattern instanceof RegExp && !pattern.test("\u{1f600}"));
    return around + maxOf(schema) * (isAscii ? encoding.ascii : encoding.any);
  }
  if (type === "number") return around + 21;
  if (type === "array") return around + maxOf(schema) * Math.max(...inside);
  if (inside.length > 0) return around + inside.reduce((sum, one) => sum + one, 0);
  return around + JSON.stringify(Object.values(at(def, "entries") ?? at(def, "values") ?? [false])).length;
};

const dataOf = (schema: $ZodType): $ZodType => {
  const data = at(Object(at(schema._zod.def, "shape")), "data");
  return data instanceof $ZodType ? data : schema;
};

const kib = 1_024;
/**
 * The bytes that the service adds, such as ids, times, keys, counts, the account's ancestors and the properties detected in a file.
 */
const added = 2 * kib;
const eventBytes = 6 * kib * kib;
const jsonBodies = ofRoutes.filter(({ from }) => from === "json");
const forms = ofRoutes.filter(({ from }) => from === "form");
const itemOf = (schema: $ZodType) => added + sizeOf(dataOf(schema), stored);

describe("the largest", () => {
  it.each<[string, number, readonly (readonly [string, number])[]]>([
    [
      "items fit into DynamoDB",
      400 * kib,
      [...jsonBodies, ...forms, ...ofApply].map(({ name, schema }) => [name, itemOf(schema)]),
    ],
    [
      // An update, its condition on the old values, and its event, which has old and new values.
      "entry fits into a transaction",
      4 * kib * kib,
      ofApply.map(({ name, schema }) => [name, 4 * itemOf(schema) + added]),
    ],
    ["JSON bodies are accepted", limits.jsonBytes, jsonBodies.map(({ name, schema }) => [name, sizeOf(schema, sent)])],
    [
      // The body in base64, the headers of the request, which the event has twice, and the path.
      "forms fit into an event",
      eventBytes,
      forms.map(({ name, schema }) => {
        const body = limits.fileBytes + sizeOf(schema, sent) + limits.form.headerBytes;
        return [name, Math.ceil(body / 3) * 4 + 3 * 10_240];
      }),
    ],
    [
      "pages of attachments fit into a response",
      eventBytes,
      forms.map(({ name, schema }) => [name, limits.pageSize.max * (added + sizeOf(dataOf(schema), returned))]),
    ],
    [
      "keys fit into DynamoDB",
      kib,
      [["Idempotency-Key", keys.idempotency("0".repeat(26), "~".repeat(limits.idempotencyKey.length)).sk.length]],
    ],
  ])("%s", (_what, limit, sizes) => {
    const tooLarge = sizes.filter(([, bytes]) => !(bytes <= limit));
    expect(tooLarge.map(([name, bytes]) => `${name}: ${bytes} of ${limit} bytes`)).toEqual([]);
    expect(sizes).not.toEqual([]);
  });
});
