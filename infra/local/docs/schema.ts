import { isJson, type Json } from "../../openapi/json.ts";

export type Property = {
  /** `["data", "items[]", "type"]` for `data.items[].type`. */
  readonly path: readonly string[];
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  /** Further constraints on the value, in Markdown. */
  readonly rules: readonly string[];
};

export type Resolve = (value: unknown) => Json;

/** Resolves the `$ref`s in a document. A property beside a `$ref` overrides the same property of its target. */
export const resolver = (document: Json): Resolve => {
  const resolve = (value: unknown): Json => {
    if (!isJson(value)) return {};
    const { $ref, ...own } = value;
    if (typeof $ref !== "string") return value;
    const found = $ref
      .split("/")
      .slice(1)
      .reduce<unknown>((inner, name) => (isJson(inner) ? inner[name] : undefined), document);
    return { ...resolve(found), ...own };
  };
  return resolve;
};

export const textOf = (value: unknown) => (typeof value === "string" ? value : "");

export const requiredNames = ({ required }: Json): readonly unknown[] => (Array.isArray(required) ? required : []);

/** The schema without null as an option of `anyOf`, and whether null was one. */
export const withoutNull = (schema: Json, resolve: Resolve): { readonly schema: Json; readonly nullable: boolean } => {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf)) return { schema, nullable: false };
  const branches = anyOf.map(resolve);
  const other = branches.find(({ type }) => type !== "null") ?? {};
  return { schema: { ...other, ...rest }, nullable: branches.some(({ type }) => type === "null") };
};

export const isFile = ({ contentMediaType, format }: Json) => contentMediaType !== undefined || format === "binary";

const typeName = (given: Json, resolve: Resolve): string => {
  const { schema, nullable } = withoutNull(given, resolve);
  const { type, items, format } = schema;
  const plain = Array.isArray(type) ? type.join(" or ") : textOf(type) || "any";
  const named = isFile(schema) ? "file" : format ? `${plain} (${format})` : plain;
  const whole = type === "array" ? `array of ${typeName(resolve(items), resolve)}` : named;
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

/** The table rows of all properties of a schema, including nested ones. */
export const propertiesOf = (given: unknown, resolve: Resolve, path: readonly string[] = []): readonly Property[] => {
  const outer = withoutNull(resolve(given), resolve).schema;
  const required = requiredNames(outer);
  return Object.entries(isJson(outer.properties) ? outer.properties : {}).flatMap(([name, value]) => {
    const full = resolve(value);
    const { schema } = withoutNull(full, resolve);
    const items = resolve(schema.items);
    const here = [...path, isJson(items.properties) ? `${name}[]` : name];
    const row = {
      path: here,
      type: typeName(full, resolve),
      required: required.includes(name),
      description: textOf(full.description),
      rules: rulesOf(schema),
    };
    return [row, ...propertiesOf(schema, resolve, here), ...propertiesOf(items, resolve, here)];
  });
};

/** The table row of a parameter. */
export const parameterRow = (parameter: Json, resolve: Resolve): Property => {
  const schema = resolve(parameter.schema);
  return {
    path: [textOf(parameter.name)],
    type: typeName(schema, resolve),
    required: parameter.required === true,
    description: textOf(parameter.description),
    rules: rulesOf(schema),
  };
};
