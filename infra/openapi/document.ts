import { parentPermissions } from "../../shared/attachments/routes.ts";
import type { Contract, DocumentedRoute, Route } from "../../shared/route.ts";
import { contracts } from "../../shared/routes.ts";
import { introduction } from "./introduction.ts";
import { operationId } from "./names.ts";
import { parametersOf, requestBodyOf } from "./requests.ts";
import { headers, responsesOf } from "./responses.ts";
import { collectSchemas, componentsOf, type Json } from "./schemas.ts";
import { webhooksOf } from "./webhooks.ts";

const info = {
  title: "Patchbay",
  version: "1",
  summary: "Attachments of number orders and messaging switches.",
  description: introduction,
  // Each deployment has its own operators, so there is no address that fits all.
  contact: { name: "The operators of this deployment" },
  license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
};

const servers = [
  {
    url: "{base_url}",
    // The published schema of OpenAPI 3.1 has no description of a variable, and swagger-parser rejects one.
    // Tools show this description as the server's name.
    description: "Local or deployed",
    variables: { base_url: { default: "http://127.0.0.1:3000" } },
  },
];

const apiKey = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "apik_...",
  description:
    "An API key: `apik_` and 43 characters. A request has the permissions of the user that the key impersonates.",
};

const requirementsOf = ({ parent, permission }: Route): string => {
  const own = `\`${permission}\``;
  if (parent !== "request" && parent !== "order") return `**Permission:** ${own}.`;
  const { CART, CHECKED_OUT } = parentPermissions[parent];
  return `**Permissions:** ${own}, and \`${CART}\` before checkout or \`${CHECKED_OUT}\` after checkout.\n\n**Feature:** Ordering Attachment Access, enabled for the account that owns the ${parent}.`;
};

/** Generates the OpenAPI 3.1 document of the API from the contracts of the domains and the error catalogue. */
export const openapi = () => {
  const [schemas, parameters, responses] = [collectSchemas(), componentsOf("parameters"), componentsOf("responses")];
  const operationOf = (route: DocumentedRoute, contract: Contract): Json => {
    const requestBody = requestBodyOf(route, schemas);
    return {
      operationId: operationId(route),
      tags: [contract.tags[route.resource]?.name],
      summary: route.docs.summary,
      description: `${route.docs.description}\n\n${requirementsOf(route)}`,
      parameters: parametersOf(route, parameters.add),
      ...(requestBody && { requestBody }),
      responses: responsesOf(route, schemas, responses.add),
    };
  };
  const paths: { [path: string]: Json } = {};
  for (const contract of contracts)
    for (const route of contract.routes)
      paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, contract) };
  return {
    // The version is not 3.1.1, which means the same and which swagger-parser before 10.1.1 rejects.
    openapi: "3.1.0",
    info,
    servers,
    security: [{ apiKey: [] }],
    tags: contracts.flatMap(({ tags }) => Object.values(tags)),
    paths,
    webhooks: webhooksOf(schemas),
    components: {
      schemas: schemas.sorted(),
      parameters: parameters.sorted(),
      headers,
      responses: responses.sorted(),
      securitySchemes: { apiKey },
    },
  };
};
