import type * as z from "zod/mini";
import type { QueryReads } from "../route.ts";
import type { ApiKey, User } from "./tenant-schema.ts";

/** The caller: a valid API key and the user that it impersonates. */
export type Principal = { readonly apiKey: ApiKey; readonly user: User };

/** An id from the path. `id` is undefined if it was not a ULID: then there is nothing to read. `requestedId` is for errors. */
export type PathId = { readonly id: string | undefined; readonly requestedId: string };

/** What an access check can read from before the caller is known. */
export type Given = {
  readonly pathId: (name: string) => PathId;
  /** The API key of the request, while it is being read; undefined if it does not exist. */
  readonly apiKey: Promise<ApiKey | undefined>;
  /** Parses the query of a list; 422 if it is not valid. Undefined for `admin access`, which reads no page. */
  readonly query?: <S extends z.core.$ZodType>(reads: QueryReads<S>) => z.output<S>;
};

/** Called before each check with its name and what it is about. `admin access` prints them; requests ignore them. */
export type Note = (check: string, about: string) => void;

/** A caller's attempt to use a route. */
export type Attempt<R> = Principal & { readonly route: R; readonly now: Date; readonly note: Note };

/**
 * Decides in two steps whether a caller may use a route. `load` starts at once, while the API key is being read; its error is
 * thrown once the caller is known. `admit` then throws a 403 or a 404, or returns what the endpoint works on. Both get the
 * endpoint's own route, so they cannot check the permission of another one.
 */
export type AccessCheck<R, L, A> = {
  readonly load: (given: Given, route: R) => Promise<L>;
  readonly admit: (loaded: L, attempt: Attempt<R>) => A;
};
