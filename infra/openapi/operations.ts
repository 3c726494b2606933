import { ownPermission, parentPermissions, type Route } from "../../shared/routes.ts";
import type { Components } from "./components.ts";
import { tagOf } from "./domains.ts";
import { exampleOf } from "./examples/by-route.ts";
import type { Json } from "./json.ts";
import { operationId } from "./names.ts";
import { parametersOf } from "./parameters.ts";
import { requestBodyOf } from "./requests.ts";
import { responsesOf } from "./responses.ts";
import type { Schemas } from "./schemas.ts";

/** The required permissions and, for attachments, the required feature. */
const access = (route: Route): string => {
  const own = `\`${ownPermission(route)}\``;
  if (route.parent !== "request" && route.parent !== "order") return `**Permission:** ${own}.`;
  const { CART, CHECKED_OUT } = parentPermissions[route.parent];
  return `**Permissions:** ${own}, and \`${CART}\` before checkout or \`${CHECKED_OUT}\` after checkout.\n\n**Feature:** Ordering Attachment Access, enabled for the account that owns the ${route.parent}.`;
};

type SharedComponents = {
  readonly schemas: Schemas;
  readonly parameters: Components;
  readonly responses: Components;
};

/** The operation for a row of the route table. */
export const operationOf = (route: Route, { schemas, parameters, responses }: SharedComponents): Json => {
  const requestBody = requestBodyOf(route, schemas);
  return {
    operationId: operationId(route),
    tags: [tagOf(route.resource).name],
    summary: route.summary,
    description: `${exampleOf(route).description}\n\n${access(route)}`,
    parameters: parametersOf(route, parameters.add),
    ...(requestBody && { requestBody }),
    responses: responsesOf(route, schemas, responses.add),
  };
};
