import type { DocumentedRoute } from "../../shared/route.ts";
import { bodyName } from "./names.ts";
import { formJson, type Json, type JsonSchema, mapped, type Schemas } from "./schemas.ts";

/** A part cannot be null; it is omitted instead. */
const partOf = ({ default: fallback, anyOf, type = [], ...rest }: JsonSchema, example: unknown): JsonSchema => {
  const [nonNull] = [type].flat().filter((each) => each !== "null");
  return {
    ...(nonNull && { type: nonNull }),
    ...anyOf?.find((option) => option.type !== "null"),
    ...rest,
    ...(fallback !== null && fallback !== undefined && { default: fallback }),
    // Postman's import reads `example` alone, tools of JSON Schema `examples`.
    ...(example !== undefined && { example, examples: [example] }),
  };
};

/** The schema of a form, with an example of each part but the file. The parts of `{type, data: {name}}` are `type` and `data[name]`. */
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
