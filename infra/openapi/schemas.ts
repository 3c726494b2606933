import * as z from "zod/mini";
import { UploadedFile } from "../../shared/attachments/schema.ts";
import type { ResourceType } from "../../shared/routes.ts";
import { envelopeProperties } from "../../shared/schema/descriptions.ts";
import { Timestamp, Ulid, Uuid } from "../../shared/schema/fields.ts";
import { listProperties, PageInfo } from "../../shared/schema/page-document.ts";
import { credential, Identity, Secret } from "../../shared/switches/schema.ts";
import { componentsOf } from "./components.ts";
import { descriptionsOf, documents } from "./domains.ts";
import { ErrorDocument, errorProperties, errorSchemas } from "./error-document.ts";
import { isJson, type Json } from "./json.ts";
import { type Naming, namedParts } from "./named-parts.ts";
import { pascal } from "./names.ts";

const registry = z.registry<{ id: string; [keyword: string]: unknown }>();
registry.add(Ulid, { id: "Ulid", description: "A ULID, in upper case.", examples: ["01K9ZQ4T7M3C8XW5R2BN6HJDEF"] });
registry.add(Uuid, { id: "Uuid", description: "A UUID of any version, returned in lower case.", format: "uuid" });
registry.add(Timestamp, { id: "Timestamp", description: "UTC, ISO 8601, with milliseconds.", format: "date-time" });
registry.add(PageInfo, { id: "PageInfo", description: "The position of a page in its list." });
for (const [name, document] of Object.entries(documents)) registry.add(document, { id: `${pascal(name)}Document` });
for (const [id, [schema, description]] of Object.entries(errorSchemas)) registry.add(schema, { id, description });

/**
 * OpenAPI 3.1 describes a file by `contentMediaType`; many generators support only the `format` of 3.0. There is no `minLength`,
 * because openapi-generator's Go client treats it as the length of a string and does not compile.
 */
const binary = { type: "string", format: "binary", contentMediaType: "application/octet-stream" };

const rejectsBlank = (schema: z.core.$ZodType) =>
  !z.safeParse(schema, " ").success && z.safeParse(schema, "name").success;

/** Corrects what zod's JSON Schema cannot express, or expresses differently. */
const override: z.core.ToJSONSchemaParams["override"] = ({ zodSchema, jsonSchema }) => {
  // JSON Schema has no case-insensitive patterns; `format` is enough.
  if (jsonSchema.format === "uuid") delete jsonSchema.pattern;
  // Responses may gain properties without notice.
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.type === "string" && jsonSchema.minLength === 1 && !jsonSchema.pattern && rejectsBlank(zodSchema))
    jsonSchema.pattern = "\\S";
  // A rule for the whole switch checks the pattern, since it must also be valid after a PATCH.
  if (zodSchema === Identity || zodSchema === Secret) jsonSchema.pattern = credential.source;
  if (zodSchema === UploadedFile) {
    for (const keyword of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, keyword);
    Object.assign(jsonSchema, binary);
  }
};

/** Converts a zod schema to JSON Schema, with its registered parts as `$defs`. */
export const toJson = (schema: z.core.$ZodType, io: "input" | "output"): Json => {
  const raw = z.toJSONSchema(schema, { io, metadata: registry, unrepresentable: "any", override });
  const json: unknown = JSON.parse(JSON.stringify(raw).replaceAll("#/$defs/", "#/components/schemas/"));
  if (!isJson(json)) throw new Error("A schema must be an object.");
  return json;
};

const bare = ({ id: _id, $schema: _schema, $defs: _defs, ...rest }: Json): Json => rest;

type Context = { readonly properties: Naming["properties"]; readonly schemaNames?: Naming["schemaNames"] };

const contextOf = (resource: ResourceType): Context => {
  const { properties, schemaNames } = descriptionsOf(resource);
  return {
    properties: { ...envelopeProperties, ...listProperties, ...properties },
    ...(schemaNames && { schemaNames }),
  };
};

/** Collects the schemas of the document while its operations are generated. */
export const collectSchemas = () => {
  const components = componentsOf("schemas");

  const naming = ({ properties, schemaNames = {} }: Context): Naming => ({
    properties,
    schemaNames,
    add: components.add,
  });
  const addParts = ({ $defs }: Json, context: Context) => {
    for (const [part, definition] of Object.entries(isJson($defs) ? $defs : {}))
      if (isJson(definition)) components.add(part, namedParts(bare(definition), part, naming(context)));
  };
  const translate = (json: Json, name: string, context: Context): Json => {
    addParts(json, context);
    return namedParts(bare(json), name, naming(context));
  };

  return {
    ...components,
    /** The schema of a JSON request body. */
    request: (schema: z.core.$ZodType, name: string, resource: ResourceType) =>
      translate(toJson(schema, "input"), name, contextOf(resource)),
    /** The schemas of a form: the properties in `data`, and the others. */
    form: (schema: z.core.$ZodType, name: string, resource: ResourceType) => {
      const { properties, ...json } = toJson(schema, "input");
      const { data, ...outer } = isJson(properties) ? properties : {};
      const part = (inner: Json) => namedParts(inner, name, naming(contextOf(resource)));
      addParts(json, contextOf(resource));
      return { outer: part({ properties: outer }), data: part(isJson(data) ? data : {}) };
    },
    /** The schema of a response. */
    response: (schema: z.core.$ZodType, name: string, resource: ResourceType) =>
      translate(toJson(schema, "output"), name, contextOf(resource)),
    error: () => translate(toJson(ErrorDocument, "output"), "ErrorDocument", { properties: errorProperties }),
  };
};

export type Schemas = ReturnType<typeof collectSchemas>;
