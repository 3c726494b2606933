import type { Fault } from "../../../shared/errors.ts";

/** What the reference says of one endpoint beyond its row in the table of routes. */
export type Example = {
  /** What it does, for people; Markdown. */
  readonly description: string;
  /** What is sent: a JSON body, or the parts of a form by their wire names. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly answer: unknown;
  /** Refusals worth showing, each by a title. */
  readonly invalid?: Readonly<Record<string, readonly Fault[]>>;
};

export const fault = (pointer: string, sub_code: Fault["sub_code"], detail: string): Fault => ({
  in: "body",
  pointer,
  sub_code,
  detail,
});

export const pageFaults: NonNullable<Example["invalid"]> = {
  "A page that is too large": [
    { in: "query", pointer: "/first", sub_code: "constraint.range", detail: "must be at most 100" },
  ],
  "A cursor of another list": [
    { in: "query", pointer: "/after", sub_code: "constraint.format", detail: "is not a cursor of this list" },
  ],
};

/** A list with one page. */
export const page = (...items: readonly unknown[]) => ({
  type: "list",
  data: { items, page_info: { after: null, before: null, limit: 50, total: items.length } },
});
