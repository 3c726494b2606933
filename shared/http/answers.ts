import type { Page } from "../schemas/page.ts";
import { etag } from "./precondition.ts";
import type { Answer } from "./respond.ts";

/** One document, with its ETag; marked where it is the first answer again. */
export const single = (body: unknown, version: number, replayed = false): Answer => ({
  body,
  headers: { ETag: etag(version), ...(replayed && { "Idempotency-Replayed": "true" }) },
});

/** One page of documents, and the exact number of items in the whole list. */
export const list = <T>({ items, ...page }: Page<T>, total: number, document: (item: T) => unknown): Answer => ({
  body: { type: "list", data: { items: items.map(document), page_info: { ...page, total } } },
});
