import middy from "@middy/core";
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from "aws-lambda";
import type * as z from "zod/mini";
import type { Reads, Route } from "../routes.ts";
import type { Idempotency } from "../table/idempotency.ts";
import type { Precondition } from "../table/optimistic-update.ts";
import { authenticate } from "./caller.ts";
import { useOf } from "./idempotency.ts";
import { type ReadBody, readInput } from "./input.ts";
import { precondition } from "./preconditions.ts";
import { readJson } from "./read-json.ts";
import type { Guard, Principal, Scope } from "./request.ts";
import { type Answer, respond, response } from "./responses.ts";

/** What an endpoint's own lines get: who calls, what the guard found, what was sent, and when. */
type Call<T extends Scope, I> = T & {
  readonly input: I;
  readonly principal: Principal;
  readonly now: Date;
  readonly idempotency: Idempotency | undefined;
  readonly precondition: Precondition;
};

/**
 * The one way in: every endpoint is a route, a guard and a few lines of its own. Order of the checks: semantics.md, 2.
 * How a body is read is given once, here, so that a bundle holds no reader that it does not use.
 */
export const endpointReading =
  (readBody: ReadBody) =>
  <T extends Scope, S extends z.core.$ZodType>(
    route: Route & { readonly reads: Reads<S> },
    guard: Guard<T>,
    handle: (call: Call<T, z.output<S>>) => Promise<Answer> | Answer,
  ) =>
    middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
      .use(respond(route))
      .use(authenticate(guard))
      .use(readInput(route.reads, readBody))
      .handler(async (event) => {
        const { scope, input, principal } = event;
        const now = new Date();
        const idempotency = useOf(route, event, input, now);
        const call = { ...scope, input, principal, now, idempotency, precondition: precondition(event) };
        return response(event.requestContext.requestId, route.status, await handle(call));
      });

/** An endpoint that takes JSON, or no body. */
export const endpoint = endpointReading(readJson);
