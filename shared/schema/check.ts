import * as z from "zod/mini";
import { type Fault, subCodes } from "../errors.ts";

type Issue = z.core.$ZodIssue;

const nouns: Record<string, string> = {
  array: "an array",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a string",
};

const bound = (issue: { origin: string }, limit: string, count: number | bigint) => {
  if (issue.origin === "string") return `must be ${limit} ${count} characters`;
  if (issue.origin === "array") return `must have ${limit} ${count} items`;
  return `must be ${limit} ${count}`;
};

const limitRule = (issue: { origin: string }) =>
  issue.origin === "string" || issue.origin === "array" ? "constraint.length" : "constraint.range";

const blank = { sub_code: "constraint.required", detail: "can't be blank" } as const;

const rule = (issue: Issue): Pick<Fault, "sub_code" | "detail"> => {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined || (issue.input === null && issue.expected === "string")) return blank;
      return {
        sub_code: "constraint.type",
        detail: wording(issue) ?? `must be ${nouns[issue.expected] ?? issue.expected}`,
      };
    case "invalid_value":
      if (issue.input === undefined) return blank;
      return { sub_code: "constraint.enum", detail: `must be ${oneOf(issue.values)}` };
    case "too_small":
      if (issue.origin === "string" && issue.minimum === 1) return blank;
      return { sub_code: limitRule(issue), detail: bound(issue, "at least", issue.minimum) };
    case "too_big":
      return { sub_code: limitRule(issue), detail: bound(issue, "at most", issue.maximum) };
    case "unrecognized_keys":
      return { sub_code: "constraint.enum", detail: `has unknown properties: ${issue.keys.join(", ")}` };
    case "custom":
      return {
        sub_code: subCodes.find((code) => code === issue.params?.sub_code) ?? "constraint.format",
        detail: issue.message,
      };
    default:
      return { sub_code: "constraint.format", detail: issue.message };
  }
};

/** The message of the schema, if it has one. "Invalid input" is the default of zod/mini, and the beginning of zod's. */
const wording = ({ message }: Issue) => (message.startsWith("Invalid input") ? undefined : message);

/** Names for an error's detail: "one of A, B", or the only one. */
export const oneOf = (values: readonly unknown[]) =>
  values.length > 1 ? `one of ${values.join(", ")}` : String(values[0]);

/** The JSON pointer (RFC 6901) of a path; `""` is the whole. */
export const pointer = (path: readonly PropertyKey[]) =>
  path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

type Checked<T> = { readonly value: T; readonly faults?: never } | { readonly faults: readonly Fault[] };

// An empty array in place of a text has the wrong type. That it is too short as well is of no use.
const isOfWrongType = (pointer: string) => (other: Fault) =>
  other.pointer === pointer && other.sub_code === "constraint.type";

/** Parses `input`. Returns its value or all its faults, in the order of the schema. */
export const check = <S extends z.core.$ZodType>(
  schema: S,
  input: unknown,
  place: Fault["in"],
): Checked<z.output<S>> => {
  const parsed = z.safeParse(schema, input, { reportInput: true });
  if (parsed.success) return { value: parsed.data };
  const faults = parsed.error.issues.map(
    (issue): Fault => ({ in: place, pointer: pointer(issue.path), ...rule(issue) }),
  );
  return { faults: faults.filter((fault, index) => !faults.slice(0, index).some(isOfWrongType(fault.pointer))) };
};
