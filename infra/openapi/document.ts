import { routes } from "../../shared/routes.ts";
import { componentsOf } from "./components.ts";
import { tagOf } from "./domains.ts";
import type { Json } from "./json.ts";
import { operationOf } from "./operations.ts";
import { headers } from "./responses.ts";
import { collectSchemas } from "./schemas.ts";
import { description } from "./texts.ts";

const info = {
  title: "Patchbay",
  version: "1",
  summary: "Attachments of number orders and messaging switches.",
  description,
  // Each deployment has its own operators, so there is no address that fits all.
  contact: { name: "The operators of this deployment" },
  license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
};

const servers = [
  {
    url: "{base_url}",
    description: "The base address of the deployment. `npm start` and `npm run deploy` print it.",
    variables: {
      base_url: { default: "http://127.0.0.1:3000", description: "The base address, without a trailing slash." },
    },
  },
];

const apiKey = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "apik_...",
  description:
    "An API key: `apik_` and 43 characters. A request has the permissions of the user that the key impersonates.",
};

/** Generates the OpenAPI 3.1 document of the API from the route table, the schemas and the error catalogue. */
export const openapi = () => {
  const shared = {
    schemas: collectSchemas(),
    parameters: componentsOf("parameters"),
    responses: componentsOf("responses"),
  };
  const paths: { [path: string]: Json } = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, shared) };
  const resources = new Set(routes.map(({ resource }) => resource));
  return {
    openapi: "3.1.1",
    info,
    servers,
    security: [{ apiKey: [] }],
    tags: [...resources].map(tagOf),
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
