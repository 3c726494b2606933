import * as z from "zod/mini";
import { $ZodType } from "zod/v4/core";
import { type Problem, problemIn, subCodes } from "../errors.ts";

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

type Described = Pick<Problem, "sub_code" | "detail" | "params">;

const blank = { sub_code: "constraint.required", detail: "can't be blank" } as const;

/** Returns the schemas of the value at a path. There is more than one where a schema wraps or converts another. */
const schemasAt = (schema: $ZodType, path: readonly PropertyKey[]): $ZodType[] => {
  const { def } = schema._zod;
  const below = (value: unknown, at = path) => (value instanceof $ZodType ? schemasAt(value, at) : []);
  const wrapped = ["innerType", "in", "out"].flatMap((name) => below(Reflect.get(def, name)));
  const [key, ...rest] = path;
  if (key === undefined) return [schema, ...wrapped];
  const inner = Reflect.get(def, "element") ?? Reflect.get(Object(Reflect.get(def, "shape")), key);
  return [...wrapped, ...below(inner, rest)];
};

/** The checks that limit a value. Each has the parameter of the error and the property of the check that has the limit. */
const limitChecks: Readonly<Record<string, readonly [string, string]>> = {
  min_length: ["minimum", "minimum"],
  greater_than: ["minimum", "value"],
  max_length: ["maximum", "maximum"],
  less_than: ["maximum", "value"],
};

const limitsAt = (schema: $ZodType, path: readonly PropertyKey[], origin: string): NonNullable<Problem["params"]> => {
  const type = origin === "string" || origin === "array" ? origin : "number";
  const schemas = schemasAt(schema, path).filter(({ _zod }) => _zod.def.type === type);
  const checks = schemas.flatMap(({ _zod }) => _zod.def.checks ?? []);
  return Object.fromEntries(
    checks.flatMap(({ _zod: { def } }) => {
      const [parameter, property] = limitChecks[def.check] ?? [];
      return parameter && property ? [[parameter, Reflect.get(def, property)]] : [];
    }),
  );
};

/** Describes a limit, such as "at most 255", of a text, a list or a number. */
const describeLimit = (schema: $ZodType, issue: Issue & { readonly origin: string }, limit: string): Described => {
  const params = limitsAt(schema, issue.path, issue.origin);
  if (issue.origin === "string")
    return { sub_code: "constraint.length", detail: `must be ${limit} characters`, params };
  if (issue.origin === "array") return { sub_code: "constraint.length", detail: `must have ${limit} items`, params };
  return { sub_code: "constraint.range", detail: `must be ${limit}`, params };
};

const allowedKeys = (schema: $ZodType, path: readonly PropertyKey[]) =>
  schemasAt(schema, path).flatMap(({ _zod }) => Object.keys(Reflect.get(_zod.def, "shape") ?? {}));

const describeIssue = (schema: $ZodType, issue: Issue): Described => {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined || (issue.input === null && issue.expected === "string")) return blank;
      return {
        sub_code: "constraint.type",
        detail: customMessage(issue) ?? `must be ${nouns[issue.expected] ?? issue.expected}`,
      };
    case "invalid_value":
      if (issue.input === undefined) return blank;
      return {
        sub_code: "constraint.enum",
        detail: `must be ${oneOf(issue.values)}`,
        params: { allowed: issue.values },
      };
    case "too_small":
      if (issue.origin === "string" && issue.minimum === 1) return blank;
      return describeLimit(schema, issue, `at least ${issue.minimum}`);
    case "too_big":
      return describeLimit(schema, issue, `at most ${issue.maximum}`);
    case "unrecognized_keys":
      return unknownProperties(issue.keys, allowedKeys(schema, issue.path));
    case "custom": {
      const { sub_code, ...params } = issue.params ?? {};
      return {
        sub_code: subCodes.find((code) => code === sub_code) ?? "constraint.format",
        detail: customMessage(issue) ?? invalidDetail,
        ...(Object.keys(params).length > 0 && { params }),
      };
    }
    default:
      return { sub_code: "constraint.format", detail: customMessage(issue) ?? invalidDetail };
  }
};

