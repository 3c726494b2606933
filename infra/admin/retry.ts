import * as z from "zod/mini";

const Retry = z.object({
  /** How often in a row the run has waited for the carrier. */
  waits: z._default(z.number(), 0),
  /** How often an attachment was to be forwarded. */
  attempts: z._default(z.number(), 0),
  last_answer: z._default(z.nullable(z.string()), null),
  next_try_at: z.string(),
});

/** What is known of a call that the carrier has not answered yet, and that is repeated; undefined where there is none. */
export const retryOf = (stored: unknown): z.infer<typeof Retry> | undefined => z.safeParse(Retry, stored).data;
