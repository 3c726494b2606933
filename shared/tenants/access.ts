import type { PageQuery } from "../schema/fields.ts";
import type { ApiKey, User } from "./schema.ts";

/** The caller: a valid key and the user that it impersonates. */
export type Principal = { readonly key: ApiKey; readonly user: User };

/** An id from the path: the one to read by (if it is not a ULID, one that does not exist), and the one that was sent. */
export type PathId = { readonly id: string; readonly requestedId: string };

/** What a check can use before the caller is known. */
export type Lookup = {
  readonly pathId: (name: string) => PathId;
  /** The presented key, while it is being read; undefined where it does not exist. */
  readonly key: Promise<ApiKey | undefined>;
};

/**
 * Decides whether a caller may do what a route does, in two steps. `load` starts at once, beside the reading of the key;
 * `admit` runs when the caller is known, and throws (404, 403, 404) or returns what the endpoint works on. Both are
 * given the endpoint's own route, so they cannot check the permission of another one.
 */
export type AccessCheck<R, L, S> = {
  readonly load: (lookup: Lookup, route: R) => Promise<L>;
  readonly admit: (loaded: L, principal: Principal, route: R) => S;
};

/** Starts with `load`, too: reading the page that a list's query asks for. */
export type PageReader<R, P> = (lookup: Lookup, query: PageQuery, route: R) => Promise<P>;