/** For a rule without its own message. A test requires that every rule of a request has one. */
const invalidDetail = "is not valid";

/** Describes properties that a schema does not have. Their names can have any length. */
export const unknownProperties = (names: readonly string[], allowed: readonly string[]) =>
  ({
    sub_code: "constraint.enum",
    detail: `has unknown properties: ${names.join(", ").slice(0, 255)}`,
    params: { allowed },
  }) as const;

/** The schema's own message, if it has one. The default message of zod/mini is "Invalid input", and zod's starts with it. */
const customMessage = ({ message }: Issue) => (message.startsWith("Invalid input") ? undefined : message);

export const oneOf = (values: readonly unknown[]) =>
  values.length > 1 ? `one of ${values.join(", ")}` : String(values[0]);

/** Returns the JSON pointer (RFC 6901) of a path. `""` points to the whole input. */
export const pointer = (path: readonly PropertyKey[]) =>
  path.map((segment) => `/${String(segment).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** A text of a JSON document, or what begins, separates or ends its names and values. */
const token = /"(?:[^"\\]|\\.)*"?|[[\]{},:]/g;

/** The pointers of an error response fit into it. The first is always reported. */
const maxPointerCharacters = 10_000;

/**
 * Reports each name that an object has twice, at any depth, because `JSON.parse` drops the first of two values. `json` must be
 * valid. Runs in linear time, and does not recurse.
 */
export const repeatedNames = (json: string): Problem[] => {
  /**
   * The arrays and objects around a token. Each has the name or index of the value that the token belongs to, and an object has its
   * names.
   */
  const path: (string | number)[] = [];
  const names: (Set<string> | undefined)[] = [];
  const found = new Set<string>();
  let characters = 0;
  let quoted = "";
  for (const [text] of json.matchAll(token)) {
    const last = path.length - 1;
    const index = path[last];
    if (text === "{" || text === "[") {
      path.push(text === "{" ? "" : 0);
      names.push(text === "{" ? new Set() : undefined);
    } else if (text === "}" || text === "]") {
      path.pop();
      names.pop();
    } else if (text === "," && typeof index === "number") path[last] = index + 1;
    else if (text === ":") {
      const name = String(JSON.parse(quoted));
      path[last] = name;
      if (names[last]?.has(name) && characters < maxPointerCharacters) {
        const at = pointer(path);
        // Counts a pointer each time, because to make it takes time in proportion to its length.
        characters += at.length;
        found.add(at);
      }
      names[last]?.add(name);
    } else quoted = text;
  }
  return Array.from(found, (at) => problemIn("body", at, "malformed", "must be given only once"));
};

type Checked<T> =
  | { readonly value: T; readonly problems?: never }
  | { readonly value?: never; readonly problems: readonly Problem[] };

/**
 * Whether `other` makes another problem of the same property redundant. An earlier one does if the value is missing or has the
 * wrong type. A later one does if it has the same sub-code. zod reports a number beyond 2^53 by a limit of its own before the
 * schema's, and an empty array in place of a text also as too short.
 */
const saysAsMuch = (other: Problem, isLater: boolean, { pointer: at, sub_code }: Problem) =>
  other.pointer === at &&
  (isLater ? other.sub_code === sub_code : /^constraint\.(type|required)$/.test(other.sub_code));

/** Parses `input`. Returns the value, or all problems in the order of the schema. */
export const check = <S extends z.core.$ZodType>(
  schema: S,
  input: unknown,
  location: Problem["in"],
): Checked<z.output<S>> => {
  const parsed = z.safeParse(schema, input, { reportInput: true });
  if (parsed.success) return { value: parsed.data };
  const problems = parsed.error.issues.map(
    (issue): Problem => ({ in: location, pointer: pointer(issue.path), ...describeIssue(schema, issue) }),
  );
  const isNew = (problem: Problem, index: number) =>
    !problems.some((other, at) => at !== index && saysAsMuch(other, at > index, problem));
  return { problems: problems.filter(isNew) };
};
