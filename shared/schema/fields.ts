import { randomInt } from "node:crypto";
import { ulid } from "ulid";
import * as z from "zod/mini";
import { $ZodType, clone } from "zod/v4/core";
import { limits } from "../limits.ts";
import { oneOf } from "./check.ts";

/** Field types that several domains use, and the functions for ids. */

const ulidInAnyCase = /^(?!0{26}$)[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

/** Returns a ULID in upper case, or undefined for any other text and for `noId`, which no resource has. */
export const parseUlid = (sent: string): string | undefined =>
  ulidInAnyCase.test(sent) ? sent.toUpperCase() : undefined;

/** A ULID that no resource can have. Reading it costs the same as reading an existing one. */
export const noId = "00000000000000000000000000";

/**
 * Returns a new ULID. By itself, the package would ask the system for each of sixteen random characters, which takes 25 µs in place
 * of 1.
 */
export const newId = (time = Date.now()): string => ulid(time, () => randomInt(32) / 32);

export const Ulid = z.string().check(z.regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/));

export const Uuid = z
  .string()
  .check(
    z.regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, { error: "must be a UUID" }),
    z.toLowerCase(),
  );

export const Timestamp = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));

export const wellFormed = () =>
  z.refine<string>((value) => value.isWellFormed(), { error: "must be well-formed Unicode" });

/** A text of at most `max` characters, counted in Unicode code points. */
export const text = (max: number) => z.string().check(z.maxLength(max), wellFormed());

/** Trims values, because form builders may pad them. A blank value stays as it is, and the schema rejects it. */
export const padded = <S extends z.core.$ZodType>(schema: S) =>
  z.pipe(
    z.transform((sent: unknown) => (typeof sent === "string" ? sent.trim() || sent : sent)),
    schema,
  );

export const nonBlankText = (max: number) => z.string().check(z.trim(), z.minLength(1), z.maxLength(max), wellFormed());

/**
 * Control characters for a regular expression. They include those that change the direction of text, with which "a\u202efdp.exe"
 * looks like a PDF.
 */
export const controlCharacters = "\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069";

/** A character that can be seen. Blanks, characters without width (such as U+200B or U+3164) and Braille's blank pattern cannot. */
export const visibleCharacter = /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** The name of something, which people read on one line. */
export const nameText = (max: number) =>
  nonBlankText(max).check(
    z.regex(new RegExp(`^[^${controlCharacters}]*$`), {
      error: "must not contain control characters, nor those that change the direction of text",
    }),
    // `minLength` reports an empty text.
    z.refine<string>((name) => name === "" || visibleCharacter.test(name), {
      error: "can't be blank",
      params: { sub_code: "constraint.required" },
    }),
  );

/** The name of an attachment, a switch or an account. */
export const Name = nameText(limits.nameLength);

/** For whom an operator makes a change, in the operator's words. */
export const OnBehalfOf = nameText(limits.onBehalfOfLength);

/** Keeps numbers of any length finite. A number outside the allowed range stays outside it. */
const clampedNumber = (digits: string) => Math.min(Math.max(Number(digits), -1e9), 1e9);

const pageSize = () => {
  const digits = z.string().check(z.regex(/^-?\d+$/, { error: "must be a whole number" }));
  const size = z.number().check(z.minimum(1), z.maximum(limits.pageSize.max));
  return z.optional(z.pipe(digits, z.pipe(z.transform(clampedNumber), size)));
};

/** The query of a list. `first` and `after` page forward, `last` and `before` backward. */
export const PageQuery = z.object({
  first: pageSize(),
  after: z.optional(text(limits.queryLength)),
  last: pageSize(),
  before: z.optional(text(limits.queryLength)),
});
export type PageQuery = z.infer<typeof PageQuery>;

/** The query parameter `include`, which has some of `names`, separated by commas. */
export const includeOf = <const N extends readonly [string, ...string[]]>(...names: N) => {
  const areKnown = (list: string) => list.split(",").every((name) => names.includes(name));
  const params = { sub_code: "constraint.enum", allowed: names };
  const known = z.refine<string>(areKnown, { error: `must be ${oneOf(names)}`, params });
  const split = z.transform((list: string) => list.split(","));
  return z.optional(
    z.pipe(z.string().check(z.maxLength(limits.queryLength), known), z.pipe(split, z.array(z.enum(names)))),
  );
};

export const isSame = (sent: unknown, current: unknown): boolean => sent === current;

/** Compares a padded text as `padded` would store it. */
export const isSamePadded =
  (isSameText: typeof isSame): typeof isSame =>
  (sent, current) =>
    isSameText(typeof sent === "string" ? sent.trim() : sent, current);

/** Whether two ids are the same. The case of ULIDs and UUIDs does not matter. */
export const isSameId = (sent: unknown, current: unknown): boolean =>
  sent === current ||
  (typeof sent === "string" && typeof current === "string" && sent.toLowerCase() === current.toLowerCase());

/** Returns an object with the same names, and each value changed. */
export const mapped = <T, R>(values: Readonly<Record<string, T>>, change: (value: T, name: string) => R) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));

export function pick<S extends object, T extends { readonly [K in keyof S]: unknown }>(
  schema: { readonly shape: S },
  from: T,
): { [K in keyof S]: T[K] };
export function pick(schema: { readonly shape: object }, from: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, from[name]]));
}

export function withoutDefaults<S extends z.core.$ZodShape>(
  fields: S,
): { [K in keyof S]: S[K] extends z.ZodMiniDefault<infer T> ? T : S[K] };
export function withoutDefaults(fields: z.core.$ZodShape) {
  return mapped(fields, (field) => (field instanceof z.ZodMiniDefault ? field.def.innerType : field));
}

/** Returns the same fields with their types, but without rules for input. Rules change, and stored items do not. */
export function withoutRules<S extends z.core.$ZodShape>(fields: S): S;
export function withoutRules(fields: z.core.$ZodShape) {
  return mapped(fields, withoutChecks);
}

const withoutChecks = (schema: z.core.$ZodType): z.core.$ZodType => {
  const { def } = schema._zod;
  // What is stored was trimmed before.
  if (schema instanceof z.ZodMiniPipe) return withoutChecks(schema.def.out);
  // A format such as `z.email()` is part of the schema, not one of its checks.
  if (def.type === "string") return z.string();
  const inner = Object.entries(def).flatMap(([name, value]) =>
    /^(innerType|element)$/.test(name) && value instanceof $ZodType ? [[name, withoutChecks(value)]] : [],
  );
  return clone(schema, { ...def, checks: [], ...Object.fromEntries(inner) });
};
