import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { type Fault, idempotencyKeyReused, invalid } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Route } from "../routes.ts";
import type { Item } from "../table/expressions.ts";
import type { Created, Idempotency } from "../table/idempotency.ts";
import { keys } from "../table/keys.ts";
import { get, parseItem } from "../table/read.ts";
import type { Principal } from "../tenants/access.ts";
import type { ApiKey } from "../tenants/schema.ts";
import { header, type Incoming, pathId } from "./request.ts";

/** The Idempotency-Key of a POST, and what is stored under it. */
type PresentedIdempotencyKey = {
  readonly key: string;
  readonly stored: Item | undefined;
  readonly faults: readonly Fault[];
};

const { length: longest, characters } = limits.idempotencyKey;
const allowed = new RegExp(`^${characters}+$`);

const faultsOf = (key: string): Fault[] => {
  const fault = { in: "header", pointer: "/Idempotency-Key" } as const;
  if (key.length < 1 || key.length > longest)
    return [{ ...fault, sub_code: "constraint.length", detail: `must be 1 to ${longest} characters` }];
  if (!allowed.test(key))
    return [{ ...fault, sub_code: "constraint.format", detail: "must be visible ASCII characters" }];
  return [];
};

/** Reads an earlier use of the key as soon as its account is known: together with the user, without another round trip. */
export const readIdempotencyKey = async (
  event: Incoming,
  apiKey: Promise<ApiKey | undefined>,
): Promise<PresentedIdempotencyKey | undefined> => {
  const key = header(event, "Idempotency-Key");
  if (event.httpMethod !== "POST" || key === undefined) return undefined;
  const faults = faultsOf(key);
  const account = (await apiKey)?.account;
  const stored = account && faults.length === 0 ? await get(keys.idempotency(account, key)) : undefined;
  return { key, stored, faults };
};

const Use = z.object({ fingerprint: z.string(), id: z.string(), at: z.string(), expires_at: z.number() });

/** Leaves out the bytes of a file, whose SHA-256 is compared instead. */
const withoutBytes = (_name: string, value: unknown) => (value instanceof Uint8Array ? undefined : value);

/** "The same body" is the same parsed content, sent to the same path: a new multipart boundary is no difference. */
const fingerprintOf = ({ name }: Pick<Route, "name">, event: Incoming, compared: unknown): string => {
  const ids = Object.keys(event.pathParameters ?? {}).map((name) => pathId(event, name).requestedId);
  return createHash("sha256")
    .update(JSON.stringify([name, ids, compared], withoutBytes))
    .digest("base64url");
};

/** The use of the key by this POST, if it has one. */
export const idempotencyOf = (
  presented: PresentedIdempotencyKey | undefined,
  route: Pick<Route, "name">,
  event: Incoming,
  { key: { account } }: Principal,
  compared: unknown,
  now: Date,
): Idempotency | undefined => {
  if (!presented) return undefined;
  const { key, stored } = presented;
  const fingerprint = fingerprintOf(route, event, compared);
  const seconds = Math.floor(now.getTime() / 1000);
  const winner = (item: Item | undefined): Created => {
    const use = parseItem(Use, item);
    if (use.fingerprint === fingerprint) return { id: use.id, at: use.at };
    throw invalid([idempotencyKeyReused]);
  };
  const alive = stored && parseItem(Use, stored).expires_at > seconds;
  return {
    created: alive ? winner(stored) : undefined,
    winner,
    write: (created) => ({
      put: {
        ...keys.idempotency(account, key),
        fingerprint,
        ...created,
        expires_at: seconds + limits.idempotencySeconds,
      },
      when: { absentOrExpiredAt: seconds },
    }),
  };
};
