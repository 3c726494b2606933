import { isJson, type Json } from "../../openapi/json.ts";
import {
  isFile,
  type Property,
  parameterRow,
  propertiesOf,
  type Resolve,
  requiredNames,
  resolver,
  textOf,
  withoutNull,
} from "./schema.ts";

/** Prepares the OpenAPI document for the page: resolves references, and converts schemas to table rows and parameters to fields. */

type Location = "path" | "query" | "header" | "part";

/** An input of the form for trying an operation. */
export type Field = {
  readonly location: Location;
  readonly name: string;
  readonly required: boolean;
  readonly kind: "text" | "file" | "select" | "checkboxes";
  readonly choices: readonly string[];
  /** The initial value. */
  readonly value: string;
  readonly example: string;
  /** If the path ends in this id, the type of the document it identifies. Otherwise empty. */
  readonly idOf: string;
};

export type Example = { readonly title: string; readonly json: string };

export type Response = {
  readonly status: string;
  readonly description: string;
  readonly properties: readonly Property[];
  readonly examples: readonly Example[];
};

/** The body of a request in one media type. */
export type Body = {
  readonly mediaType: string;
  readonly properties: readonly Property[];
  /** The parts of a form. */
  readonly parts: readonly Field[];
  /** The initial JSON body. Undefined for a form. */
  readonly json: string | undefined;
  /** The type of the document whose id is in the JSON: `upload` for `upload_id`. Otherwise empty. */
  readonly idOf: string;
  /** The largest file that the JSON can describe, in bytes. Undefined if it does not describe a file. */
  readonly maxFileBytes: number | undefined;
};

export type Operation = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Property[];
  readonly fields: readonly Field[];
  /** Initially, the first one is selected. Empty if the operation has no body. */
  readonly bodies: readonly Body[];
  readonly success: Response;
  readonly errors: readonly Response[];
};

export type Group = { readonly name: string; readonly description: string; readonly operations: readonly Operation[] };

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

const examplesOf = (content: Json, resolve: Resolve): readonly Example[] =>
  Object.entries(isJson(content.examples) ? content.examples : {}).map(([name, each]) => {
    const { summary, value } = resolve(each);
    return { title: textOf(summary) || name, json: pretty(value) };
  });

const contentOf = (holder: Json, resolve: Resolve, mediaType: string): Json | undefined => {
  const content = resolve(holder.content);
  return Object.hasOwn(content, mediaType) ? resolve(content[mediaType]) : undefined;
};

const responseOf = (status: string, response: Json, resolve: Resolve): Response => {
  const content = contentOf(response, resolve, "application/json") ?? {};
  return {
    status,
    description: textOf(response.description),
    properties: propertiesOf(content.schema, resolve),
    examples: examplesOf(content, resolve),
  };
};

const choicesOf = ({ enum: choices, const: only }: Json): readonly string[] =>
  (Array.isArray(choices) ? choices : only === undefined ? [] : [only]).map(String);

/** The names in the pattern of a comma-separated list, such as `^(file|forwarding)(,(file|forwarding))*$`. */
const listedNames = ({ pattern }: Json): readonly string[] =>
  /^\^\(([^()]+)\)\(,\(\1\)\)\*\$$/.exec(textOf(pattern))?.[1]?.split("|") ?? [];

const exampleOf = (holder: Json, schema: Json): string => {
  const [first] = Array.isArray(schema.examples) ? schema.examples : [];
  return String(holder.example ?? first ?? "");
};

const parameterField = (parameter: Json, resolve: Resolve, idOf: string): Field => {
  const schema = resolve(parameter.schema);
  const name = textOf(parameter.name);
  const location = parameter.in === "path" || parameter.in === "query" ? parameter.in : "header";
  const choices = listedNames(schema);
  const kind = choices.length > 0 ? "checkboxes" : "text";
  const example = exampleOf(parameter, schema);
  return { location, name, required: parameter.required === true, kind, choices, value: "", example, idOf };
};

/** Optional parts are initially empty, because the `reference_id` of an example can be used only once. */
const partField = (name: string, given: unknown, required: boolean, resolve: Resolve): Field => {
  const { schema } = withoutNull(resolve(given), resolve);
  const choices = choicesOf(schema);
  const kind = isFile(schema) ? "file" : choices.length > 0 ? "select" : "text";
  const example = exampleOf({}, schema);
  const value = kind === "select" ? textOf(schema.default) || (choices[0] ?? "") : required ? example : "";
  return { location: "part", name, required, kind, choices, value: kind === "file" ? "" : value, example, idOf: "" };
};

