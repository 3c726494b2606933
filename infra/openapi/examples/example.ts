import type { Problem } from "../../../shared/errors.ts";

/** The description and the examples of an endpoint. */
export type Example = {
  /** In Markdown. */
  readonly description: string;
  /** The request: a JSON body, or the parts of a form by name. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The JSON body that the endpoint accepts in place of the form. */
  readonly json?: Readonly<Record<string, unknown>>;
  readonly response: unknown;
  /** Other examples of the response, by title. */
  readonly others?: Readonly<Record<string, unknown>>;
  /** Examples of 422 responses, by title. */
  readonly invalid?: Readonly<Record<string, readonly Problem[]>>;
};

export const problem = (pointer: string, sub_code: Problem["sub_code"], detail: string): Problem => ({
  in: "body",
  pointer,
  sub_code,
  detail,
});

export const includeProblem = (...names: readonly string[]): NonNullable<Example["invalid"]> => ({
  "The include is unknown": [
    {
      in: "query",
      pointer: "/include",
      sub_code: "constraint.enum",
      detail: `must be ${names.length > 1 ? "one of " : ""}${names.join(", ")}`,
    },
  ],
});

export const pageProblems: NonNullable<Example["invalid"]> = {
  "The page size is out of range": [
    { in: "query", pointer: "/first", sub_code: "constraint.range", detail: "must be at most 100" },
  ],
  "The cursor belongs to another list": [
    { in: "query", pointer: "/after", sub_code: "constraint.format", detail: "is not a cursor of this list" },
  ],
};

/** A list with one page. */
export const page = (...items: readonly unknown[]) => ({
  type: "list",
  data: { items, page_info: { after: null, before: null, limit: 50, total: items.length } },
});
