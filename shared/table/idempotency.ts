import type { Item, Write } from "./expressions.ts";

/** What a POST created. With the same input it leads to the same response, so no response (and no secret) is stored. */
export type Created = { readonly id: string; readonly at: string };

/** The use of an Idempotency-Key by one POST, for the transaction that creates something. */
export type Idempotency = {
  /** What an earlier POST with the same key and content created. */
  readonly created: Created | undefined;
  /** Part of the transaction. Its condition fails if another POST with this key was faster. */
  readonly write: (created: Created) => Write;
  /** What that other POST created, from the item that failed the condition. 422 where its content was another. */
  readonly winner: (stored: Item | undefined) => Created;
};
