import type { ApiKey, User } from "./tenant-schema.ts";

/** The caller: a valid API key and the user that it impersonates. */
export type Principal = { readonly apiKey: ApiKey; readonly user: User };

/** An id from the path. `id` is undefined if it was not a ULID: then there is nothing to read. `requestedId` is for errors. */
export type PathId = { readonly id: string | undefined; readonly requestedId: string };

/** What an access check is given before the caller is known. */
export type Given = {
  readonly pathId: (name: string) => PathId;
  /** The API key of the request, while it is being read; undefined if it does not exist. */
  readonly apiKey: Promise<ApiKey | undefined>;
};

/** A check, and what it is about. Operators read both (`admin access`). */
export type Check = readonly [check: string, about: string];

/** Checks in their order: yields each before it decides, throws where one refuses, and returns what was admitted. */
export type Checks<A> = Generator<Check, A>;

/**
 * Decides in two steps whether a caller may use a route. `load` starts at once, while the API key is being read; its error is
 * thrown once the caller is known. `admit` runs then; it throws a 403 or a 404, or returns what the endpoint works on. Both get the endpoint's
 * own route, so they cannot check the permission of another one.
 */
export type AccessCheck<R, L, A> = {
  readonly load: (given: Given, route: R) => Promise<L>;
  readonly admit: (loaded: L, principal: Principal, route: R, now: Date) => Checks<A>;
};

/** Reads the page that a list's query requests. Starts at the same time as `load`, whose result is `loaded`. */
export type PageReader<R, P, Q, L = unknown> = (given: Given, query: Q, route: R, loaded: Promise<L>) => Promise<P>;
