import * as z from "zod/mini";
import { UploadedFile } from "../../shared/attachments/schema.ts";
import { Actor } from "../../shared/history/event.ts";
import type { Contract } from "../../shared/route.ts";
import { contracts } from "../../shared/routes.ts";
import { PageInfo, sharedProperties } from "../../shared/schema/documents.ts";
import { Timestamp, Ulid, Uuid } from "../../shared/schema/fields.ts";
import { credential, Identity, Secret } from "../../shared/switches/schema.ts";
import { ErrorDocument, errorProperties, errorSchemas } from "./errors.ts";
import { pascal } from "./names.ts";

export type Json = { [name: string]: unknown };

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Collects one section of the document's components, by name. */
export const componentsOf = (section: string) => {
  const components = new Map<string, Json>();
  /** Adds a component and returns a reference to it. The same component may be added again. */
  const add = (name: string, value: Json): Json => {
    const existing = components.get(name);
    if (existing && JSON.stringify(existing) !== JSON.stringify(value))
      throw new Error(`Two different ${section} are named ${name}.`);
    components.set(name, value);
    return { $ref: `#/components/${section}/${name}` };
  };
  const sorted = () => Object.fromEntries([...components].sort(([a], [b]) => a.localeCompare(b)));
  return { add, sorted };
};

export type Share = ReturnType<typeof componentsOf>["add"];

const registry = z.registry<{ id: string; [keyword: string]: unknown }>();
registry.add(Ulid, { id: "Ulid", description: "A ULID, in upper case.", examples: ["01K9ZQ4T7M3C8XW5R2BN6HJDEF"] });
registry.add(Uuid, { id: "Uuid", description: "A UUID of any version, returned in lower case.", format: "uuid" });
registry.add(Timestamp, { id: "Timestamp", description: "UTC, ISO 8601, with milliseconds.", format: "date-time" });
registry.add(PageInfo, { id: "PageInfo", description: "The position of a page in its list." });
registry.add(Actor, {
  id: "Actor",
  description:
    "Who made the change: an API key and the user that it impersonates, an operator (a principal of IAM), or a run of the checkout.",
});
for (const [index, id] of ["ApiKeyActor", "OperatorActor", "CheckoutActor"].entries()) {
  const option = Actor.def.options[index];
  if (option) registry.add(option, { id });
}
for (const { documents } of contracts)
  for (const [type, document] of Object.entries(documents)) registry.add(document, { id: `${pascal(type)}Document` });
for (const [id, [schema, description]] of Object.entries(errorSchemas)) registry.add(schema, { id, description });

/**
 * OpenAPI 3.1 describes a file by `contentMediaType`; many generators support only the `format` of 3.0. There is no `minLength`,
 * because openapi-generator's Go client treats it as the length of a string and does not compile. There is no example, because
 * tools print it in place of a file.
 */
const binary = { type: "string", format: "binary", contentMediaType: "application/octet-stream" };

const rejectsBlank = (schema: z.core.$ZodType) =>
  !z.safeParse(schema, " ").success && z.safeParse(schema, "name").success;

