import * as z from "zod/mini";
import { AttachmentData, FileHint, UploadedFile } from "../../shared/attachments/schema.ts";
import { Timestamp, Ulid, Uuid } from "../../shared/schema/fields.ts";
import { documents, PageInfo } from "./documents.ts";
import { ErrorBody, ErrorObject, ErrorParams, ErrorSource } from "./error-body.ts";
import { pascal } from "./names.ts";
import { properties } from "./properties.ts";

export type Json = { [name: string]: unknown };

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const registry = z.registry<{ id: string; [keyword: string]: unknown }>();
registry.add(Ulid, { id: "Ulid", description: "A ULID, in upper case.", examples: ["01K9ZQ4T7M3C8XW5R2BN6HJDEF"] });
registry.add(Uuid, { id: "Uuid", description: "A UUID of any version; answered in lower case.", format: "uuid" });
registry.add(Timestamp, { id: "Timestamp", description: "UTC, ISO 8601, with milliseconds.", format: "date-time" });
registry.add(FileHint, {
  id: "FileHint",
  description: "`DEFAULT`: a general document. `LOA`: a letter of authorization.",
});
for (const [name, document] of Object.entries(documents)) registry.add(document, { id: pascal(name) });
registry.add(AttachmentData, { id: "Attachment" });
registry.add(PageInfo, { id: "PageInfo", description: "Where a page stands in its list." });
registry.add(ErrorBody, {
  id: "Errors",
  description: "The body of every error: all that is wrong, not only the first.",
});
registry.add(ErrorObject, { id: "Error", description: "One error." });
registry.add(ErrorSource, { id: "ErrorSource", description: "Which part of the request is wrong." });
registry.add(ErrorParams, { id: "ErrorParams", description: "Particulars; which are there depends on the code." });

const binary = { type: "string", contentMediaType: "application/octet-stream" };

/** What zod cannot know, or says in words that JSON Schema reads otherwise. */
const override: z.core.ToJSONSchemaParams["override"] = ({ zodSchema, jsonSchema }) => {
  // Regular expressions lose their `i` on the way into JSON Schema; `format` says it all.
  if (jsonSchema.format === "uuid") delete jsonSchema.pattern;
  // Answers may gain properties without notice.
  delete jsonSchema.additionalProperties;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (zodSchema === UploadedFile) {
    for (const keyword of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, keyword);
    Object.assign(jsonSchema, binary);
  }
};

/** Gives every property that has a description in `properties` that description. */
const described = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(described);
  if (!isJson(value)) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, described(inner)]));
  if (!isJson(copy.properties)) return copy;
  const entries = Object.entries(copy.properties).map(([name, inner]) => {
    const description = properties[name];
    return [name, isJson(inner) && description ? { ...inner, description } : inner] as const;
  });
  return { ...copy, properties: Object.fromEntries(entries) };
};

const withoutNames = (schema: Json): Json => {
  const { id: _id, $schema: _schema, $defs: _defs, ...rest } = schema;
  return rest;
};

/** The components that all schemas together refer to, collected while they are translated. */
export const collectSchemas = () => {
  const components = new Map<string, Json>();
  const put = (name: string, schema: Json) => {
    const known = components.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(schema)) throw new Error(`Two schemas are named ${name}.`);
    components.set(name, schema);
  };
  /** A zod schema as JSON Schema, its named parts moved to the components. */
  const translate = (schema: z.core.$ZodType, io: "input" | "output"): Json => {
    const raw = z.toJSONSchema(schema, { io, metadata: registry, unrepresentable: "any", override });
    const whole: unknown = JSON.parse(JSON.stringify(raw).replaceAll("#/$defs/", "#/components/schemas/"));
    const result = described(whole);
    if (!isJson(result)) throw new Error("not a schema");
    const defs = isJson(result.$defs) ? result.$defs : {};
    for (const [name, part] of Object.entries(defs)) if (isJson(part)) put(name, withoutNames(part));
    return withoutNames(result);
  };
  const named = (name: string, schema: Json): Json => {
    put(name, schema);
    return { $ref: `#/components/schemas/${name}` };
  };
  const sorted = () => Object.fromEntries([...components].sort(([a], [b]) => a.localeCompare(b)));
  return { translate, named, sorted };
};

export type Schemas = ReturnType<typeof collectSchemas>;
