import type { Problem } from "../../../shared/errors.ts";

/** What the reference says about one endpoint besides its row in the route table. */
export type Example = {
  /** What the endpoint does, in Markdown. */
  readonly description: string;
  /** The request: a JSON body, or the parts of a form by their names on the wire. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The JSON that the endpoint takes in place of the form. */
  readonly json?: Readonly<Record<string, unknown>>;
  readonly response: unknown;
  /** Other examples of the response, by their titles. */
  readonly others?: Readonly<Record<string, unknown>>;
  /** Examples of 422 responses, by their titles. */
  readonly invalid?: Readonly<Record<string, readonly Problem[]>>;
};

export const fault = (pointer: string, sub_code: Problem["sub_code"], detail: string): Problem => ({
  in: "body",
  pointer,
  sub_code,
  detail,
});

export const includeFault = (...names: readonly string[]): NonNullable<Example["invalid"]> => ({
  "The include is unknown": [
    {
      in: "query",
      pointer: "/include",
      sub_code: "constraint.enum",
      detail: `must be ${names.length > 1 ? "one of " : ""}${names.join(", ")}`,
    },
  ],
});

export const pageFaults: NonNullable<Example["invalid"]> = {
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
