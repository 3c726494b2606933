import * as z from "zod/mini";
import { limits } from "../../shared/limits.ts";
import type { DocumentedRoute } from "../../shared/route.ts";
import { ids, pageParameters } from "../../shared/schema/documents.ts";
import { pascal, pathParameters } from "./names.ts";
import { isJson, type Json, type Share, toJson } from "./schemas.ts";

const exampleIds: Readonly<Record<string, string>> = ids;

/** Has no pattern: ids in a path are case-insensitive, and an id that is not a ULID results in 404, not 422. */
const pathParameter = (name: string, type: string): Json => ({
  name,
  in: "path",
  required: true,
  description: `The ${type}'s ULID.`,
  schema: { type: "string", minLength: 1 },
  example: exampleIds[type],
});

/** A parameter that all lists have. Cursors are never empty. */
const pageParameter = (name: string, schema: Json, description: string): Json => {
  const own = schema.type === "number" ? { type: "integer" } : { minLength: 1 };
  const example = name === "first" ? { example: limits.pageSize.default } : {};
  return { name, in: "query", description, schema: { ...schema, ...own }, ...example };
};

/**
 * A string of comma-separated names. For an array, several generators ignore `explode` and send one parameter for each name, of
 * which the service reads only the last.
 */
const commaSeparated = (names: readonly string[]): Json => {
  const one = names.join("|");
  return { type: "string", pattern: `^(${one})(,(${one}))*$` };
};

const included = "What to return with each document under `associations`, separated by commas.";

const queryParameters = ({ reads, docs }: DocumentedRoute, share: Share): Json[] => {
  const properties = reads.from === "query" ? toJson(reads.schema, "output").properties : undefined;
  return Object.entries(isJson(properties) ? properties : {}).map(([name, schema]) => {
    const description = docs.query?.[name] ?? "";
    if (!isJson(schema)) throw new Error(`The schema of the query parameter ${name} is not an object.`);
    if (typeof description === "object") {
      const names = z.array(z.string()).parse(isJson(schema.items) ? schema.items.enum : undefined);
      const whole = [included, ...names.map((one) => `\`${one}\`: ${description[one]}`)].join(" ");
      const parameter = {
        name,
        in: "query",
        description: whole,
        schema: commaSeparated(names),
        example: names.join(","),
      };
      return share(pascal([name, ...names].join("-")), parameter);
    }
    if (Object.hasOwn(pageParameters, name)) return share(pascal(name), pageParameter(name, schema, description));
    return share(pascal(name), { name, in: "query", description, schema });
  });
};

const idempotencyKey: Json = {
  name: "Idempotency-Key",
  in: "header",
  description: `Makes retries safe. For ${limits.idempotencySeconds / 3600} hours, a request with the same key and the same content returns the first response again, with \`Idempotency-Replayed: true\`, and creates nothing. A request with the same key but different content fails with 422.`,
  schema: { type: "string", pattern: `^${limits.idempotencyKey.characters}{1,${limits.idempotencyKey.length}}$` },
};

const ifMatch: Json = {
  name: "If-Match",
  in: "header",
  description:
    "The `ETag` of the document that the change is based on. If the document has changed since, the request fails with 412.",
  schema: { type: "string" },
};

const ifNoneMatch: Json = {
  name: "If-None-Match",
  in: "header",
  description: "The `ETag` of an earlier response. If nothing has changed since, the response is 304.",
  schema: { type: "string" },
};

/**
 * The parameters of an operation, as references to components. Those that are required have an example, and those that do no
 * harm. Tools such as Bruno send every parameter that has one: another list's cursor, another document's version, the same
 * `Idempotency-Key` each time.
 */
export const parametersOf = (route: DocumentedRoute, share: Share): Json[] => {
  const { path, method, operation, resource } = route;
  const inPath = pathParameters(path).map((name) => {
    const type = name === "id" ? resource : name.replace(/_id$/, "");
    return share(`${pascal(type)}Id`, pathParameter(name, type));
  });
  return [
    ...inPath,
    ...queryParameters(route, share),
    ...(method === "POST" ? [share("IdempotencyKey", idempotencyKey)] : []),
    ...(operation === "update" || operation === "delete" ? [share("IfMatch", ifMatch)] : []),
    ...(operation === "show" ? [share("IfNoneMatch", ifNoneMatch)] : []),
  ];
};
