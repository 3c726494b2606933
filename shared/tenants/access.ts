import type * as z from "zod/mini";
import type { QueryReads } from "../route.ts";
import type { Account, ApiKey, User } from "./tenant-schema.ts";

/** The caller. It has a valid API key and the user that the key impersonates. */
export type Principal = { readonly apiKey: ApiKey; readonly user: User };

/** An id from the path. `id` is undefined if the text is not a ULID, and nothing is looked up then. `requestedId` is for errors. */
export type PathId = { readonly id: string | undefined; readonly requestedId: string };

/** The input of an access check that is available before the caller is known. */
export type Given = {
  readonly pathId: (name: string) => PathId;
  /** Rejects with 401 unless the request's API key is valid. */
  readonly apiKey: Promise<ApiKey>;
  /** Parses the query of a list, and throws 422 if it is not valid. It is undefined for `patchbay access`, which reads no page. */
  readonly query?: <S extends z.core.$ZodType>(reads: QueryReads<S>) => z.output<S>;
};

/** It is called before each check with its name and what it is about. `patchbay access` prints them, and requests ignore them. */
export type Note = (check: string, about: string) => void;

/** A caller's attempt to use a route. */
export type Attempt<R> = Principal & { readonly route: R; readonly now: Date; readonly note: Note };

export type Owner = Pick<Account, "id" | "ancestors">;

/** `owner` is the account that owns the resource in the path. It is undefined if the resource does not exist. */
export type Found = { readonly owner: Owner | undefined };

/** What was found, if its owner is the API key's account or below it. */
export type Accessible<F extends Found> = F & { readonly owner: Owner };

/**
 * Decides in three steps whether a caller may use a route.
 * `find` starts immediately, while the API key is being read. It reads one small item, which says who owns the resource in the
 * path. `load` reads the rest, while the user is being read, and only if the API key has access to that owner. So a caller without
 * access causes the same reads for every id. `admit` then throws 403 or 404, or returns what the endpoint works on. Without access,
 * `loaded` is undefined.
 * Errors of reads are thrown once the caller is known. All steps get the endpoint's own route, so they cannot check another route's
 * permission.
 */
export type AccessCheck<R, F extends Found, L, A> = {
  readonly find: (given: Given, route: R) => Promise<F>;
  readonly load: (found: Accessible<F>, given: Given, route: R) => Promise<L>;
  readonly admit: (found: F, loaded: L | undefined, attempt: Attempt<R>) => A;
};
