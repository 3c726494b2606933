import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyResult } from "aws-lambda";
import { unauthorized } from "../errors.ts";
import { hashApiKey, keys } from "../table/keys.ts";
import { readItem } from "../table/read.ts";
import type { Given, Note, Principal } from "../tenants/access.ts";
import { readUser } from "../tenants/accounts.ts";
import { ApiKey, type User } from "../tenants/tenant-schema.ts";
import { readIdempotencyKey } from "./idempotency.ts";
import { parseQuery } from "./input.ts";
import { listHeader, pathId, type RequestEvent } from "./request.ts";

const bearer = /^Bearer +(apik_[A-Za-z0-9_-]{43})$/i;

/** Starts reading the API key. Throws 401 if the request has none, or several, because a firewall may have counted another one. */
const readApiKey = (event: RequestEvent): Promise<ApiKey | undefined> => {
  const token = bearer.exec(listHeader(event, "Authorization") ?? "")?.[1];
  if (token === undefined) throw unauthorized();
  return readItem(ApiKey, keys.apiKey(hashApiKey(token)));
};

type Load<L> = (given: Given) => Promise<L>;

/** Reads the API key, its user and the access check's data at the same time. An error of `loading` is thrown when it is awaited. */
export const readCaller = async <L>(given: Given, load: Load<L>) => {
  const loading = load(given);
  const [apiKey, user] = await Promise.all([
    given.apiKey,
    given.apiKey.then((key) => (key?.user ? readUser(key.user) : undefined)),
    Promise.allSettled([loading]),
  ]);
  return { apiKey, user, loading };
};

type ReadCaller = { readonly apiKey: ApiKey | undefined; readonly user: User | undefined };

/** Returns the caller, or throws 401. Nothing is cached between requests, so revoking a key takes effect immediately. */
export const authenticate = ({ apiKey, user }: ReadCaller, now: Date, note: Note): Principal => {
  note("the API key exists", apiKey?.id ?? "");
  if (!apiKey) throw unauthorized();
  note("the API key is not revoked", apiKey.id);
  if (apiKey.revoked) throw unauthorized();
  note("the API key has not expired", apiKey.expires_at ?? "");
  if (apiKey.expires_at !== null && new Date(apiKey.expires_at) <= now) throw unauthorized();
  note("the API key's user exists", apiKey.user ?? "");
  if (!user) throw unauthorized();
  note("the API key's user is not disabled", user.id);
  if (user.disabled) throw unauthorized();
  return { apiKey, user };
};

type Authenticated<L> = {
  readonly now: Date;
  readonly principal: Principal;
  readonly loading: Promise<L>;
  readonly idempotencyKey: Awaited<ReturnType<typeof readIdempotencyKey>>;
};

export type AuthenticatedEvent<L> = RequestEvent & { authenticated: Authenticated<L> };

/** Middleware: throws 401 unless the API key is valid. Meanwhile, reads the data of the access check. */
export const authentication = <L>(load: Load<L>): MiddlewareObj<AuthenticatedEvent<L>, APIGatewayProxyResult> => ({
  before: async ({ event }) => {
    const now = new Date();
    const apiKey = readApiKey(event);
    const given: Given = { pathId: (name) => pathId(event, name), apiKey, query: (reads) => parseQuery(event, reads) };
    const [found, idempotencyKey] = await Promise.all([readCaller(given, load), readIdempotencyKey(event, apiKey)]);
    const principal = authenticate(found, now, () => {});
    event.authenticated = { now, principal, loading: found.loading, idempotencyKey };
    event.logged = { key_id: principal.apiKey.id, account_id: principal.apiKey.account, user_id: principal.user.id };
  },
});