const partFields = (schema: Json, resolve: Resolve) => {
  const required = requiredNames(schema);
  return Object.entries(isJson(schema.properties) ? schema.properties : {}).map(([name, part]) =>
    partField(name, part, required.includes(name), resolve),
  );
};

/** The properties of a JSON document's `data`. */
const dataOf = (schema: unknown, resolve: Resolve): Json =>
  resolve(resolve(resolve(resolve(schema).properties).data).properties);

const idTypeOf = (data: Json) =>
  Object.keys(data)
    .map((name) => /^(\w+)_id$/.exec(name)?.[1] ?? "")
    .find((type) => type !== "" && type !== "reference") ?? "";

const maxFileBytesOf = (data: Json, resolve: Resolve) => {
  const { maximum } = resolve(data.bytes);
  return data.sha256 !== undefined && typeof maximum === "number" ? maximum : undefined;
};

const formOf = (content: Json, resolve: Resolve) => ({
  properties: propertiesOf(content.schema, resolve),
  parts: partFields(resolve(content.schema), resolve),
  json: undefined,
  idOf: "",
  maxFileBytes: undefined,
});

const jsonOf = (content: Json, resolve: Resolve) => {
  const data = dataOf(content.schema, resolve);
  return {
    properties: propertiesOf(content.schema, resolve),
    parts: [],
    json: examplesOf(content, resolve)[0]?.json ?? "{}",
    idOf: idTypeOf(data),
    maxFileBytes: maxFileBytesOf(data, resolve),
  };
};

const bodiesOf = (operation: Json, resolve: Resolve): readonly Body[] =>
  Object.entries(resolve(resolve(operation.requestBody).content)).map(([mediaType, content]) => ({
    mediaType,
    ...(mediaType === "multipart/form-data" ? formOf : jsonOf)(resolve(content), resolve),
  }));

/** The `type` of the document in a response. */
const typeOfDocument = (response: unknown, resolve: Resolve): string => {
  const content = contentOf(resolve(response), resolve, "application/json");
  const { properties } = resolve(content?.schema);
  return textOf(resolve(resolve(properties).type).const);
};

const operationOf = (path: string, method: string, operation: Json, resolve: Resolve): Operation => {
  const parameters = (Array.isArray(operation.parameters) ? operation.parameters : []).map(resolve);
  const responses = Object.entries(resolve(operation.responses)).map(([status, response]) =>
    responseOf(status, resolve(response), resolve),
  );
  const success = responses.find(({ status }) => status.startsWith("2"));
  if (!success) throw new Error(`${method} ${path} has no success response.`);
  const own = /\{([^{}]+)\}$/.exec(path)?.[1];
  const type = typeOfDocument(resolve(operation.responses)[success.status], resolve);
  return {
    id: textOf(operation.operationId),
    method: method.toUpperCase(),
    path,
    summary: textOf(operation.summary),
    description: textOf(operation.description),
    parameters: parameters.map((parameter) => parameterRow(parameter, resolve)),
    fields: parameters.map((each) => parameterField(each, resolve, each.name === own ? type : "")),
    bodies: bodiesOf(operation, resolve),
    success,
    errors: responses.filter((response) => response !== success),
  };
};

/** The operations of the document, grouped by tag and in the order of the tags. */
export const groupsOf = (document: Json): readonly Group[] => {
  const resolve = resolver(document);
  const all = Object.entries(resolve(document.paths)).flatMap(([path, methods]) =>
    Object.entries(resolve(methods)).map(([method, operation]) => ({ path, method, operation: resolve(operation) })),
  );
  const tags = (Array.isArray(document.tags) ? document.tags : []).map(resolve);
  return tags.map((tag) => ({
    name: textOf(tag.name),
    description: textOf(tag.description),
    operations: all
      .filter(({ operation }) => Array.isArray(operation.tags) && operation.tags.includes(tag.name))
      .map(({ path, method, operation }) => operationOf(path, method, operation, resolve)),
  }));
};
