import type { APIGatewayProxyEvent } from "aws-lambda";
import { noId, parseUlid } from "../schema/fields.ts";
import type { ApiKey, User } from "../tenants/schema.ts";

/** Who calls: a valid key and the user that it impersonates. */
export type Principal = { readonly key: ApiKey; readonly user: User };

/** What a guard leaves for its endpoint; `current` is the document that a PATCH changes. */
export type Scope = { readonly current?: Readonly<Record<string, unknown>>; readonly [name: string]: unknown };

/**
 * Decides whether a request may pass, in two steps. It starts at once to read what it needs, beside the reading of the
 * key; then, when the caller is known, it throws (404, 403, 404) or answers what the endpoint works on.
 */
export type Guard<T extends Scope> = (
  event: APIGatewayProxyEvent,
  key: Promise<ApiKey | undefined>,
) => Promise<(principal: Principal) => T>;

/** A header's value whatever the case of its name; of several, the last. */
export const header = ({ headers }: Pick<APIGatewayProxyEvent, "headers">, name: string): string | undefined => {
  const found = Object.keys(headers ?? {}).find((key) => key.toLowerCase() === name.toLowerCase());
  return found === undefined ? undefined : headers[found];
};

/** An id from the path: as given, and as a key (one that nothing has, if it is not a ULID). */
export const pathId = (event: Pick<APIGatewayProxyEvent, "pathParameters">, name: string) => {
  const given = event.pathParameters?.[name] ?? "";
  const id = parseUlid(given);
  return { shown: id ?? given, id: id ?? noId };
};
