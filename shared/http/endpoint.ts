import middy from "@middy/core";
import type { APIGatewayProxyResult, Context as LambdaContext } from "aws-lambda";
import type * as z from "zod/mini";
import { withDeadline } from "../deadline.ts";
import { unauthorized } from "../errors.ts";
import type { Origin } from "../history/record.ts";
import type { FormReads, Properties, QueryReads, Reads, Route } from "../route.ts";
import type { Idempotency } from "../table/idempotency.ts";
import { hashApiKey, keys } from "../table/keys.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import { readItem } from "../table/read.ts";
import type { AccessCheck, Check, Checks, Given, PageReader, Principal } from "../tenants/access.ts";
import { readUser } from "../tenants/accounts.ts";
import { ApiKey, type User } from "../tenants/tenant-schema.ts";
import { readForm } from "./form.ts";
import { idempotencyOf, readIdempotencyKey } from "./idempotency.ts";
import { parseQuery, type ReadBody, readInput, readJson } from "./input.ts";
import { listHeader, pathId, type RequestEvent } from "./request.ts";
import { precondition, type Reply, respond, response, responseOrNotModified } from "./responses.ts";

type Schema = z.core.$ZodType;

/** What an access check returns. `owner` is the account that owns what the request is about, `current` the document. */
type Admitted = { readonly owner: string; readonly current?: Properties; readonly [name: string]: unknown };

/** What an endpoint's handler gets: the result of the access check, the input, and where its changes come from. */
type HandlerArguments<A, I> = A & {
  readonly input: I;
  readonly origin: Origin;
  readonly idempotency: Idempotency | undefined;
  readonly precondition: Precondition;
};

type CheckedEvent = Pick<RequestEvent, "httpMethod" | "headers" | "multiValueHeaders" | "pathParameters" | "logged">;

const bearer = /^Bearer +(apik_[A-Za-z0-9_-]{43})$/i;

/** Starts reading the API key in the request. 401 if the request has none, or several: a firewall may have counted another one. */
const readApiKey = (event: CheckedEvent): Promise<ApiKey | undefined> => {
  const token = bearer.exec(listHeader(event, "Authorization") ?? "")?.[1];
  if (token === undefined) throw unauthorized();
  return readItem(ApiKey, keys.apiKey(hashApiKey(token)));
};

/** Returns the caller, or throws a 401. Nothing is cached between requests, so revoking a key takes effect at once. */
function* authenticate(apiKey: ApiKey | undefined, user: User | undefined, now: Date): Checks<Principal> {
  yield ["the API key exists", apiKey?.id ?? ""];
  if (!apiKey) throw unauthorized();
  yield ["the API key is not revoked", apiKey.id];
  if (apiKey.revoked) throw unauthorized();
  yield ["the API key has not expired", apiKey.expires_at ?? ""];
  if (apiKey.expires_at !== null && new Date(apiKey.expires_at) <= now) throw unauthorized();
  yield ["the API key's user exists", apiKey.user ?? ""];
  if (!user) throw unauthorized();
  yield ["the API key's user is not disabled", user.id];
  if (user.disabled) throw unauthorized();
  return { apiKey, user };
}

type Announce = (check: Check) => void;

/** Runs checks until one refuses. Each is announced before it decides. */
const run = <A>(checks: Checks<A>, announce: Announce): A => {
  let next = checks.next();
  for (; !next.done; next = checks.next()) announce(next.value);
  return next.value;
};

/**
 * Identifies the caller and runs the access check. Reads the API key, the resources in the path and the page of a list at the same
 * time. An error of the access check is thrown only after the caller is known, and one of `readList` after the caller is admitted.
 */
const authorize = async <R extends Route, L, A extends Admitted, P>(
  event: CheckedEvent,
  route: R,
  access: AccessCheck<R, L, A>,
  now: Date,
  readList: (given: Given, loaded: Promise<L>) => Promise<P>,
  apiKey = readApiKey(event),
  announce: Announce = () => {},
) => {
  const given: Given = { pathId: (name) => pathId(event, name), apiKey };
  const loading = access.load(given, route);
  const [user, idempotencyKey, [loaded, list]] = await Promise.all([
    apiKey.then((key) => (key?.user ? readUser(key.user) : undefined)),
    readIdempotencyKey(event, apiKey),
    Promise.allSettled([loading, readList(given, loading)]),
  ]);
  const principal = run(authenticate(await apiKey, user, now), announce);
  const { apiKey: caller, user: impersonated } = principal;
  event.logged = { key_id: caller.id, account_id: caller.account, user_id: impersonated.id };
  if (loaded.status === "rejected") {
    // What is no id is not looked for.
    announce([`the ${route.parent} exists`, pathId(event, `${route.parent}_id`).requestedId]);
    throw loaded.reason;
  }
  const admitted = run(access.admit(loaded.value, principal, route, now), announce);
  event.logged = { ...event.logged, owner_account_id: admitted.owner };
  if (list.status === "rejected") throw list.reason;
  return { principal, idempotencyKey, admitted, list: list.value };
};

