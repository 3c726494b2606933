import * as z from "zod/mini";
import { UploadedFile } from "../../shared/attachments/attachment-schema.ts";
import type { NamedSchema, Route } from "../../shared/route.ts";
import { contracts, routes } from "../../shared/routes.ts";
import { envelopeProperties, listOf, listProperties, named, pageInfo } from "../../shared/schema/documents.ts";
import { Timestamp, Ulid, Uuid } from "../../shared/schema/fields.ts";
import { credential, Identity, Secret } from "../../shared/switches/switch-schema.ts";
import { ErrorDocument, errorSchemas } from "./error-examples.ts";
import { eventSchemas } from "./event-schemas.ts";
import { bodyName, pascal } from "./names.ts";

export type Json = { [name: string]: unknown };

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const differences = (one: unknown, other: unknown, at: string): string[] => {
  if (!isJson(one) || !isJson(other)) {
    const [first, second] = [JSON.stringify(one), JSON.stringify(other)];
    return first === second ? [] : [`${at}: ${first} and ${second}`];
  }
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((name) => differences(one[name], other[name], `${at}/${name}`));
};

/** Throws an error that says where the two differ. */
const requireSame = (message: string, one: Json, other: Json) => {
  const found = differences(one, other, "");
  if (found.length > 0) throw new Error([message, ...found].join("\n"));
};

/** Collects one section of the document's components, by name. */
export const componentsOf = (section: string) => {
  const components = new Map<string, Json>();
  /** Adds a component and returns a reference to it. The same component may be added again. */
  const add = (name: string, value: Json): Json => {
    requireSame(`Two different ${section} are named ${name}.`, components.get(name) ?? value, value);
    components.set(name, value);
    return { $ref: `#/components/${section}/${name}` };
  };
  const sorted = () => Object.fromEntries([...components].sort(([a], [b]) => a.localeCompare(b)));
  return { add, sorted };
};

export type Share = ReturnType<typeof componentsOf>["add"];

const documents = new Map(contracts.flatMap((contract) => Object.entries(contract.documents)));
const lists = new Map([...documents].map(([type, document]) => [type, listOf(document)]));

/** The schema of an operation's response. */
export const responseSchema = ({ document: type, operation }: Route): z.core.$ZodType => {
  const schema = (operation === "index" ? lists : documents).get(type);
  if (!schema) throw new Error(`There is no schema of the document ${type}.`);
  return schema;
};

const envelope = (name: string, schema: z.core.$ZodType): NamedSchema => ({
  name,
  schema,
  properties: envelopeProperties,
});

/** Every schema that is a component, but enums of one property. Forms are among them for their texts. */
const namedSchemas: readonly NamedSchema[] = [
  ...[...documents].map(([type, document]) => envelope(`${pascal(type)}Document`, document)),
  ...[...lists].flatMap(([type, list]) => [
    envelope(`${pascal(type)}List`, list),
    named(`${pascal(type)}ListData`, list.shape.data, listProperties),
  ]),
  ...routes.flatMap((route) =>
    "parts" in route.reads || route.reads.from === "json" ? [envelope(bodyName(route), route.reads.schema)] : [],
  ),
  ...[pageInfo, ...contracts.flatMap(({ schemas }) => schemas), ...errorSchemas, ...eventSchemas],
];

/** What zod adds to the JSON of each schema. `texts` become the descriptions of its properties. */
const registry = z.registry<{ id: string; texts?: NamedSchema["properties"]; [keyword: string]: unknown }>();
registry.add(Ulid, { id: "Ulid", description: "A ULID, in upper case.", examples: ["01K9ZQ4T7M3C8XW5R2BN6HJDEF"] });
registry.add(Uuid, { id: "Uuid", description: "A UUID of any version, returned in lower case.", format: "uuid" });
registry.add(Timestamp, { id: "Timestamp", description: "UTC, ISO 8601, with milliseconds.", format: "date-time" });
for (const { name, schema, properties: texts, description } of namedSchemas) {
  const meta = { id: name, ...(texts && { texts }), ...(description && { description }) };
  const known = registry.has(schema) ? registry.get(schema) : meta;
  requireSame(`The schema ${name} is named twice.`, { ...known }, meta);
  registry.add(schema, meta);
}

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
  // Tools of OpenAPI 3.0, such as Postman's import, know only `enum`.
  if (jsonSchema.const !== undefined) jsonSchema.enum = [jsonSchema.const];
  if (jsonSchema.type === "string" && jsonSchema.minLength === 1 && !jsonSchema.pattern && rejectsBlank(zodSchema))
    jsonSchema.pattern = "\\S";
  // A rule for the whole switch checks the pattern, since it must also be valid after a PATCH.
  if (zodSchema === Identity || zodSchema === Secret) jsonSchema.pattern = credential.source;
  if (zodSchema === UploadedFile) {
    for (const keyword of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, keyword);
    Object.assign(jsonSchema, binary);
  }
};

