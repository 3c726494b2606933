import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { invalid } from "../errors.ts";
import type { Item, Write } from "./expressions.ts";
import { keys } from "./keys.ts";

/** For how long a key answers what it answered first. */
const lifetimeSeconds = 24 * 60 * 60;

/** What a POST made: with the same input it gives the first answer again, so no answer (and no secret) is stored. */
export type Made = { readonly id: string; readonly at: string };

const Use = z.object({ fingerprint: z.string(), id: z.string(), at: z.string(), expires_at: z.number() });

/** The use of an Idempotency-Key by one POST. Source: semantics.md, 7. */
export type Idempotency = {
  /** What an earlier POST with the same key and content made. */
  readonly made: Made | undefined;
  /** To be written with what is created: refused where another POST was faster. */
  readonly write: (made: Made) => Write;
  /** What that other POST made, from its refusal. 422 where its content was another. */
  readonly winner: (refused: Item | undefined) => Made;
};

/** A file's bytes are left out: its SHA-256 stands beside them. */
const withoutBytes = (_name: string, value: unknown) => (value instanceof Uint8Array ? undefined : value);

/** `used` is what is stored under the key; content is what was parsed, so that a new multipart boundary is no difference. */
export const idempotency = (
  account: string,
  key: string,
  used: Item | undefined,
  content: unknown,
  now: Date,
): Idempotency => {
  const fingerprint = createHash("sha256").update(JSON.stringify(content, withoutBytes)).digest("base64url");
  const seconds = Math.floor(now.getTime() / 1000);
  const winner = (item: Item | undefined): Made => {
    const use = z.parse(Use, item);
    if (use.fingerprint === fingerprint) return { id: use.id, at: use.at };
    throw invalid([
      {
        in: "header",
        pointer: "/Idempotency-Key",
        sub_code: "constraint.unique",
        detail: "has already been used with another body",
      },
    ]);
  };
  const alive = used && z.parse(Use, used).expires_at > seconds;
  return {
    made: alive ? winner(used) : undefined,
    winner,
    write: (made) => ({
      put: { ...keys.idempotency(account, key), fingerprint, ...made, expires_at: seconds + lifetimeSeconds },
      when: { absentOrExpiredAt: seconds },
    }),
  };
};
