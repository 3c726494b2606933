import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { idempotencyKeyReused, invalid, type Problem, problemIn } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Route } from "../route.ts";
import type { Item } from "../table/expressions.ts";
import type { Created, Idempotency } from "../table/idempotency.ts";
import { keys } from "../table/keys.ts";
import { get, parseItem } from "../table/read.ts";
import type { Principal } from "../tenants/access.ts";
import type { ApiKey } from "../tenants/tenant-schema.ts";
import { headerLines, pathId, type RequestEvent } from "./request.ts";

type PresentedIdempotencyKey = Awaited<ReturnType<typeof readIdempotencyKey>>;

const { length: maxLength, characters } = limits.idempotencyKey;
const allowed = new RegExp(`^${characters}+$`);

const problemsOf = (key: string, isRepeated: boolean): Problem[] => {
  const at = ["header", "/Idempotency-Key"] as const;
  if (isRepeated) return [problemIn(...at, "constraint.type", "must be given only once")];
  if (key.length < 1 || key.length > maxLength)
    return [
      problemIn(...at, "constraint.length", `must be 1 to ${maxLength} characters`, { minimum: 1, maximum: maxLength }),
    ];
  return allowed.test(key) ? [] : [problemIn(...at, "constraint.format", "must be visible ASCII characters")];
};

/** Reads an earlier use of the key as soon as the account is known, in the same round trip as the user. */
export const readIdempotencyKey = async (
  event: Pick<RequestEvent, "httpMethod" | "headers" | "multiValueHeaders">,
  apiKey: Promise<ApiKey>,
) => {
  const [key, ...others] = headerLines(event, "Idempotency-Key");
  if (event.httpMethod !== "POST" || key === undefined) return undefined;
  const problems = problemsOf(key, others.length > 0);
  const { account } = await apiKey;
  const stored = problems.length === 0 ? await get(keys.idempotency(account, key)) : undefined;
  return { key, stored, problems };
};

const StoredUse = z.object({ fingerprint: z.string(), id: z.string(), at: z.string(), expires_at: z.number() });

/** Leaves out the bytes of a file, because its SHA-256 is compared instead. */
const withoutBytes = (_name: string, value: unknown) => (value instanceof Uint8Array ? undefined : value);

/** Two requests are the same if their routes, ids and parsed contents are. Another multipart boundary makes no difference. */
const fingerprintOf = ({ name }: Pick<Route, "name">, event: RequestEvent, compared: unknown): string => {
  const ids = Object.keys(event.pathParameters ?? {}).map((parameter) => pathId(event, parameter).requestedId);
  return createHash("sha256")
    .update(JSON.stringify([name, ids, compared], withoutBytes))
    .digest("base64url");
};

export const idempotencyOf = (
  presented: PresentedIdempotencyKey,
  route: Pick<Route, "name">,
  event: RequestEvent,
  { apiKey: { account } }: Principal,
  compared: unknown,
  now: Date,
): Idempotency | undefined => {
  if (!presented) return undefined;
  const { key, stored } = presented;
  const fingerprint = fingerprintOf(route, event, compared);
  const seconds = Math.floor(now.getTime() / 1000);
  const winner = (item: Item | undefined): Created => {
    const use = parseItem(StoredUse, item);
    if (use.fingerprint === fingerprint) return { id: use.id, at: use.at };
    throw invalid([idempotencyKeyReused]);
  };
  const expires_at = seconds + limits.idempotencySeconds;
  const isValid = stored && parseItem(StoredUse, stored).expires_at > seconds;
  return {
    created: isValid ? winner(stored) : undefined,
    winner,
    write: (created) => ({
      put: { ...keys.idempotency(account, key), fingerprint, ...created, expires_at },
      when: { absentOrExpiredAt: seconds },
    }),
  };
};
