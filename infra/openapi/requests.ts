import { limits } from "../../shared/limits.ts";
import type { DocumentedRoute } from "../../shared/route.ts";
import { ids, pageParameters } from "../../shared/schema/documents.ts";
import { mapped } from "../../shared/schema/fields.ts";
import { bodyName, pascal, pathParameters } from "./names.ts";
import { formJson, type Json, type JsonSchema, propertiesOf, type Schemas, type Share } from "./schemas.ts";

const exampleIds: Readonly<Record<string, string>> = ids;

/**
 * A parameter of a path has no pattern, because its ids are case-insensitive, and an id that is not a ULID returns 404, not 422.
 */
const pathParameter = (name: string, type: string): Json => ({
  name,
  in: "path",
  required: true,
  description: `The ${type}'s ULID.`,
  schema: { type: "string", minLength: 1 },
  example: exampleIds[type],
});

/** A parameter that all lists have. Cursors are never empty. */
const pageParameter = (name: string, schema: JsonSchema, description: string): Json => {
  const own = schema.type === "number" ? { type: "integer" } : { minLength: 1 };
  const example = name === "first" ? { example: limits.pageSize.default } : {};
  return { name, in: "query", description, schema: { ...schema, ...own }, ...example };
};

/**
 * `include` is a string. For an array, several generators ignore `explode` and send one parameter per name, of which the service
 * reads the last.
 */
const includeParameter = (name: string, names: readonly string[], texts: Readonly<Record<string, string>>): Json => {
  const intro = "What to return with each document under `associations`, separated by commas.";
  const one = names.join("|");
  return {
    name,
    in: "query",
    description: [intro, ...names.map((each) => `\`${each}\`: ${texts[each]}`)].join(" "),
    schema: { type: "string", maxLength: limits.queryLength, pattern: `^(${one})(,(${one}))*$` },
    example: names.join(","),
  };
};

const queryParameters = ({ reads, docs }: DocumentedRoute, share: Share): Json[] => {
  const properties = reads.from === "query" ? propertiesOf(reads.schema) : {};
  return Object.entries(properties).map(([name, schema]) => {
    const text = docs.query?.[name] ?? "";
    if (typeof text === "object") {
      const names = (schema.items?.enum ?? []).map(String);
      return share(pascal([name, ...names].join("-")), includeParameter(name, names, text));
    }
    const isPaging = Object.hasOwn(pageParameters, name);
    const parameter = isPaging ? pageParameter(name, schema, text) : { name, in: "query", description: text, schema };
    return share(pascal(name), parameter);
  });
};

const idempotencyKey: Json = {
  name: "Idempotency-Key",
  in: "header",
  description: `Makes retries safe. For ${limits.idempotencySeconds / 3600} hours, a request with the same key and the same content returns the first response again, with \`Idempotency-Replayed: true\`, and creates nothing. A request with the same key but different content fails with 422. Only POSTs read it.`,
  schema: { type: "string", pattern: `^${limits.idempotencyKey.characters}{1,${limits.idempotencyKey.length}}$` },
};

const ifMatch: Json = {
  name: "If-Match",
  in: "header",
  description:
    "The `ETag` of the document that you have read. If the document has changed since, the request fails with 412.",
  schema: { type: "string" },
};

const ifNoneMatch: Json = {
  name: "If-None-Match",
  in: "header",
  description: "The `ETag` of an earlier response. If nothing has changed since, the response is 304.",
  schema: { type: "string" },
};

/** Tools such as Bruno send every parameter that has an example, so those that would do harm have none. */
export const parametersOf = (route: DocumentedRoute, share: Share): Json[] => {
  const { path, method, operation, on, resource } = route;
  const inPath = pathParameters(path).map((name) => {
    const type = name === "id" ? resource : name.replace(/_id$/, "");
    return share(`${pascal(type)}Id`, pathParameter(name, type));
  });
  return [
    ...inPath,
    ...queryParameters(route, share),
    ...(method === "POST" ? [share("IdempotencyKey", idempotencyKey)] : []),
    ...(on === "item" ? [share("IfMatch", ifMatch)] : []),
    ...(operation === "show" ? [share("IfNoneMatch", ifNoneMatch)] : []),
  ];
};

/** A part cannot be null, so it is omitted instead. */
const partOf = ({ type = [], ...rest }: JsonSchema, example: unknown): JsonSchema => {
  const [nonNull] = [type].flat().filter((each) => each !== "null");
  return {
    ...(nonNull && { type: nonNull }),
    ...rest,
    // Postman's import reads only `example`, and tools for JSON Schema read `examples`.
    ...(example !== undefined && { example, examples: [example] }),
  };
};

/** A form's schema, with an example of each part except the file. The parts of `{type, data: {name}}` are `type` and `data[name]`. */
const formSchema = ({ properties = {} }: JsonSchema, example: Readonly<Record<string, unknown>>): JsonSchema => {
  const { data = {}, ...outer } = properties;
  const inner = Object.entries(data.properties ?? {}).map(([name, part]) => [`data[${name}]`, part] as const);
  return {
    type: "object",
    description: "The parts of the form. Unknown parts are ignored.",
    properties: mapped({ ...outer, ...Object.fromEntries(inner) }, (part, name) => partOf(part, example[name])),
    required: (data.required ?? []).map((name) => `data[${name}]`),
  };
};

export const requestBodyOf = (route: DocumentedRoute, schemas: Schemas): Json | undefined => {
  const { reads, docs } = route;
  if (reads.from !== "form" && reads.from !== "json") return undefined;
  if (reads.from === "json") {
    const schema = schemas[route.operation === "create" ? "create" : "request"](reads.schema);
    const examples = { example: { value: docs.body, summary: docs.summary } };
    return { required: true, content: { "application/json": { schema, examples } } };
  }
  const schema = schemas.add(bodyName(route), formSchema(formJson(reads.schema), docs.body ?? {}));
  return { required: true, content: { "multipart/form-data": { schema } } };
};
