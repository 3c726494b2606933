import * as z from "zod/mini";

const size = () =>
  z.optional(
    z.pipe(
      z.string().check(z.regex(/^-?\d{1,15}$/, { error: "must be a whole number" })),
      z.pipe(z.transform(Number), z.number().check(z.minimum(1), z.maximum(100))),
    ),
  );

/** The query of a list: `first`/`after` pages forward, `last`/`before` backward. */
export const PageQuery = z.object({
  first: size(),
  after: z.optional(z.string()),
  last: size(),
  before: z.optional(z.string()),
});
export type PageQuery = z.infer<typeof PageQuery>;

export const defaultPageSize = 50;

/** One page of a list, its items in ascending order of their ids. */
export type Page<T> = {
  readonly items: readonly T[];
  readonly after: string | null;
  readonly before: string | null;
  readonly limit: number;
};
