import { randomInt } from "node:crypto";
import { ulid } from "ulid";
import * as z from "zod/mini";
import { $ZodType, clone } from "zod/v4/core";
import { limits } from "../limits.ts";
import { oneOf } from "./check.ts";

/** The types of fields that several domains share, and the ids of everything. */

const anyCase = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

/** Returns a ULID in upper case, or undefined: an id that is not a ULID does not exist. */
export const parseUlid = (text: string): string | undefined => (anyCase.test(text) ? text.toUpperCase() : undefined);

/** Stands in for an id that does not exist, so that reading what is missing costs the same as reading what exists. */
export const noId = "00000000000000000000000000";

/**
 * A new ULID with that time (ms). The package alone would ask the system for each of the sixteen random characters, which
 * takes 25 µs. `randomInt` uses a pool of random bytes, which takes 1 µs.
 */
export const newId = (time = Date.now()): string => ulid(time, () => randomInt(32) / 32);

export const Ulid = z.string().check(z.regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/));

/** A UUID of any version, in lower case. */
export const Uuid = z
  .string()
  .check(
    z.regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, { error: "must be a UUID" }),
    z.toLowerCase(),
  );

/** Milliseconds, UTC, with Z. */
export const Timestamp = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/));

const wellFormed = () => z.refine<string>((value) => value.isWellFormed(), { error: "must be well-formed Unicode" });

/** Text of at most `max` characters (Unicode code points, not UTF-16 units). */
export const text = (max: number) => z.string().check(z.maxLength(max), wellFormed());

/** Text of 1 to `max` characters after trimming. */
export const nonBlankText = (max: number) => z.string().check(z.trim(), z.minLength(1), z.maxLength(max), wellFormed());

/** A number of any length becomes one that is still out of range. */
const clampedNumber = (text: string) => Math.min(Math.max(Number(text), -1e9), 1e9);

const pageSize = () =>
  z.optional(
    z.pipe(
      z.string().check(z.regex(/^-?\d+$/, { error: "must be a whole number" })),
      z.pipe(z.transform(clampedNumber), z.number().check(z.minimum(1), z.maximum(limits.pageSize.most))),
    ),
  );

/** The query of a list: `first`/`after` pages forward, `last`/`before` backward. */
export const PageQuery = z.object({
  first: pageSize(),
  after: z.optional(z.string()),
  last: pageSize(),
  before: z.optional(z.string()),
});
export type PageQuery = z.infer<typeof PageQuery>;

/** The `include` of a query: some of `names`, separated by commas. */
export const includeOf = <const N extends readonly [string, ...string[]]>(...names: N) => {
  const areKnown = (list: string) => list.split(",").every((name) => names.includes(name));
  const error = `must be ${oneOf(names)}`;
  return z.optional(
    z.pipe(
      z.string().check(z.refine(areKnown, { error, params: { sub_code: "constraint.enum" } })),
      z.pipe(
        z.transform((list: string) => list.split(",")),
        z.array(z.enum(names)),
      ),
    ),
  );
};

export const isSame = (sent: unknown, current: unknown): boolean => sent === current;

/** Whether two ids are the same. ULIDs and UUIDs are compared without regard to case. */
export const isSameId = (sent: unknown, current: unknown): boolean =>
  sent === current ||
  (typeof sent === "string" && typeof current === "string" && sent.toLowerCase() === current.toLowerCase());

/** The properties of `of` that a schema names, in its order. Others are left out. */
export function pick<S extends object, T extends { readonly [K in keyof S]: unknown }>(
  schema: { readonly shape: S },
  of: T,
): { [K in keyof S]: T[K] };
export function pick(schema: { readonly shape: object }, of: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.keys(schema.shape).map((name) => [name, of[name]]));
}

/** The same fields, each without its default, if it has one. */
export function withoutDefaults<S extends z.core.$ZodShape>(
  fields: S,
): { [K in keyof S]: S[K] extends z.ZodMiniDefault<infer T> ? T : S[K] };
export function withoutDefaults(fields: z.core.$ZodShape) {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      field instanceof z.ZodMiniDefault ? field.def.innerType : field,
    ]),
  );
}

/** The same fields, of the same types, without the rules that input must keep: rules change, and what is stored stays. */
export function withoutRules<S extends z.core.$ZodShape>(fields: S): S;
export function withoutRules(fields: z.core.$ZodShape) {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, ruleless(schema)]));
}

const ruleless = (schema: z.core.$ZodType): z.core.$ZodType => {
  const { def } = schema._zod;
  const inner = Object.entries(def).flatMap(([name, value]) =>
    /^(innerType|element)$/.test(name) && value instanceof $ZodType ? [[name, ruleless(value)]] : [],
  );
  return clone(schema, { ...def, checks: [], ...Object.fromEntries(inner) });
};
