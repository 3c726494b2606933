import * as z from "zod/mini";
import { limits } from "../limits.ts";

/** The response of a list, for the OpenAPI document and the tests. No function loads this file. */

const count = () => z.int().check(z.minimum(0));
const cursor = () => z.nullable(z.string().check(z.minLength(1)));

export const PageInfo = z.object({ after: cursor(), before: cursor(), limit: count(), total: count() });

/** The list envelope around documents of one type. */
export const listOf = <T extends z.core.$ZodType>(document: T) =>
  z.object({ type: z.literal("list"), data: z.object({ items: z.array(document), page_info: PageInfo }) });

export const listProperties = {
  items: "The documents of this page, in ascending order of their ids.",
  page_info: "The position of this page in the list.",
  after: "The cursor of the next page, or null on the last page.",
  before: "The cursor of the previous page, or null on the first page.",
  limit: "The page size.",
  total: "The number of documents in the whole list.",
} as const;

export const pageParameters = {
  first: `The number of documents to return from the start of the list, or after \`after\`. The default is ${limits.pageSize.default}.`,
  after: "A cursor from `page_info.after`: the page starts after it. Use it with `first`.",
  last: "The number of documents to return from the end of the list, or before `before`.",
  before: "A cursor from `page_info.before`: the page ends before it. Use it with `last`.",
} as const;
