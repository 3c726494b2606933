import { routes } from "../../shared/routes.ts";
import { tags } from "./names.ts";
import { collect, operationOf } from "./operations.ts";
import { headers } from "./responses.ts";
import { collectSchemas, type Json } from "./schemas.ts";
import { description } from "./texts.ts";

const info = {
  title: "Patchbay",
  version: "1",
  summary: "Attachments of number orders, and messaging switches.",
  description,
  license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
};

const servers = [
  {
    url: "{base_url}",
    description: "Wherever it runs: `npm start` prints the address, and so does a deployment.",
    variables: {
      base_url: { default: "http://127.0.0.1:3000", description: "The base address, without a slash at its end." },
    },
  },
];

const apiKey = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "apik_...",
  description: "An API key: `apik_` and 43 more characters. It acts as the user that it impersonates.",
};

/** The OpenAPI 3.1 document of the whole interface, made from the table of routes, the schemas and the error catalogue. */
export const openapi = () => {
  const shared = { schemas: collectSchemas(), parameters: collect("parameters"), responses: collect("responses") };
  const paths: { [path: string]: Json } = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, shared) };
  const resources = new Set(routes.map(({ resource }) => resource));
  return {
    openapi: "3.1.1",
    info,
    servers,
    security: [{ apiKey: [] }],
    tags: [...resources].map((resource) => tags[resource]),
    paths,
    components: {
      schemas: shared.schemas.sorted(),
      parameters: shared.parameters.sorted(),
      headers,
      responses: shared.responses.sorted(),
      securitySchemes: { apiKey },
    },
  };
};
