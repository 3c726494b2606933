import * as z from "zod/mini";
import { type Problem, subCodes } from "../errors.ts";

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

const limitDetail = (issue: { origin: string }, limit: string, count: number | bigint) => {
  if (issue.origin === "string") return `must be ${limit} ${count} characters`;
  if (issue.origin === "array") return `must have ${limit} ${count} items`;
  return `must be ${limit} ${count}`;
};

const limitSubCode = (issue: { origin: string }) =>
  issue.origin === "string" || issue.origin === "array" ? "constraint.length" : "constraint.range";

const blank = { sub_code: "constraint.required", detail: "can't be blank" } as const;

const describeIssue = (issue: Issue): Pick<Problem, "sub_code" | "detail"> => {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined || (issue.input === null && issue.expected === "string")) return blank;
      return {
        sub_code: "constraint.type",
        detail: customMessage(issue) ?? `must be ${nouns[issue.expected] ?? issue.expected}`,
      };
    case "invalid_value":
      if (issue.input === undefined) return blank;
      return { sub_code: "constraint.enum", detail: `must be ${oneOf(issue.values)}` };
    case "too_small":
      if (issue.origin === "string" && issue.minimum === 1) return blank;
      return { sub_code: limitSubCode(issue), detail: limitDetail(issue, "at least", issue.minimum) };
    case "too_big":
      return { sub_code: limitSubCode(issue), detail: limitDetail(issue, "at most", issue.maximum) };
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

/** The schema's own message, if it has one. The default message of zod/mini is "Invalid input", and zod's starts with it. */
const customMessage = ({ message }: Issue) => (message.startsWith("Invalid input") ? undefined : message);

/** Lists values for an error's detail: "one of A, B", or the only value. */
export const oneOf = (values: readonly unknown[]) =>
  values.length > 1 ? `one of ${values.join(", ")}` : String(values[0]);

/** Returns the JSON pointer (RFC 6901) of a path. `""` points to the whole input. */
export const pointer = (path: readonly PropertyKey[]) =>
  path.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

type Checked<T> = { readonly value: T; readonly problems?: never } | { readonly problems: readonly Problem[] };

// zod reports an empty array in place of a text twice: wrong type and too short. The type is enough.
const isOfWrongType = (pointer: string) => (other: Problem) =>
  other.pointer === pointer && other.sub_code === "constraint.type";

/** Parses `input`. Returns the value, or all problems in the order of the schema. */
export const check = <S extends z.core.$ZodType>(
  schema: S,
  input: unknown,
  location: Problem["in"],
): Checked<z.output<S>> => {
  const parsed = z.safeParse(schema, input, { reportInput: true });
  if (parsed.success) return { value: parsed.data };
  const problems = parsed.error.issues.map(
    (issue): Problem => ({ in: location, pointer: pointer(issue.path), ...describeIssue(issue) }),
  );
  return {
    problems: problems.filter((problem, index) => !problems.slice(0, index).some(isOfWrongType(problem.pointer))),
  };
};
