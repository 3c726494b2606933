/** Reads JSON schemas: what the tables of properties show. */

export type Json = { [name: string]: unknown };

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const follow = (value: unknown, names: readonly string[]) =>
  names.reduce<unknown>((inner, name) => (isJson(inner) ? inner[name] : undefined), value);

/** The object below these names, or an empty one. */
export const at = (value: unknown, ...names: readonly string[]): Json => {
  const found = follow(value, names);
  return isJson(found) ? found : {};
};

export const textOf = (value: unknown) => (typeof value === "string" ? value : "");

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The document with what its `$ref`s point to. A property beside a `$ref` overrides the same property of its target. */
export const dereferenced = (document: Json): Json => {
  const expand = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(expand);
    if (!isJson(value)) return value;
    const { $ref, ...own } = value;
    const target = typeof $ref === "string" ? at(expand(follow(document, $ref.split("/").slice(1)))) : {};
    return { ...target, ...Object.fromEntries(Object.entries(own).map(([name, each]) => [name, expand(each)])) };
  };
  return at(expand(document));
};

/** A row of a table of properties. */
export type Property = {
  /** `["data", "items[]", "type"]` for `data.items[].type`. */
  readonly path: readonly string[];
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  /** Further constraints on the value, in Markdown. */
  readonly rules: readonly string[];
};

/** The schema without null as an option of `anyOf`, and whether null was one. */
export const withoutNull = (schema: Json): { readonly schema: Json; readonly nullable: boolean } => {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf)) return { schema, nullable: false };
  const other = anyOf.find(({ type }) => type !== "null");
  return { schema: { ...other, ...rest }, nullable: anyOf.some(({ type }) => type === "null") };
};

export const isFile = ({ contentMediaType, format }: Json) => contentMediaType !== undefined || format === "binary";

const typeName = (given: Json): string => {
  const { schema, nullable } = withoutNull(given);
  const { type, items, format } = schema;
  const plain = Array.isArray(type) ? type.join(" or ") : textOf(type) || "any";
  const named = isFile(schema) ? "file" : format ? `${plain} (${format})` : plain;
  const whole = type === "array" ? `array of ${typeName(at(items))}` : named;
  return nullable ? `${whole} or null` : whole;
};

const range = (least: unknown, most: unknown, unit: string): readonly string[] => {
  if (most === undefined && least === 1) return ["Not empty."];
  if (most === undefined) return least === undefined ? [] : [`At least ${least}${unit}.`];
  return [least === undefined ? `At most ${most}${unit}.` : `${least} to ${most}${unit}.`];
};

const code = (value: unknown) => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;

const rulesOf = (schema: Json): readonly string[] => {
  const { enum: choices, const: only, default: fallback } = schema;
  return [
    ...(only === undefined ? [] : [`Always ${code(only)}.`]),
    ...(Array.isArray(choices) ? [`One of ${choices.map(code).join(", ")}.`] : []),
    ...range(schema.minLength, schema.maxLength, " characters"),
    ...range(schema.minimum, schema.maximum, ""),
    ...range(schema.minItems, schema.maxItems, " items"),
    ...(fallback === undefined || fallback === null ? [] : [`Default: ${code(fallback)}.`]),
  ];
};

const row = (path: readonly string[], schema: Json, required: boolean, description: unknown): Property => ({
  path,
  type: typeName(schema),
  required,
  description: textOf(description),
  rules: rulesOf(withoutNull(schema).schema),
});

/** The table rows of all properties of a schema, including nested ones. */
export const propertiesOf = (given: unknown, path: readonly string[] = []): readonly Property[] => {
  const { properties, required } = withoutNull(at(given)).schema;
  return Object.entries(at(properties)).flatMap(([name, value]) => {
    const full = at(value);
    const { items } = withoutNull(full).schema;
    const here = [...path, isJson(at(items).properties) ? `${name}[]` : name];
    return [
      row(here, full, listOf(required).includes(name), full.description),
      ...propertiesOf(full, here),
      ...propertiesOf(items, here),
    ];
  });
};

/** The table row of a parameter. */
export const parameterRow = ({ name, schema, required, description }: Json): Property =>
  row([textOf(name)], at(schema), required === true, description);