/** Converts a zod schema to JSON Schema, with its named parts as `$defs`. */
export const toJson = (schema: z.core.$ZodType, io: "input" | "output"): Json => {
  const raw = z.toJSONSchema(schema, { io, metadata: registry, unrepresentable: "any", override });
  const json: unknown = JSON.parse(JSON.stringify(raw).replaceAll("#/$defs/", "#/components/schemas/"));
  if (!isJson(json)) throw new Error("A schema must be an object.");
  return json;
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

// A property that is always null today may become an object later, and generators have no type for null alone.
const propertySchema = (schema: Json): Json =>
  schema.type === "null" ? { ...schema, type: ["object", "null"] } : withoutAnyOf(schema);

/** The schema without zod's own keywords, and with a description of each property. */
const described = ({ id: _id, $schema: _schema, $defs: _defs, texts, ...schema }: Json): Json => {
  if (!isJson(schema.properties)) return schema;
  const properties = Object.entries(schema.properties).map(([property, inner]) => {
    const description = isJson(texts) ? texts[property] : undefined;
    return [
      property,
      { ...propertySchema(isJson(inner) ? inner : {}), ...(typeof description === "string" && { description }) },
    ];
  });
  return { ...schema, properties: Object.fromEntries(properties) };
};

const defsOf = ({ $defs }: Json): [string, Json][] =>
  Object.entries(isJson($defs) ? $defs : {}).map(([name, part]) => [name, described(isJson(part) ? part : {})]);

/** The schema of a form without references: openapi-generator's Rust client does not compile with them. */
export const formJson = (form: z.core.$ZodType): Json => {
  const { $defs, ...whole } = toJson(form, "input");
  const parts = new Map(defsOf({ $defs }).map(([name, part]) => [`#/components/schemas/${name}`, part]));
  const inlined = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inlined);
    if (!isJson(value)) return value;
    const { $ref, ...rest } = value;
    const all = Object.entries({ ...parts.get(String($ref)), ...rest });
    return Object.fromEntries(all.map(([name, inner]) => [name, inlined(inner)]));
  };
  const json = inlined(whole);
  return isJson(json) ? json : {};
};

/** Collects the schemas of the document while its operations are generated. */
export const collectSchemas = () => {
  const { add, sorted } = componentsOf("schemas");

  /**
   * Moves an enum to a component that is named after its property. A generator names an inline one by its position, such
   * as `CreateSwitchBodyDataSmsAuthMethod`, and generates a type for each position.
   */
  const withNamedEnums = (schema: Json): Json => {
    if (!isJson(schema.properties)) return schema;
    const properties = Object.entries(schema.properties).map(([property, inner]) => {
      if (!isJson(inner) || !Array.isArray(inner.enum) || inner.enum.length < 2) return [property, inner];
      const { default: fallback, description, ...rest } = inner;
      const own = Object.entries({ default: fallback, description }).filter(([, value]) => value !== undefined);
      return [property, { ...add(pascal(property), rest), ...Object.fromEntries(own) }];
    });
    return { ...schema, properties: Object.fromEntries(properties) };
  };

  const collect = (schema: z.core.$ZodType, io: "input" | "output"): Json => {
    const json = toJson(schema, io);
    for (const [name, part] of defsOf(json)) add(name, withNamedEnums(part));
    return described(json);
  };

  return {
    add,
    sorted,
    request: (schema: z.core.$ZodType) => collect(schema, "input"),
    response: (schema: z.core.$ZodType) => collect(schema, "output"),
    error: () => collect(ErrorDocument, "output"),
  };
};

export type Schemas = ReturnType<typeof collectSchemas>;
