import type * as z from "zod/mini";
import type { Route } from "../../shared/routes.ts";
import { exampleOf } from "./examples/by-route.ts";
import { isJson, type Json } from "./json.ts";
import { pascal } from "./names.ts";
import type { Schemas } from "./schemas.ts";

/** A part cannot be null; it is omitted instead. */
const partOf = (schema: unknown, example: unknown): Json => {
  const { default: fallback, anyOf, type, ...rest } = isJson(schema) ? schema : {};
  const choice = Array.isArray(anyOf) ? anyOf.filter(isJson).find((option) => option.type !== "null") : {};
  const nonNull = Array.isArray(type) ? type.find((each) => each !== "null") : type;
  return {
    ...(nonNull !== undefined && { type: nonNull }),
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

/** The schema of a form. The parts of `{type, data: {name}}` are `type` and `data[name]`. */
const formSchema = (outer: Json, data: Json, example: Readonly<Record<string, unknown>>): Json => {
  const inner = propertiesOf(data).map(([name, part]): [string, unknown] => [`data[${name}]`, part]);
  const parts = [...propertiesOf(outer), ...inner];
  return {
    type: "object",
    description: "The parts of the form. Unknown parts are ignored.",
    properties: Object.fromEntries(parts.map(([name, part]) => [name, partOf(part, example[name])])),
    required: requiredOf(data).map((name) => `data[${name}]`),
  };
};

/** `SwitchCreate`. `NewSwitch` would be a constructor in Go, and generators use `CreateSwitch` for the operation. */
const schemaName = ({ document, operation }: Route) => pascal(document) + pascal(operation);

/** Undefined for an operation without a body. */
export const requestBodyOf = (route: Route, schemas: Schemas): Json | undefined => {
  const { reads, resource, summary } = route;
  if (reads.from !== "form" && reads.from !== "json") return undefined;
  const name = schemaName(route);
  const { body = {}, json = body } = exampleOf(route);
  const examples = { example: { value: body, summary } };
  const jsonContent = (schemaName: string, of: z.core.$ZodType) => {
    const schema = schemas.add(schemaName, schemas.request(of, schemaName, resource));
    return { schema, examples: { example: { value: json, summary } } };
  };
  if (reads.from === "json")
    return { required: true, content: { "application/json": jsonContent(name, reads.schema) } };
  const { outer, data } = schemas.form(reads.schema, name, resource);
  const schema = schemas.add(name, formSchema(outer, data, body));
  // Tools send this type with the file, so it must not be a range such as `*/*`.
  const encoding = { "data[file]": { contentType: "application/octet-stream" } };
  const form = { schema, examples, encoding };
  const fromUpload = jsonContent(`${name}FromUpload`, reads.json);
  return { required: true, content: { "multipart/form-data": form, "application/json": fromUpload } };
};
