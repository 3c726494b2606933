import type { Item, Write } from "./expressions.ts";

/** The result of a POST. With the same input, it yields the same response. So no response is stored, and no secret. */
export type Created = { readonly id: string; readonly at: string };

/** How one POST uses its Idempotency-Key in the transaction that creates something. */
export type Idempotency = {
  /** What an earlier POST with the same key and content created. */
  readonly created: Created | undefined;
  /** A write for the transaction. Its condition fails if another POST with the same key was faster. */
  readonly write: (created: Created) => Write;
  /** Returns the result of that other POST, from the item that made the condition fail. Throws 422 if its content was different. */
  readonly winner: (stored: Item | undefined) => Created;
};
