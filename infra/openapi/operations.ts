import { ownPermission, parentPermissions, type Route } from "../../shared/routes.ts";
import { exampleOf } from "./examples/by-route.ts";
import { operationId, tags } from "./names.ts";
import { parametersOf } from "./parameters.ts";
import { requestBodyOf } from "./requests.ts";
import { responsesOf } from "./responses.ts";
import type { Json, Schemas } from "./schemas.ts";

/** What a key's user must hold, and the feature that attachments need. */
const access = (route: Route): string => {
  const own = `\`${ownPermission(route)}\``;
  if (route.parent !== "request" && route.parent !== "order") return `**Permission:** ${own}.`;
  const { CART, CHECKED_OUT } = parentPermissions[route.parent];
  return `**Permissions:** ${own}; and \`${CART}\` while the order is in its cart, \`${CHECKED_OUT}\` once it is checked out.\n\n**Feature:** Ordering Attachment Access, of the account that owns the ${route.parent}.`;
};

/** Things that several operations refer to, each by a name of its own. */
export const collect = (section: string) => {
  const found = new Map<string, Json>();
  const share = (name: string, value: Json): Json => {
    const known = found.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(value)) throw new Error(`Two ${section} are named ${name}.`);
    found.set(name, value);
    return { $ref: `#/components/${section}/${name}` };
  };
  return { share, sorted: () => Object.fromEntries([...found].sort(([a], [b]) => a.localeCompare(b))) };
};

export type Shared = {
  readonly schemas: Schemas;
  readonly parameters: ReturnType<typeof collect>;
  readonly responses: ReturnType<typeof collect>;
};

/** One row of the table of routes as an operation. */
export const operationOf = (route: Route, { schemas, parameters, responses }: Shared): Json => {
  const requestBody = requestBodyOf(route, schemas);
  return {
    operationId: operationId(route),
    tags: [tags[route.resource].name],
    summary: route.summary,
    description: `${exampleOf(route).description}\n\n${access(route)}`,
    parameters: parametersOf(route, schemas).map(([name, parameter]) => parameters.share(name, parameter)),
    ...(requestBody && { requestBody }),
    responses: responsesOf(route, schemas, responses.share),
  };
};
