import type { DocumentedRoute } from "../../shared/route.ts";
import { bodyName } from "./names.ts";
import { formJson, isJson, type Json, type Schemas } from "./schemas.ts";

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
    // Postman's import reads `example` alone, tools of JSON Schema `examples`.
    ...(example !== undefined && { example, examples: [example] }),
  };
};

const requiredOf = ({ required }: Json): string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];

const objectOf = (value: unknown): Json => (isJson(value) ? value : {});

/** The schema of a form, with an example of each part but the file. The parts of `{type, data: {name}}` are `type` and `data[name]`. */
const formSchema = (whole: Json, example: Readonly<Record<string, unknown>>): Json => {
  const { data: inData, ...outer } = objectOf(whole.properties);
  const data = objectOf(inData);
  const inner = Object.entries(objectOf(data.properties)).map(([name, part]) => [`data[${name}]`, part] as const);
  const parts = [...Object.entries(outer), ...inner];
  return {
    type: "object",
    description: "The parts of the form. Unknown parts are ignored.",
    properties: Object.fromEntries(parts.map(([name, part]) => [name, partOf(part, example[name])])),
    required: requiredOf(data).map((name) => `data[${name}]`),
  };
};

/** Undefined for an operation without a body. */
export const requestBodyOf = (route: DocumentedRoute, schemas: Schemas): Json | undefined => {
  const { reads, docs } = route;
  if (reads.from !== "form" && reads.from !== "json") return undefined;
  if (reads.from === "json") {
    const schema = schemas.request(reads.schema);
    const examples = { example: { value: docs.body, summary: docs.summary } };
    return { required: true, content: { "application/json": { schema, examples } } };
  }
  const schema = schemas.add(bodyName(route), formSchema(formJson(reads.schema), docs.body ?? {}));
  // Tools send this type with the file, so it must not be a range such as `*/*`.
  const encoding = { "data[file]": { contentType: "application/octet-stream" } };
  return { required: true, content: { "multipart/form-data": { schema, encoding } } };
};
