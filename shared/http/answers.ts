import type { Page } from "../table/page-query.ts";
import { etag } from "./preconditions.ts";
import type { Answer } from "./responses.ts";

/** One document, with its ETag; marked where it is the first answer again. */
export const single = (body: unknown, version: number, replayed = false): Answer => ({
  body,
  headers: { ETag: etag(version), ...(replayed && { "Idempotency-Replayed": "true" }) },
});

/** One page of documents, and the exact number of items in the whole list. */
export const list = <T>({ items, ...page }: Page<T>, total: number, document: (item: T) => unknown): Answer => ({
  body: { type: "list", data: { items: items.map(document), page_info: { ...page, total } } },
});
