import { createHash } from "node:crypto";
import type * as z from "zod/mini";
import { invalid, type Problem, problemIn } from "../errors.ts";
import { limits } from "../limits.ts";
import { type PageQuery, parseUlid } from "../schema/fields.ts";
import type { Collection } from "./keys.ts";
import { hasItemFrom, parseReadable, query } from "./read.ts";

/** A cursor consists of a hash of its list and the id of an item. The item need not exist, and cursors are not stored. */
const tagOf = ({ pk, prefix }: Collection) =>
  createHash("sha256").update(`${pk} ${prefix}`).digest("base64url").slice(0, 12);

const encodeCursor = (list: Collection, id: string) => Buffer.from(tagOf(list) + id).toString("base64url");

const decodeCursor = (list: Collection, cursor: string): string | undefined => {
  const text = Buffer.from(cursor, "base64url").toString("latin1");
  const id = parseUlid(text.slice(12));
  return id !== undefined && encodeCursor(list, id) === cursor ? id : undefined;
};

export type PageRequest = {
  readonly limit: number;
  readonly backward: boolean;
  /** Only items after this id, in the direction of paging. */
  readonly startAfter: string | undefined;
};

const cursorProblem = (name: string, detail: string) => problemIn("query", `/${name}`, "constraint.format", detail);

const combinationProblems = (query: PageQuery): Problem[] => {
  const forward = (["first", "after"] as const).find((name) => query[name] !== undefined);
  const backward = (["last", "before"] as const).filter((name) => query[name] !== undefined);
  return forward ? backward.map((name) => cursorProblem(name, `can't be combined with ${forward}`)) : [];
};

/** Throws 422 if the parameters of the query cannot be combined, or if the cursor belongs to another list. */
export const pageRequest = (list: Collection, query: PageQuery): PageRequest => {
  const { first, after, last, before } = query;
  const backward = last !== undefined || before !== undefined;
  const cursor = backward ? before : after;
  const startAfter = cursor === undefined ? undefined : decodeCursor(list, cursor);
  const problems = combinationProblems(query);
  if (problems.length === 0 && cursor !== undefined && startAfter === undefined)
    problems.push(cursorProblem(backward ? "before" : "after", "is not a cursor of this list"));
  if (problems.length > 0) throw invalid(problems);
  return { limit: (backward ? last : first) ?? limits.pageSize.default, backward, startAfter };
};

export type Page<T> = {
  readonly items: readonly T[];
  readonly after: string | null;
  readonly before: string | null;
  readonly limit: number;
};

/**
 * Reads a page in one round trip. It reads the items, one more to know whether others follow, and whether there are any on the
 * other side of the cursor. An item that cannot be parsed is left out, and paging continues after it.
 */
export const readPage = async <S extends z.core.$ZodType>(
  list: Collection,
  { limit, backward, startAfter }: PageRequest,
  schema: S,
): Promise<Page<z.output<S>>> => {
  const [found, behind] = await Promise.all([
    query(list, { after: startAfter, limit: limit + 1, descending: backward }),
    startAfter !== undefined && hasItemFrom(list, startAfter, backward ? "up" : "down"),
  ]);
  const ahead = found.length > limit;
  const page = found.slice(0, limit);
  if (backward) page.reverse();
  const [earlier, later] = backward ? [ahead, behind] : [behind, ahead];
  const cursorAt = (index: 0 | -1) => encodeCursor(list, String(page.at(index)?.sk).slice(list.prefix.length));
  return {
    items: parseReadable(schema, page),
    after: later && page.length > 0 ? cursorAt(-1) : null,
    before: earlier && page.length > 0 ? cursorAt(0) : null,
    limit,
  };
};

/**
 * Shortens a page whose JSON would be too large, to one item at least. Keeps its beginning when paging forward, and its end when
 * paging backward. The cursor continues from there, so paging still visits every item once.
 */
export const truncatePage = <T extends { readonly id: string }>(
  list: Collection,
  { backward }: PageRequest,
  page: Page<T>,
  sizeOf: (item: T) => number,
  maxBytes: number,
): Page<T> => {
  const inPagingOrder = backward ? page.items.toReversed() : page.items;
  let bytes = 0;
  const firstTooMany = inPagingOrder.findIndex((item) => {
    bytes += sizeOf(item);
    return bytes > maxBytes;
  });
  if (firstTooMany === -1) return page;
  const kept = inPagingOrder.slice(0, Math.max(1, firstTooMany));
  const cursor = encodeCursor(list, kept.at(-1)?.id ?? "");
  return backward ? { ...page, items: kept.toReversed(), before: cursor } : { ...page, items: kept, after: cursor };
};
