import * as z from "zod/mini";

const ulid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

/** A ULID in upper case, or undefined: what is not a ULID is an id that does not exist. */
export const parseUlid = (text: string): string | undefined => (ulid.test(text) ? text.toUpperCase() : undefined);

/** Stands in for an id that does not exist, so that what is missing costs the same reads as what is there. */
export const noId = "00000000000000000000000000";

export const Ulid = z.string().check(z.regex(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/));

/** Any UUID, of whatever version, in lower case. */
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
