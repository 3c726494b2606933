import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyResult } from "aws-lambda";
import { unauthorized } from "../errors.ts";
import { hashApiKey, keys } from "../table/keys.ts";
import { readItem } from "../table/read.ts";
import type { AccessCheck, Found, Given, Note, Principal } from "../tenants/access.ts";
import { readUser } from "../tenants/accounts.ts";
import { ApiKey, canAccess, type User } from "../tenants/tenant-schema.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import { parseQuery } from "./input.ts";
import { addToLogLine, listHeader, pathId, type RequestEvent } from "./request.ts";

const bearer = /^Bearer +(apik_[A-Za-z0-9_-]{43})$/i;

/** Starts reading the API key. Throws 401 if the request has none, or several, because a firewall may have counted another one. */
const readApiKey = (event: RequestEvent): Promise<ApiKey | undefined> => {
  const token = bearer.exec(listHeader(event, "Authorization") ?? "")?.[1];
  if (token === undefined) throw unauthorized();
  return readItem(ApiKey, keys.apiKey(hashApiKey(token)));
};

/** Returns the API key, or throws 401. */
export const validKey = async (reading: Promise<ApiKey | undefined>, now: Date, note: Note): Promise<ApiKey> => {
  const apiKey = await reading;
  note("the API key exists", apiKey?.id ?? "");
  if (!apiKey) throw unauthorized();
  note("the API key is not revoked", apiKey.id);
  if (apiKey.revoked) throw unauthorized();
  note("the API key has not expired", apiKey.expires_at ?? "");
  if (apiKey.expires_at !== null && new Date(apiKey.expires_at) <= now) throw unauthorized();
  return apiKey;
};

type Reads<R, F extends Found, L> = Pick<AccessCheck<R, F, L, unknown>, "find" | "load">;

/**
 * Reads the API key, its user and the access check's data in two rounds. In the first, it is not known who calls, so it reads only
 * the API key and who owns the resource in the path. An error of `loading` is thrown when it is awaited.
 */
export const readCaller = async <R, F extends Found, L>(given: Given, route: R, { find, load }: Reads<R, F, L>) => {
  const finding = find(given, route);
  await Promise.allSettled([given.apiKey, finding]);
  const apiKey = await given.apiKey;
  const loading = (async () => {
    const found = await finding;
    const { owner } = found;
    const isAccessible = owner && canAccess(apiKey.account, owner);
    return { found, loaded: isAccessible ? await load({ ...found, owner }, given, route) : undefined };
  })();
  const [user] = await Promise.all([apiKey.user ? readUser(apiKey.user) : undefined, Promise.allSettled([loading])]);
  return { apiKey, user, loading };
};

type Caller = { readonly apiKey: ApiKey; readonly user: User | undefined };

/** Returns the caller, or throws 401. Nothing is cached between requests, so revoking a key takes effect immediately. */
export const authenticate = ({ apiKey, user }: Caller, note: Note): Principal => {
  note("the API key's user exists", apiKey.user ?? "");
  if (!user) throw unauthorized();
  note("the API key's user is not disabled", user.id);
  if (user.disabled) throw unauthorized();
  return { apiKey, user };
};

type Authenticated<F, L> = {
  readonly now: Date;
  readonly principal: Principal;
  readonly loading: Promise<{ readonly found: F; readonly loaded: L | undefined }>;
  readonly idempotencyKey: Awaited<ReturnType<typeof readIdempotencyKey>>;
};

export type AuthenticatedEvent<F, L> = RequestEvent & { authenticated: Authenticated<F, L> };

/** Middleware. Throws 401 unless the API key is valid, and adds `authenticated`. Meanwhile, reads the data of the access check. */
export const authentication = <R, F extends Found, L>(
  route: R,
  access: Reads<R, F, L>,
): MiddlewareObj<AuthenticatedEvent<F, L>, APIGatewayProxyResult> => ({
  before: async ({ event }) => {
    const now = new Date();
    // A refused key is logged, too, because whoever has a leaked key may still try it after it was revoked.
    const logged = (found: ApiKey | undefined) => {
      if (found) event.logged = { key_id: found.id, account_id: found.account };
      return found;
    };
    const apiKey = validKey(readApiKey(event).then(logged), now, () => {});
    const given: Given = { pathId: (name) => pathId(event, name), apiKey, query: (reads) => parseQuery(event, reads) };
    const reading = [readCaller(given, route, access), readIdempotencyKey(event, apiKey)] as const;
    const [found, idempotencyKey] = await Promise.all(reading);
    const principal = authenticate(found, () => {});
    event.authenticated = { now, principal, loading: found.loading, idempotencyKey };
    const { apiKey: key, user } = principal;
    addToLogLine(event, { key_id: key.id, account_id: key.account, user_id: user.id });
  },
});