/**
 * Returns the function of a route, which gives each request a deadline before the function's timeout. With it, for the CLI, its
 * checks of an API key and the ids in the path: `admission` announces each, and throws the error of the one that refuses.
 */
const handlerOf = <R extends Route, L, A extends Admitted>(
  route: R,
  access: AccessCheck<R, L, A>,
  handle: (event: RequestEvent) => Promise<APIGatewayProxyResult>,
) => {
  const handler = middy<RequestEvent, APIGatewayProxyResult>()
    .use(respond(route))
    .handler((event: RequestEvent, context: LambdaContext) =>
      withDeadline(context.getRemainingTimeInMillis(), () => handle(event)),
    );
  const admission = (apiKey: ApiKey | undefined, ids: Readonly<Record<string, string>>, announce: Announce) => {
    const event = { httpMethod: route.method, headers: {}, multiValueHeaders: {}, pathParameters: ids };
    return authorize(event, route, access, new Date(), async () => {}, Promise.resolve(apiKey), announce);
  };
  return Object.assign(handler, { admission });
};

export type Admission = ReturnType<typeof handlerOf>["admission"];

type Handle<A, S extends Schema> = (of: HandlerArguments<A, z.output<S>>) => Promise<Reply> | Reply;

/** Runs the checks in the order that functions/README.md describes, then the handler. A bundle contains only the body reader that it uses. */
const endpointWith = <S extends Schema, R extends Route, L, A extends Admitted>(
  route: R & { readonly reads: Reads<S> },
  access: AccessCheck<NoInfer<R>, L, A>,
  handle: Handle<A, S>,
  readBody: ReadBody,
) =>
  handlerOf(route, access, async (event) => {
    const now = new Date();
    const { principal, admitted, idempotencyKey } = await authorize(event, route, access, now, async () => undefined);
    const problems = idempotencyKey?.problems ?? [];
    const { input, compared } = await readInput(event, route.reads, readBody, admitted.current, problems);
    const idempotency = idempotencyOf(idempotencyKey, route, event, principal, compared, now);
    const actor = { type: "api_key", id: principal.apiKey.id, user: principal.user.id } as const;
    const origin = { now, actor, request_id: event.requestContext.requestId };
    const reply = await handle({ ...admitted, input, origin, idempotency, precondition: precondition(event) });
    event.logged = { ...event.logged, ...reply.logged };
    if (route.method === "GET") return responseOrNotModified(event, route.status, reply);
    return response(event.requestContext.requestId, route.status, reply);
  });

/** An endpoint that reads JSON, the query or nothing. */
export const endpoint = <S extends Schema, R extends Route, L, A extends Admitted>(
  route: R & { readonly reads: Exclude<Reads<S>, FormReads> },
  access: AccessCheck<NoInfer<R>, L, A>,
  handle: Handle<A, S>,
) => endpointWith(route, access, handle, readJson);

/** An endpoint that reads a form. */
export const uploadEndpoint = <S extends Schema, R extends Route, L, A extends Admitted>(
  route: R & { readonly reads: FormReads<S> },
  access: AccessCheck<NoInfer<R>, L, A>,
  handle: Handle<A, S>,
) => endpointWith(route, access, handle, (event) => readForm(event, route.reads));

/** An endpoint that returns a list. `readPage` runs at the same time as the access check, so that it adds no round trip. */
export const listEndpoint = <S extends Schema, R extends Route, L, A extends Admitted, P>(
  route: R & { readonly reads: QueryReads<S> },
  access: AccessCheck<NoInfer<R>, L, A>,
  readPage: PageReader<NoInfer<R>, P, z.output<S>, NoInfer<L>>,
  handle: (of: A & { readonly page: P; readonly query: z.output<S> }) => Promise<Reply> | Reply,
) =>
  handlerOf(route, access, async (event) => {
    const { admitted, list } = await authorize(event, route, access, new Date(), async (given, loaded) => {
      const query = parseQuery(event, route.reads);
      return { query, page: await readPage(given, query, route, loaded) };
    });
    return response(event.requestContext.requestId, route.status, await handle({ ...admitted, ...list }));
  });
