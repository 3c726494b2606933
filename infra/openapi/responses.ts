import { type ApiError, malformed } from "../../shared/errors.ts";
import type { DocumentedRoute, Route } from "../../shared/route.ts";
import { routes } from "../../shared/routes.ts";
import { mapped } from "../../shared/schema/fields.ts";
import { ErrorDocument, errorsOf, reasons } from "./error-examples.ts";
import { fileOf, operationId, pascal, pathParameters } from "./names.ts";
import { type Json, responseSchema, type Schemas, type Share } from "./schemas.ts";

const text = { type: "string" };

export const headers: Readonly<Record<string, Json>> = {
  "X-Request-Id": {
    description: "The id of the request in the service's log. A firewall's 429 and a 413 in plain text do not have it.",
    schema: text,
  },
  ETag: {
    description: "The version of the document and of its associations. Send it back as `If-Match` or `If-None-Match`.",
    schema: text,
  },
  "Idempotency-Replayed": {
    description: "`true` if this is the response to an earlier request with the same `Idempotency-Key`.",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": {
    description: "The number of seconds to wait before a retry.",
    schema: { type: "integer", minimum: 0 },
  },
  "WWW-Authenticate": {
    description: "The expected authentication scheme. API Gateway sends it as `x-amzn-Remapped-WWW-Authenticate`.",
    schema: { type: "string", enum: ["Bearer"] },
  },
};

/** A response with JSON, or without a body. Every response has an `X-Request-Id`. */
const response = (description: string, headerNames: Iterable<string>, json?: Json): Json => ({
  description,
  headers: Object.fromEntries(
    ["X-Request-Id", ...headerNames].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  ),
  ...(json && { content: { "application/json": json } }),
});

const outcome = {
  index: "One page of the list.",
  show: "The document.",
  create: "The created document.",
  update: "The updated document.",
  delete: "The deleted document.",
} as const;

/** Links from the response of a create operation to the operations on the created resource, by the names of their files. */
const linksOf = ({ operation, resource, document, path }: Route): Json => {
  if (operation !== "create" || document !== resource) return {};
  const ownParameters = new Set(pathParameters(path));
  const links = routes
    .filter((route) => route.resource === resource && route.on === "item")
    .map((target) => {
      const parameters = pathParameters(target.path).map((name) => [
        name,
        ownParameters.has(name) ? `$request.path.${name}` : "$response.body#/data/id",
      ]);
      const link = { operationId: operationId(target), parameters: Object.fromEntries(parameters) };
      return [fileOf(target), { ...link, description: `${target.docs.summary}.` }];
    });
  return { links: Object.fromEntries(links) };
};

const successOf = (route: DocumentedRoute, schemas: Schemas): Json => {
  const { operation, method, docs } = route;
  const headerNames = [
    ...(operation === "index" ? [] : ["ETag"]),
    ...(method === "POST" ? ["Idempotency-Replayed"] : []),
  ];
  const examples = {
    example: { summary: docs.summary, value: docs.response },
    ...mapped(docs.others ?? {}, (value, title) => ({ summary: title, value })),
  };
  const schema = schemas.response(responseSchema(route));
  return { ...response(outcome[operation], headerNames, { schema, examples }), ...linksOf(route) };
};

const notModified = response("The document has not changed since the `ETag` in `If-None-Match`.", ["ETag"]);

type Failures = readonly (readonly [title: string, error: ApiError])[];

const errorResponse = (examples: Failures, schema: Json): Json => {
  const codes = new Set(examples.flatMap(([, { body }]) => body.errors.map(({ code }) => code)));
  const description = [...codes].map((code) => `\`${code}\`: ${reasons[code]}`).join("\n\n");
  const values = examples.map(([title, { body }]) => [title, { summary: title, value: body }]);
  const headerNames = new Set(examples.flatMap(([, error]) => Object.keys(error.headers)));
  return response(description, headerNames, { schema, examples: Object.fromEntries(values) });
};

const failuresOf = (route: DocumentedRoute): ReadonlyMap<number, Failures> =>
  Map.groupBy(Object.entries(errorsOf(route)), ([, { status }]) => status);

/** The statuses that have the same errors in every operation that can return them. */
const sharedStatuses = (() => {
  const all = routes.flatMap((route) => [...failuresOf(route)]);
  const variants = Map.groupBy(all, ([status]) => status);
  const isShared = (found: typeof all) =>
    new Set(found.map(([, own]) => JSON.stringify(errorResponse(own, {})))).size === 1;
  return new Set([...variants].filter(([, found]) => isShared(found)).map(([status]) => status));
})();

/** The errors that the gateway returns before a request reaches its operation, and a default for others. */
const gatewayResponses = (schema: Json, share: Share): Json => {
  const unreadable = { summary: "The request is not HTTP", value: malformed("is not a valid HTTP request").body };
  return {
    400: share("BadRequest", response("The request cannot be read as HTTP.", [], { schema, examples: { unreadable } })),
    431: share("RequestHeaderFieldsTooLarge", response("The headers of the request are too large.", [], { schema })),
    default: share("OtherError", response("Any other error. It has the same body.", [], { schema })),
  };
};

/** The responses of an operation by status. An error response has only examples that the operation can return. */
export const responsesOf = (route: DocumentedRoute, schemas: Schemas, share: Share): Json => {
  const schema = schemas.response(ErrorDocument);
  const failed = [...failuresOf(route)].map(([status, own]): [string, Json] => {
    const response = errorResponse(own, schema);
    const title = own[0]?.[1].body.errors[0]?.title ?? "";
    return [String(status), sharedStatuses.has(status) ? share(pascal(title), response) : response];
  });
  const success = successOf(route, schemas);
  const known = route.operation === "show" ? { 304: share("NotModified", notModified) } : {};
  return { [route.status]: success, ...known, ...Object.fromEntries(failed), ...gatewayResponses(schema, share) };
};
