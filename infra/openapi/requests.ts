import type { Route } from "../../shared/routes.ts";
import { exampleOf } from "./examples/by-route.ts";
import { pascal } from "./names.ts";
import { isJson, type Json, type Schemas } from "./schemas.ts";

/** A form has no null: a part is there or left out. */
const partOf = (schema: unknown, example: unknown): Json => {
  const { default: fallback, anyOf, ...rest } = isJson(schema) ? schema : {};
  const choice = Array.isArray(anyOf) ? anyOf.filter(isJson).find(({ type }) => type !== "null") : {};
  return {
    ...choice,
    ...rest,
    ...(fallback !== null && fallback !== undefined && { default: fallback }),
    ...(example !== undefined && { examples: [example] }),
  };
};

const requiredOf = ({ required }: Json): string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];

const propertiesOf = ({ properties }: Json): [string, unknown][] =>
  Object.entries(isJson(properties) ? properties : {});

/** `{type, data: {...}}` as the parts of a form, by their names on the wire. */
const formSchema = (schema: Json, example: Readonly<Record<string, unknown>>): Json => {
  const data = isJson(schema.properties) && isJson(schema.properties.data) ? schema.properties.data : {};
  const outer = propertiesOf(schema).filter(([name]) => name !== "data");
  const inner = propertiesOf(data).map(([name, part]): [string, unknown] => [`data[${name}]`, part]);
  return {
    type: "object",
    description: "The parts of the form. Parts that are not known are ignored.",
    properties: Object.fromEntries([...outer, ...inner].map(([name, part]) => [name, partOf(part, example[name])])),
    required: [
      ...requiredOf(schema).filter((name) => name !== "data"),
      ...requiredOf(data).map((name) => `data[${name}]`),
    ],
  };
};

const schemaName = ({ resource, operation }: Route) =>
  operation === "create" ? `New${pascal(resource)}` : `${pascal(resource)}Changes`;

/** What an operation takes as its body, if it takes one. */
export const requestBodyOf = (route: Route, { translate, named }: Schemas): Json | undefined => {
  const { reads } = route;
  if (reads.from !== "form" && reads.from !== "json") return undefined;
  const schema = translate(reads.schema, "input");
  const example = { value: exampleOf(route).body, summary: route.summary };
  const content = {
    schema: named(schemaName(route), reads.from === "form" ? formSchema(schema, exampleOf(route).body ?? {}) : schema),
    examples: { example },
  };
  const encoding = { "data[file]": { contentType: "*/*" } };
  return {
    required: true,
    content:
      reads.from === "form" ? { "multipart/form-data": { ...content, encoding } } : { "application/json": content },
  };
};
