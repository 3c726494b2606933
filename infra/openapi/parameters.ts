import { limits } from "../../shared/limits.ts";
import type { Route } from "../../shared/routes.ts";
import { pathIds } from "./examples/ids.ts";
import { pascal } from "./names.ts";
import { isJson, type Json, type Schemas } from "./schemas.ts";

/** Ids in a path are read without regard to case. What is not a ULID is an id that does not exist. */
const pathParameter = (name: string): Json => ({
  name,
  in: "path",
  required: true,
  description: name === "id" ? "The switch's ULID." : `The ${name.replace(/_id$/, "")}'s ULID.`,
  schema: { type: "string" },
  example: pathIds[name],
});

const queryDescriptions: Readonly<Record<string, string>> = {
  first: "The number of documents from the start of the list, or from `after`: 50 if nothing is said.",
  after: "The cursor `page_info.after` of a page: this page begins behind it. Goes with `first`.",
  last: "The number of documents from the end of the list, or from `before`.",
  before: "The cursor `page_info.before` of a page: this page ends in front of it. Goes with `last`.",
};

/** A query's texts are shown as what they are read as: whole numbers as such. */
const queryParameters = (properties: Json): [string, Json][] =>
  Object.entries(properties).map(([name, schema]) => {
    const { description: _description, ...rest } = isJson(schema) ? schema : {};
    const read = rest.type === "number" ? { ...rest, type: "integer" } : rest;
    return [pascal(name), { name, in: "query", description: queryDescriptions[name], schema: read }];
  });

const idempotencyKey: Json = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Makes it safe to send the request again: for 24 hours the same key with the same content returns the first answer, with `Idempotency-Replayed: true`, and creates nothing; with other content it is refused.",
  schema: { type: "string", pattern: `^${limits.idempotencyKey.characters}{1,${limits.idempotencyKey.length}}$` },
};

const ifMatch: Json = {
  name: "If-Match",
  in: "header",
  description:
    "The `ETag` of the document as it was read: if it has changed since, the answer is 412 and nothing happens.",
  schema: { type: "string" },
};

/** The parameters of an operation by the names that they have among the components. */
export const parametersOf = ({ path, method, operation, reads }: Route, { translate }: Schemas): [string, Json][] => {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]): [string, Json] => [
    name === "id" ? "SwitchId" : pascal(name),
    pathParameter(name),
  ]);
  const query = reads.from === "query" ? translate(reads.schema, "output").properties : {};
  return [
    ...inPath,
    ...(isJson(query) ? queryParameters(query) : []),
    ...(method === "POST" ? [["IdempotencyKey", idempotencyKey] satisfies [string, Json]] : []),
    ...(operation === "update" || operation === "delete" ? [["IfMatch", ifMatch] satisfies [string, Json]] : []),
  ];
};
