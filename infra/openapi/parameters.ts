import { limits } from "../../shared/limits.ts";
import type { Contract, Route } from "../../shared/route.ts";
import { ids, pageParameters } from "../../shared/schema/documents.ts";
import { pascal, pathParameters } from "./names.ts";
import { isJson, type Json, type Share, toJson } from "./schemas.ts";

/** The examples of path parameters, by name. `id` is a switch's. */
const pathIds: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(ids).map(([type, id]) => [`${type}_id`, id])),
  id: ids.switch,
};

/** Has no pattern: ids in a path are case-insensitive, and an id that is not a ULID results in 404, not 422. */
const pathParameter = (name: string): Json => ({
  name,
  in: "path",
  required: true,
  description: name === "id" ? "The switch's ULID." : `The ${name.replace(/_id$/, "")}'s ULID.`,
  schema: { type: "string", minLength: 1 },
  example: pathIds[name],
});

/** A parameter that all lists have. Cursors are never empty. */
const pageParameter = (name: string, schema: Json, description: string): Json => {
  const size = { ...schema, type: "integer" };
  return { name, in: "query", description, schema: schema.type === "number" ? size : { ...schema, minLength: 1 } };
};

/**
 * A string of comma-separated names. For an array, several generators ignore `explode` and send one parameter for each name, of
 * which the service reads only the last.
 */
const commaSeparated = (names: readonly string[]): Json => {
  const one = names.join("|");
  return { type: "string", pattern: `^(${one})(,(${one}))*$`, examples: [names.join(",")] };
};

/** The allowed names in a list of names. Empty for any other schema. */
const namesOf = ({ items }: Json): string[] =>
  isJson(items) && Array.isArray(items.enum) ? items.enum.filter((name) => typeof name === "string") : [];

const queryParameters = ({ reads }: Route, { query }: Contract, share: Share): Json[] => {
  const properties = reads.from === "query" ? toJson(reads.schema, "output").properties : undefined;
  const descriptions: Readonly<Record<string, string>> = { ...pageParameters, ...query };
  return Object.entries(isJson(properties) ? properties : {}).map(([name, schema]) => {
    const description = descriptions[name] ?? "";
    if (!isJson(schema)) throw new Error(`The schema of the query parameter ${name} is not an object.`);
    if (Object.hasOwn(pageParameters, name)) return share(pascal(name), pageParameter(name, schema, description));
    const listed = namesOf(schema);
    if (listed.length === 0) return share(pascal(name), { name, in: "query", description, schema });
    const each = listed.map((one) => `\`${one}\`: ${descriptions[`${name}.${one}`] ?? ""}`);
    const whole = [description, ...each].join(" ");
    const parameter = { name, in: "query", description: whole, schema: commaSeparated(listed) };
    return share(pascal([name, ...listed].join("-")), parameter);
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

/** The parameters of an operation, as references to components. */
export const parametersOf = (route: Route, contract: Contract, share: Share): Json[] => {
  const { path, method, operation } = route;
  const inPath = pathParameters(path).map((name) =>
    share(name === "id" ? "SwitchId" : pascal(name), pathParameter(name)),
  );
  return [
    ...inPath,
    ...queryParameters(route, contract, share),
    ...(method === "POST" ? [share("IdempotencyKey", idempotencyKey)] : []),
    ...(operation === "update" || operation === "delete" ? [share("IfMatch", ifMatch)] : []),
    ...(operation === "show" ? [share("IfNoneMatch", ifNoneMatch)] : []),
  ];
};