/** Corrects what zod's JSON Schema cannot express, or expresses differently. */
const override: z.core.ToJSONSchemaParams["override"] = ({ zodSchema, jsonSchema }) => {
  // JSON Schema has no case-insensitive patterns, and generators match the pattern of a time against their own date's text.
  if (jsonSchema.format === "uuid" || jsonSchema.format === "date-time") delete jsonSchema.pattern;
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

type Naming = Pick<Contract, "properties" | "schemaNames">;

const baseOf = (parent: string) => parent.replace(/(Document|Data)$/, "");

/** `{type: "request", data: {...}}` is always a RequestDocument. */
const objectName = (schema: Json, property: string, parent: string): string => {
  const { type, data } = isJson(schema.properties) ? schema.properties : {};
  if (data && isJson(type) && typeof type.const === "string") return `${pascal(type.const)}Document`;
  return baseOf(parent) + pascal(property);
};

/** Converts `anyOf` of a type and null to a type array, which more generators support. */
const withoutAnyOf = ({ anyOf, ...rest }: Json): Json => {
  const options = Array.isArray(anyOf) ? anyOf.filter(isJson) : [];
  const other = options.find(({ type }) => type !== "null");
  const nullable = options.length === 2 && options.some(({ type }) => type === "null");
  if (!nullable || typeof other?.type !== "string" || other.enum || other.properties)
    return anyOf === undefined ? rest : { anyOf, ...rest };
  return { ...other, type: [other.type, "null"], ...rest };
};

/** Collects the schemas of the document while its operations are generated. */
export const collectSchemas = () => {
  const { add, sorted } = componentsOf("schemas");

  /**
   * Moves an enum or an object to a component of its own. A generator names an inline one by its position, such as
   * `CreateSwitchBodyDataSmsAuthMethod`, and generates a type for each position.
   */
  const named = (schema: Json, property: string, parent: string, naming: Naming): Json => {
    const nameOf = (name: string) => naming.schemaNames[name] ?? name;
    const { default: fallback, ...rest } = schema;
    const defaultValue = fallback === undefined ? {} : { default: fallback };
    if (Array.isArray(rest.enum) && rest.enum.length > 1)
      return { ...add(nameOf(pascal(property)), rest), ...defaultValue };
    if (isJson(rest.properties)) {
      const name = objectName(rest, property, parent);
      return { ...add(nameOf(name), withNamedParts(rest, name, naming)), ...defaultValue };
    }
    return schema;
  };

  const propertySchema = (schema: Json, property: string, parent: string, naming: Naming): Json => {
    // A property that is always null today may become an object later, and generators have no type for null alone.
    if (schema.type === "null") return { ...schema, type: ["object", "null"] };
    if (isJson(schema.items)) return { ...schema, items: named(schema.items, `${property}_item`, parent, naming) };
    const simple = withoutAnyOf(schema);
    const { anyOf } = simple;
    if (!Array.isArray(anyOf)) return named(simple, property, parent, naming);
    const options = anyOf.map((option) => (isJson(option) ? named(option, property, parent, naming) : option));
    return { ...simple, anyOf: options };
  };

  /** Adds descriptions to the properties of the schema `name`, and moves its enums and objects to components. */
  const withNamedParts = (schema: Json, name: string, naming: Naming): Json => {
    if (!isJson(schema.properties)) return schema;
    const texts: Naming["properties"] = { ...sharedProperties, ...naming.properties };
    const properties = Object.entries(schema.properties).map(([property, inner]) => {
      const description = texts[`${name}.${property}`] ?? texts[property];
      const whole = isJson(inner) ? propertySchema(inner, property, name, naming) : inner;
      return [property, isJson(whole) && description ? { ...whole, description } : whole] as const;
    });
    return { ...schema, properties: Object.fromEntries(properties) };
  };

  const translate = (json: Json, name: string, naming: Naming): Json => {
    for (const [part, definition] of Object.entries(isJson(json.$defs) ? json.$defs : {}))
      if (isJson(definition)) add(part, withNamedParts(bare(definition), part, naming));
    return withNamedParts(bare(json), name, naming);
  };

  return {
    add,
    sorted,
    request: (schema: z.core.$ZodType, name: string, contract: Contract) =>
      translate(toJson(schema, "input"), name, contract),
    /** The schemas of a form: the properties in `data`, and the others. */
    form: (schema: z.core.$ZodType, name: string, contract: Contract) => {
      const { properties, ...json } = toJson(schema, "input");
      const { data, ...outer } = isJson(properties) ? properties : {};
      return {
        outer: translate({ ...json, properties: outer }, name, contract),
        data: withNamedParts(isJson(data) ? data : {}, name, contract),
      };
    },
    response: (schema: z.core.$ZodType, name: string, naming: Naming) =>
      translate(toJson(schema, "output"), name, naming),
    error: () =>
      translate(toJson(ErrorDocument, "output"), "ErrorDocument", { properties: errorProperties, schemaNames: {} }),
  };
};

export type Schemas = ReturnType<typeof collectSchemas>;
