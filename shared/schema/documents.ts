import * as z from "zod/mini";
import { limits } from "../limits.ts";
import type { Docs, DocumentedRoute, NamedSchema, QueryReads, Reads, Route } from "../route.ts";
import { mapped, Ulid } from "./fields.ts";

/** Schemas, texts and examples that the contracts of all domains share. No function loads this file. */

const count = () => z.int().check(z.minimum(0));
const cursor = () => z.nullable(z.string().check(z.minLength(1)));

/** Names and describes an object and its properties. A text that is missing or superfluous does not compile. */
export const named = <S extends z.core.$ZodShape>(
  name: string,
  description: string,
  schema: z.ZodMiniObject<S>,
  properties: { readonly [K in keyof S]: string },
) => ({ name, description, schema, properties }) satisfies NamedSchema;

type Stated<S> = { readonly [K in keyof S]: readonly [schema: S[K], text: string] };

function shapeOf<S extends z.core.$ZodShape>(properties: Stated<S>): S;
function shapeOf(properties: Stated<z.core.$ZodShape>) {
  return mapped(properties, ([schema]) => schema);
}

function textsOf<S extends z.core.$ZodShape>(properties: Stated<S>): { readonly [K in keyof S]: string };
function textsOf(properties: Stated<z.core.$ZodShape>) {
  return mapped(properties, ([, text]) => text);
}

/** Names an object that only the OpenAPI document has, and states the schema and the text of each property together. */
export const stated = <S extends z.core.$ZodShape>(name: string, description: string, properties: Stated<S>) =>
  named(name, description, z.object(shapeOf<S>(properties)), textsOf<S>(properties));

type QueryTexts<Q> = {
  readonly [K in keyof Q]-?: Exclude<Q[K], undefined> extends readonly (infer N extends string)[]
    ? { readonly [name in N]: string }
    : string;
};
type Texts<R extends Reads> = R extends QueryReads<infer S> ? { readonly query: QueryTexts<z.output<S>> } : unknown;

/** Adds texts and examples to a row. A missing description of a query parameter does not compile. */
export const documented = <R extends Route>(route: R, docs: Docs & Texts<R["reads"]>): DocumentedRoute => ({
  ...route,
  docs,
});

export const envelopeProperties = {
  type: "The type of the document.",
  data: "The properties of the document.",
  associations: "The documents that this document is associated with.",
} as const;

export const idProperty = { id: "The unique identifier, a ULID." } as const;
export const statedId = { id: [Ulid, idProperty.id] } as const;

export const timeProperties = {
  inserted_at: "When it was created.",
  updated_at: "When it was last changed.",
} as const;

export const listProperties = {
  items: "The documents of this page, in ascending order of their ids.",
  page_info: "The position of this page in the list.",
} as const;

export const pageInfo = stated("PageInfo", "The position of a page in its list.", {
  after: [cursor(), "The cursor of the next page, or null on the last page."],
  before: [cursor(), "The cursor of the previous page, or null on the first page."],
  limit: [count(), "The page size."],
  total: [count(), "The number of documents in the whole list."],
});
export const PageInfo = pageInfo.schema;

export const listOf = <T extends z.core.$ZodType>(document: T) =>
  z.object({ type: z.literal("list"), data: z.object({ items: z.array(document), page_info: PageInfo }) });

export const pageParameters = {
  first: `The number of documents to return from the start of the list, or after \`after\`. The default is ${limits.pageSize.default}.`,
  after: "A cursor from `page_info.after`: the page starts after it. Use it with `first`.",
  last: "The number of documents to return from the end of the list, or before `before`.",
  before: "A cursor from `page_info.before`: the page ends before it. Use it with `last`.",
} as const;

export const ids = {
  account: "01K9Z2M4C7D9F1H3K5N7Q9S1V3",
  order: "01K9Z3Q8R2T4W6Y8A0C2E4G6J8",
  request: "01K9Z3Q9B5X7Z1D3F5H7K9N1Q4",
  attachment: "01K9Z4T7M3C8XW5R2BN6HJDEFG",
  otherAttachment: "01K9Z4V2P6S8V0X2Z4B6D8F0H2",
  upload: "01K9Z4W8D0F2H4K6N8Q0S2V4X6",
  switch: "01K9Z5A1G3J5M7P9R1T3W5Y7A9",
} as const;

export const page = (...items: readonly unknown[]) => ({
  type: "list",
  data: { items, page_info: { after: null, before: null, limit: limits.pageSize.default, total: items.length } },
});
