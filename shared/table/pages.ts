import { createHash } from "node:crypto";
import type { Fault } from "../errors.ts";
import { type Checked, check } from "../schema/check.ts";
import { parseUlid } from "../schema/fields.ts";
import type { Item } from "./expressions.ts";
import type { Collection } from "./keys.ts";
import { defaultPageSize, type Page, PageQuery } from "./page-query.ts";
import { hasItemFrom, query } from "./read.ts";

/** A cursor is the tag of its list and the id of an item: it needs neither the item nor a store of its own. */
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
  /** Only items beyond this id, in the direction of the walk. */
  readonly beyond: string | undefined;
};

const fault = (name: string, detail: string): Fault => ({
  in: "query",
  pointer: `/${name}`,
  sub_code: "constraint.format",
  detail,
});

const mixed = ({ first, after, last, before }: PageQuery): Fault[] => {
  const forward = first !== undefined ? "first" : after !== undefined ? "after" : undefined;
  if (forward === undefined) return [];
  return [
    ...(last !== undefined ? [fault("last", `can't be combined with ${forward}`)] : []),
    ...(before !== undefined ? [fault("before", `can't be combined with ${forward}`)] : []),
  ];
};

/** The page of `list` that a query string asks for, or all that is wrong with it. */
export const pageRequest = (
  list: Collection,
  parameters: Readonly<Record<string, string | undefined>>,
): Checked<PageRequest> => {
  const checked = check(PageQuery, parameters, "query");
  if (checked.faults) return checked;
  const { first, after, last, before } = checked.value;
  const backward = last !== undefined || before !== undefined;
  const cursor = backward ? before : after;
  const beyond = cursor === undefined ? undefined : decodeCursor(list, cursor);
  const faults = mixed(checked.value);
  if (faults.length === 0 && cursor !== undefined && beyond === undefined)
    faults.push(fault(backward ? "before" : "after", "is not a cursor of this list"));
  if (faults.length > 0) return { faults };
  return { value: { limit: (backward ? last : first) ?? defaultPageSize, backward, beyond } };
};

/**
 * Reads a page in one round trip: the items, one more to know whether others follow, and whether there are any on the
 * other side of the cursor. `idOf` says what an item's id is. Source of the rules: semantics.md, 5.
 */
export const readPage = async <T>(
  list: Collection,
  { limit, backward, beyond }: PageRequest,
  parse: (item: Item) => T & { readonly id: string },
): Promise<Page<T>> => {
  const [found, behind] = await Promise.all([
    query(list, { after: beyond, limit: limit + 1, descending: backward }),
    beyond !== undefined && hasItemFrom(list, beyond, backward ? "up" : "down"),
  ]);
  const ahead = found.length > limit;
  const items = found.slice(0, limit).map(parse);
  if (backward) items.reverse();
  const [earlier, later] = backward ? [ahead, behind] : [behind, ahead];
  const first = items.at(0);
  const last = items.at(-1);
  return {
    items,
    after: later && last ? encodeCursor(list, last.id) : null,
    before: earlier && first ? encodeCursor(list, first.id) : null,
    limit,
  };
};

/**
 * As much of a page as its JSON may take: forward its beginning, backward its end, and at least one item. The cursor
 * then leads on from there, so that a walk still visits every item once.
 */
export const fitting = <T extends { readonly id: string }>(
  list: Collection,
  { backward }: PageRequest,
  page: Page<T>,
  sizeOf: (item: T) => number,
  maxBytes: number,
): Page<T> => {
  const walked = backward ? page.items.toReversed() : page.items;
  let bytes = 0;
  const tooMuch = walked.findIndex((item) => {
    bytes += sizeOf(item);
    return bytes > maxBytes;
  });
  if (tooMuch === -1) return page;
  const kept = walked.slice(0, Math.max(1, tooMuch));
  const cursor = encodeCursor(list, kept.at(-1)?.id ?? "");
  return backward ? { ...page, items: kept.toReversed(), before: cursor } : { ...page, items: kept, after: cursor };
};
