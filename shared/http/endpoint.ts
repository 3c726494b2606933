import middy from "@middy/core";
import type { APIGatewayProxyResult, Context } from "aws-lambda";
import type * as z from "zod/mini";
import { withDeadline } from "../deadline.ts";
import { notFound } from "../errors.ts";
import type { Origin } from "../history/record.ts";
import type { FormReads, Properties, QueryReads, Reads, Route } from "../route.ts";
import type { Idempotency } from "../table/idempotency.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import type { AccessCheck, Accessible, Found, Note } from "../tenants/access.ts";
import type { ApiKey } from "../tenants/tenant-schema.ts";
import { type AuthenticatedEvent, authenticate, authentication, readCaller, validKey } from "./authentication.ts";
import { idempotencyOf } from "./idempotency.ts";
import { type ReadBody, readInput, readJson } from "./input.ts";
import { addToLogLine, pathId, type RequestEvent } from "./request.ts";
import { precondition, type Reply, respond, response, responseOrNotModified } from "./responses.ts";

type Schema = z.core.$ZodType;

/** The result of an access check. `owner` is the account that owns the resource, `current` the resource's document. */
type Admitted = { readonly owner: string; readonly current?: Properties; readonly [name: string]: unknown };

type HandlerArguments<A, I> = A & {
  readonly input: I;
  readonly origin: Origin;
  readonly idempotency: Idempotency | undefined;
  readonly precondition: Precondition;
};

/** A route that reads a form has its reader (`withForm`), so that other functions' bundles do not contain the reader. */
type BodyReader<R extends Route> = R["reads"] extends FormReads
  ? { readonly readBody: ReadBody }
  : { readonly readBody?: never };

/**
 * Returns the function of a route, which makes the checks in the order of functions/README.md and then calls the handler. README.md
 * in this folder lists the steps.
 */
export const endpoint = <S extends Schema, R extends Route, F extends Found, L, A extends Admitted>(
  route: R & { readonly reads: Reads<S> } & BodyReader<R>,
  access: AccessCheck<NoInfer<R>, F, L, A>,
  handle: (given: HandlerArguments<A, z.output<S>>) => Promise<Reply> | Reply,
) => {
  const checked = middy<RequestEvent, APIGatewayProxyResult>()
    .use(respond(route))
    .use(authentication(route, access))
    .handler(async (event: AuthenticatedEvent<F, L>) => {
      const { now, principal, loading, idempotencyKey } = event.authenticated;
      const { found, loaded } = await loading;
      const admitted = access.admit(found, loaded, { ...principal, route, now, note: () => {} });
      addToLogLine(event, { owner_account_id: admitted.owner });
      const problems = idempotencyKey?.problems ?? [];
      const readBody = route.readBody ?? readJson;
      const { input, compared } = await readInput(event, route.reads, readBody, admitted.current, problems);
      const idempotency = idempotencyOf(idempotencyKey, route, event, principal, compared, now);
      const actor = { type: "api_key", id: principal.apiKey.id, user: principal.user.id } as const;
      const origin = { now, actor, request_id: event.requestContext.requestId };
      const reply = await handle({ ...admitted, input, origin, idempotency, precondition: precondition(event) });
      addToLogLine(event, reply.logged);
      if (route.method === "GET") return responseOrNotModified(event, route.status, reply);
      return response(event.requestContext.requestId, route.status, reply);
    });
  const handler = (event: AuthenticatedEvent<F, L>, context: Context) =>
    withDeadline(context.getRemainingTimeInMillis(), () => checked(event, context));
  /** For `patchbay access`. Checks an API key and the ids in the path. Throws the error of the check that refuses. */
  const admission = async (apiKey: ApiKey | undefined, ids: Readonly<Record<string, string>>, note: Note) => {
    const now = new Date();
    const valid = validKey(Promise.resolve(apiKey), now, note);
    const given = { pathId: (name: string) => pathId({ pathParameters: ids }, name), apiKey: valid };
    const caller = await readCaller(given, route, access);
    const principal = authenticate(caller, note);
    const { found, loaded } = await caller.loading;
    access.admit(found, loaded, { ...principal, route, now, note });
  };
  return Object.assign(handler, { admission });
};

export type Admission = ReturnType<typeof endpoint>["admission"];

type Listing<Q> = { readonly reads: QueryReads<z.core.$ZodType<Q>> };

/**
 * Adds the page of a list to an access check. Reads the page while the check loads, so that it takes no more round trips, and never
 * for a caller without access. An error of the page is thrown when the endpoint awaits the page, after all checks.
 */
export const withPage = <R, Q, F extends Found, L, A, P>(
  access: AccessCheck<R, F, L, A>,
  readPage: (found: Accessible<F>, query: Q, route: R) => Promise<P>,
): AccessCheck<
  R & Listing<Q>,
  F,
  { readonly loaded: L; readonly page: Promise<P> },
  A & { readonly page: Promise<P> }
> => ({
  find: access.find,
  load: async (found, given, route) => {
    const page = (async () => {
      if (!given.query) throw new Error("Only a request has a page.");
      return readPage(found, given.query(route.reads), route);
    })();
    const loading = access.load(found, given, route);
    await Promise.allSettled([loading, page]);
    return { loaded: await loading, page };
  },
  admit: (found, both, attempt) => {
    const admitted = access.admit(found, both?.loaded, attempt);
    if (!both) throw notFound();
    return { ...admitted, page: both.page };
  },
});
