import { deepStrictEqual } from "node:assert";
import * as z from "zod/mini";
import { Filename, UploadedFile } from "../../shared/attachments/attachment-schema.ts";
import type { NamedSchema, Route } from "../../shared/route.ts";
import { contracts, routes } from "../../shared/routes.ts";
import { envelopeProperties, listOf, listProperties, named, pageInfo } from "../../shared/schema/documents.ts";
import {
  controlCharacters,
  mapped,
  Name,
  Timestamp,
  Ulid,
  Uuid,
  visibleCharacter,
} from "../../shared/schema/fields.ts";
import { credential, Identity, Secret } from "../../shared/switches/switch-schema.ts";
import { errorSchemas } from "./error-examples.ts";
import { eventSchemas } from "./event-schemas.ts";
import { bodyName, pascal } from "./names.ts";

export type Json = { [name: string]: unknown };

/** A JSON Schema, with the types of the keywords that are read here. */
export type JsonSchema = Json & {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  /** This is not a keyword. It has the descriptions of its properties, from `registry`. */
  readonly texts?: Readonly<Record<string, string>>;
};

/** Throws an error whose cause shows where the two differ. */
const requireSame = (message: string, one: Json, other: Json) => {
  try {
    deepStrictEqual(one, other);
  } catch (cause) {
    throw new Error(message, { cause });
  }
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

export const responseSchema = ({ document: type, operation }: Route): z.core.$ZodType => {
  const schema = (operation === "index" ? lists : documents).get(type);
  if (!schema) throw new Error(`There is no schema of the document ${type}.`);
  return schema;
};

const envelope = (name: string, description: string, schema: z.core.$ZodType) => ({
  name,
  description,
  schema,
  properties: envelopeProperties,
});

/** Every schema that is a component, except enums of single properties. Forms are included for their texts. */
const namedSchemas: readonly NamedSchema[] = [
  ...[...documents].map(([type, document]) =>
    envelope(`${pascal(type)}Document`, "A document, in its envelope.", document),
  ),
  ...[...lists].flatMap(([type, list]) => [
    envelope(`${pascal(type)}List`, "One page of a list, in its envelope.", list),
    named(`${pascal(type)}ListData`, "The documents of a page, and its position.", list.shape.data, listProperties),
  ]),
  ...routes.flatMap((route) =>
    "parts" in route.reads || route.reads.from === "json"
      ? [envelope(bodyName(route), "The body of a request.", route.reads.schema)]
      : [],
  ),
  pageInfo,
  ...contracts.flatMap(({ schemas }) => schemas),
  ...errorSchemas,
  ...eventSchemas,
];

/** The metadata that zod adds to a schema's JSON. `texts` become the descriptions of its properties. */
type Meta = { readonly id?: string; readonly texts?: NamedSchema["properties"]; readonly [keyword: string]: unknown };
const registry = z.registry<Meta>();
/** Without ids, nothing becomes a `$ref`. */
const inlineRegistry = z.registry<Meta>();

const register = (schema: z.core.$ZodType, meta: Meta) => {
  const { id, ...inline } = meta;
  requireSame(`The schema ${id} is named twice.`, registry.has(schema) ? { ...registry.get(schema) } : meta, meta);
  registry.add(schema, meta);
  inlineRegistry.add(schema, inline);
};

register(Ulid, { id: "Ulid", description: "A ULID, in upper case.", examples: ["01K9ZQ4T7M3C8XW5R2BN6HJDEF"] });
register(Timestamp, { id: "Timestamp", description: "UTC, ISO 8601, with milliseconds.", format: "date-time" });
// An id has no name, because ogen has its own types for UUIDs.
register(Uuid, { format: "uuid" });
// A rule for the whole switch checks the pattern, since it must also be valid after a PATCH.
for (const schema of [Identity, Secret]) register(schema, { pattern: credential.source });
/** The characters up to U+FFFF that are neither blank nor visible, as a part of a pattern. Not every dialect has Unicode's properties. */
const invisibleCharacters = (() => {
  const excluded = new RegExp(`[\\s${controlCharacters}]`);
  const ranges: [first: number, last: number][] = [];
  for (let code = 0; code < 0x1_0000; code += 1) {
    const character = String.fromCharCode(code);
    if (!character.isWellFormed() || excluded.test(character) || visibleCharacter.test(character)) continue;
    const range = ranges.at(-1);
    if (range && range[1] === code - 1) range[1] = code;
    else ranges.push([code, code]);
  }
  const escaped = (code: number) => `\\u${code.toString(16).padStart(4, "0")}`;
  return ranges.map(([first, last]) => escaped(first) + (first === last ? "" : `-${escaped(last)}`)).join("");
})();
// Several rules in one pattern, because generators support only one. It backtracks in long texts, so the service checks the rules
// separately. It also matches the spaces that the service trims.
const barred = `/\\\\${controlCharacters}`;
const notDots = `[^\\s.${barred}]|\\.[^${barred}]+\\.`;
register(Filename, { allOf: undefined, pattern: `^\\s*[^${barred}]*(${notDots})[^${barred}]*\\s*$` });
register(Name, {
  pattern: `^\\s*[^${controlCharacters}]*[^\\s${controlCharacters}${invisibleCharacters}][^${controlCharacters}]*\\s*$`,
});
// OpenAPI 3.1 describes a file by `contentMediaType`, but many generators support only the `format` of 3.0. There is no
// `minLength`, because openapi-generator's Go client treats it as the length of a string and does not compile. There is no example,
// because tools print it in place of a file.
const binary = { type: "string", format: "binary", contentMediaType: "application/octet-stream" };
register(UploadedFile, { ...binary, properties: undefined, required: undefined });
for (const { name: id, schema, properties: texts, description } of namedSchemas)
  register(schema, { id, ...(texts && { texts }), ...(description && { description }) });

const rejectsBlank = (schema: z.core.$ZodType) =>
  !z.safeParse(schema, " ").success && z.safeParse(schema, "name").success;

/** Corrects what zod's JSON Schema cannot express, or expresses differently. */
const override: z.core.ToJSONSchemaParams["override"] = ({ zodSchema, jsonSchema }) => {
  // JSON Schema has no case-insensitive patterns, and generators match a time's pattern against the text of their own date type.
  if (jsonSchema.format === "uuid" || jsonSchema.format === "date-time") delete jsonSchema.pattern;
  // A slash needs its backslash only in JavaScript. openapi-zod-client escapes it once more, and its code does not compile.
  jsonSchema.pattern &&= jsonSchema.pattern.replaceAll(/\\./g, (found) => (found === "\\/" ? "/" : found));
  // Responses may gain properties without notice.
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  // zod omits the default of a schema that trims, because the value before could differ.
  if (zodSchema instanceof z.ZodMiniDefault) jsonSchema.default = zodSchema.def.defaultValue;
  // The code that openapi-generator's Java client has for the enum of a boolean does not compile.
  if (typeof jsonSchema.const === "boolean") delete jsonSchema.const;
  // Tools for OpenAPI 3.0, such as Postman's import, support only `enum`.
  if (jsonSchema.const !== undefined) jsonSchema.enum = [jsonSchema.const];
  if (jsonSchema.type === "string" && jsonSchema.minLength === 1 && !jsonSchema.pattern && rejectsBlank(zodSchema))
    jsonSchema.pattern = "\\S";
};

/** Converts `anyOf` of a type and null to a type array, which more generators support. */
const withoutAnyOf = ({ anyOf = [], ...rest }: JsonSchema): JsonSchema => {
  const [other] = anyOf.filter(({ type }) => type !== "null");
  const nullable = anyOf.length === 2 && anyOf.some(({ type }) => type === "null");
  if (!nullable || typeof other?.type !== "string" || other.enum || other.properties)
    return anyOf.length > 0 ? { anyOf, ...rest } : rest;
  return { ...other, type: [other.type, "null"], ...rest };
};

// A property that is always null today may become an object later, and many generators have no type for null alone.
const propertySchema = (schema: JsonSchema): JsonSchema =>
  schema.type === "null" ? { ...schema, type: ["object", "null"], additionalProperties: true } : withoutAnyOf(schema);

/**
 * The default is said in words, because openapi-typescript requires a property with a default, and other generators send it with
 * each request.
 */
const defaultText = (fallback: unknown): string[] => {
  if (fallback === undefined || fallback === null) return [];
  return [`The default is \`${typeof fallback === "string" ? fallback : JSON.stringify(fallback)}\`.`];
};

/** Returns the schema with descriptions of its properties, recursively. */
const described = ({ texts = {}, ...schema }: JsonSchema): JsonSchema => {
  if (!schema.properties) return schema;
  const properties = mapped(schema.properties, (inner, name) => {
    const { default: fallback, ...rest } = propertySchema(described(inner));
    const description = [...(texts[name] ? [texts[name]] : []), ...defaultText(fallback)].join(" ");
    // A PATCH may contain the server's times and ignores them.
    const readOnly = name === "inserted_at" || name === "updated_at";
    return { ...rest, ...(readOnly && { readOnly }), ...(description && { description }) };
  });
  return { ...schema, properties };
};

type Io = "input" | "output";

/** In a create, null means that a property is left out. */
const withNulls = (schema: JsonSchema): JsonSchema => {
  if (!schema.properties) return schema;
  const properties = mapped(schema.properties, (inner, name) => {
    if (schema.required?.includes(name)) return inner;
    const { description, ...rest } = inner;
    if (rest.$ref) return { anyOf: [rest, { type: "null" }], description };
    return { ...inner, type: [...new Set([inner.type ?? [], "null"].flat())] };
  });
  return { ...schema, properties };
};

/** Converts a zod schema to JSON Schema. `parts` has the named parts, which references replace elsewhere. */
const convert = (schema: z.core.$ZodType, io: Io, metadata = registry) => {
  const text = JSON.stringify(z.toJSONSchema(schema, { io, metadata, unrepresentable: "any", override }));
  const {
    $schema: _,
    $defs = {},
    ...json
  }: JsonSchema = JSON.parse(text.replaceAll("#/$defs/", "#/components/schemas/"));
  return { json: described(json), parts: mapped($defs, described) };
};

export const propertiesOf = (schema: z.core.$ZodType) => convert(schema, "output").json.properties ?? {};

/** The schema of a form has no references, because openapi-generator's Rust client does not compile with them. */
export const formJson = (form: z.core.$ZodType): JsonSchema => convert(form, "input", inlineRegistry).json;

/** Collects the schemas of the document while its operations are generated. */
export const collectSchemas = () => {
  const { add, sorted } = componentsOf("schemas");

  /** Generators name an inline enum by its position, such as `CreateSwitchBodyDataSmsAuthMethod`, and generate a type for each. */
  const withNamedEnums = (schema: JsonSchema): JsonSchema => {
    if (!schema.properties) return schema;
    const properties = mapped(schema.properties, (inner, name) => {
      if (!inner.enum || inner.enum.length < 2) return inner;
      const { description, ...rest } = inner;
      return { ...add(pascal(name), rest), description };
    });
    return { ...schema, properties };
  };

  const collect = (schema: z.core.$ZodType, io: Io, change = (part: JsonSchema) => part): JsonSchema => {
    const { json, parts } = convert(schema, io);
    for (const [name, part] of Object.entries(parts)) add(name, change(withNamedEnums(part)));
    return json;
  };

  return {
    add,
    sorted,
    request: (schema: z.core.$ZodType) => collect(schema, "input"),
    create: (schema: z.core.$ZodType) => collect(schema, "input", withNulls),
    response: (schema: z.core.$ZodType) => collect(schema, "output"),
  };
};

export type Schemas = ReturnType<typeof collectSchemas>;
