import type * as z from "zod/mini";
import type { QueryReads } from "../route.ts";
import type { ApiKey, User } from "./tenant-schema.ts";

/** The caller: a valid API key and the user that it impersonates. */
export type Principal = { readonly apiKey: ApiKey; readonly user: User };

/** An id from the path. `id` is undefined if the text is not a ULID; nothing is looked up then. `requestedId` is for errors. */
export type PathId = { readonly id: string | undefined; readonly requestedId: string };

/** The input of an access check that is available before the caller is known. */
export type Given = {
  readonly pathId: (name: string) => PathId;
  /** Resolves to the request's API key, or undefined if the key does not exist. */
  readonly apiKey: Promise<ApiKey | undefined>;
  /** Parses the query of a list, and throws 422 if it is not valid. Undefined for `patchbay access`, which reads no page. */
  readonly query?: <S extends z.core.$ZodType>(reads: QueryReads<S>) => z.output<S>;
};

/** Called before each check with its name and what it is about. `patchbay access` prints them; requests ignore them. */
export type Note = (check: string, about: string) => void;

/** A caller's attempt to use a route. */
export type Attempt<R> = Principal & { readonly route: R; readonly now: Date; readonly note: Note };

/**
 * Decides in two steps whether a caller may use a route. `load` starts immediately, while the API key is being read; its error is
 * thrown once the caller is known. `admit` then throws 403 or 404, or returns what the endpoint works on. Both get the endpoint's
 * own route, so they cannot check another route's permission.
 */
export type AccessCheck<R, L, A> = {
  readonly load: (given: Given, route: R) => Promise<L>;
  readonly admit: (loaded: L, attempt: Attempt<R>) => A;
};
