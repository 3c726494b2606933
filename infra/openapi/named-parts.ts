import { isJson, type Json } from "./json.ts";
import { pascal } from "./names.ts";

/**
 * Names the parts of a schema. A generator names an inline enum or object by its position, such as
 * `CreateSwitchBodyDataSmsAuthMethod`, and generates a type for each position.
 */
export type Naming = {
  readonly properties: Readonly<Record<string, string>>;
  readonly schemaNames: Readonly<Record<string, string>>;
  readonly add: (name: string, schema: Json) => Json;
};

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

const named = (schema: Json, property: string, parent: string, naming: Naming): Json => {
  const nameOf = (name: string) => naming.schemaNames[name] ?? name;
  const { default: fallback, ...rest } = schema;
  const defaultValue = fallback === undefined ? {} : { default: fallback };
  if (Array.isArray(rest.enum) && rest.enum.length > 1)
    return { ...naming.add(nameOf(pascal(property)), rest), ...defaultValue };
  if (isJson(rest.properties)) {
    const name = objectName(rest, property, parent);
    return { ...naming.add(nameOf(name), namedParts(rest, name, naming)), ...defaultValue };
  }
  return schema;
};

const propertySchema = (schema: Json, property: string, parent: string, naming: Naming): Json => {
  // A property that is always null today may become an object later, and generators have no type for null alone.
  if (schema.type === "null") return { ...schema, type: ["object", "null"] };
  if (isJson(schema.items)) return { ...schema, items: named(schema.items, `${property}_item`, parent, naming) };
  const simple = withoutAnyOf(schema);
  const { anyOf } = simple;
  if (Array.isArray(anyOf))
    return {
      ...simple,
      anyOf: anyOf.map((option) => (isJson(option) ? named(option, property, parent, naming) : option)),
    };
  return named(simple, property, parent, naming);
};

/** Adds descriptions to the properties of the schema `name`, and moves its enums and objects to components of their own. */
export const namedParts = (schema: Json, name: string, naming: Naming): Json => {
  if (!isJson(schema.properties)) return schema;
  const properties = Object.entries(schema.properties).map(([property, inner]) => {
    const description = naming.properties[`${name}.${property}`] ?? naming.properties[property];
    const whole = isJson(inner) ? propertySchema(inner, property, name, naming) : inner;
    return [property, isJson(whole) && description ? { ...whole, description } : whole] as const;
  });
  return { ...schema, properties: Object.fromEntries(properties) };
};
