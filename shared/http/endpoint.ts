import middy from "@middy/core";
import type { APIGatewayProxyResult, Context as LambdaContext } from "aws-lambda";
import type * as z from "zod/mini";
import { unauthorized } from "../errors.ts";
import type { QueryReads, Reads, Route, SchemaOf } from "../routes.ts";
import { withDeadline } from "../table/deadline.ts";
import type { Idempotency } from "../table/idempotency.ts";
import { hashOfKey, keys } from "../table/keys.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import { readItem } from "../table/read.ts";
import type { AccessCheck, Lookup, PageReader, Principal } from "../tenants/access.ts";
import { ApiKey, User } from "../tenants/schema.ts";
import { idempotencyOf, readIdempotencyKey } from "./idempotency.ts";
import { type Current, parseQuery, type ReadBody, readInput, readJson } from "./input.ts";
import { header, type Incoming, pathId } from "./request.ts";
import { precondition, type Reply, respond, response, responseUnlessKnown } from "./responses.ts";

/** What an access check leaves for its endpoint; `current` is the document that the request shows or changes. */
type Scope = { readonly current?: Current; readonly [name: string]: unknown };

/** What an endpoint's own lines get: what the access check found, what was sent, and when. */
type Context<S, I> = S & {
  readonly input: I;
  readonly now: Date;
  readonly idempotency: Idempotency | undefined;
  readonly precondition: Precondition;
};

const bearer = /^Bearer +(apik_[A-Za-z0-9_-]{43})$/i;

/** Starts reading the key in the request. 401 if there is none. */
const presentedKey = (event: Incoming): Promise<ApiKey | undefined> => {
  const token = bearer.exec(header(event, "Authorization") ?? "")?.[1];
  if (token === undefined) throw unauthorized();
  return readItem(ApiKey, keys.apiKey(hashOfKey(token)));
};

/** Reads the user that a key impersonates, if there is one. */
const readUser = async (key: ApiKey | undefined): Promise<User | undefined> => {
  return key?.user ? readItem(User, keys.user(key.user)) : undefined;
};

/**
 * The caller. 401 for a key that is unknown, revoked or expired, and for a user that is missing or disabled. Nothing is
 * kept for the next request: a revoked key is refused at once.
 */
const identify = (key: ApiKey | undefined, user: User | undefined, now: Date): Principal => {
  if (!key || key.revoked || !user || user.disabled) throw unauthorized();
  if (key.expires_at !== null && new Date(key.expires_at) <= now) throw unauthorized();
  return { key, user };
};

/**
 * Who calls, and whether that is allowed. The key, what the path names and `read` are under way at the same time; what
 * `read` throws waits until the caller is admitted.
 */
const admit = async <R extends Route, L, S, P>(
  event: Incoming,
  route: R,
  access: AccessCheck<R, L, S>,
  now: Date,
  read: (lookup: Lookup, loaded: Promise<L>) => Promise<P>,
) => {
  const key = presentedKey(event);
  const lookup: Lookup = { pathId: (name) => pathId(event, name), key };
  const loading = access.load(lookup, route);
  const [loaded, user, idempotencyKey, [found]] = await Promise.all([
    loading,
    key.then(readUser),
    readIdempotencyKey(event, key),
    Promise.allSettled([read(lookup, loading)]),
  ]);
  const principal = identify(await key, user, now);
  event.principal = principal;
  const scope = access.admit(loaded, principal, route);
  if (found.status === "rejected") throw found.reason;
  return { principal, idempotencyKey, scope, read: found.value };
};

/** Gives a request its deadline, by the time that its function has left. */
const inTime =
  (answer: (event: Incoming) => Promise<APIGatewayProxyResult>) => (event: Incoming, context: LambdaContext) =>
    withDeadline(context.getRemainingTimeInMillis(), () => answer(event));

const nothing = async () => undefined;

/**
 * The one way in: every endpoint is a route, an access check and a few lines of its own. The checks run in the order
 * that functions/README.md gives. How a body is read is said once, so that a bundle holds no reader that it does not use.
 */
export const endpointReading =
  <B extends Reads["from"]>(readBody: ReadBody, _from: readonly B[]) =>
  <
    R extends Route & { readonly reads: { readonly from: B } },
    L,
    C extends Scope,
    S extends z.core.$ZodType = SchemaOf<R["reads"]>,
  >(
    route: R & { readonly reads: Reads<NoInfer<S>> },
    access: AccessCheck<NoInfer<R>, L, C>,
    handle: (context: Context<C, z.output<S>>) => Promise<Reply> | Reply,
  ) =>
    middy<Incoming, APIGatewayProxyResult>()
      .use(respond(route))
      .handler(
        inTime(async (event) => {
          const now = new Date();
          const { principal, scope, idempotencyKey } = await admit(event, route, access, now, nothing);
          const faults = idempotencyKey?.faults ?? [];
          const { input, compared } = await readInput(event, route.reads, readBody, scope.current, faults);
          const idempotency = idempotencyOf(idempotencyKey, route, event, principal, compared, now);
          const context = { ...scope, input, now, idempotency, precondition: precondition(event) };
          const reply = await handle(context);
          if (route.method === "GET") return responseUnlessKnown(event, route.status, reply);
          return response(event.requestContext.requestId, route.status, reply);
        }),
      );

/** An endpoint that takes JSON, a query, or nothing. */
export const endpoint = endpointReading(readJson, ["json", "query", "nothing"]);

/** An endpoint that lists: `readPage` is under way beside the access check, so that it costs no round trip of its own. */
export const listEndpoint = <S extends z.core.$ZodType, R extends Route & { readonly reads: QueryReads<S> }, L, C, P>(
  route: R & { readonly reads: QueryReads<S> },
  access: AccessCheck<NoInfer<R>, L, C>,
  readPage: PageReader<NoInfer<R>, P, z.output<S>, NoInfer<L>>,
  handle: (context: C & { readonly page: P; readonly query: z.output<S> }) => Promise<Reply> | Reply,
) =>
  middy<Incoming, APIGatewayProxyResult>()
    .use(respond(route))
    .handler(
      inTime(async (event) => {
        const { scope, read } = await admit(event, route, access, new Date(), async (lookup, loaded) => {
          const query = parseQuery(event, route.reads);
          return { query, page: await readPage(lookup, query, route, loaded) };
        });
        return response(event.requestContext.requestId, route.status, await handle({ ...scope, ...read }));
      }),
    );
