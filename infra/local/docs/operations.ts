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

/** The OpenAPI document as the page shows it: references resolved, schemas as rows, bodies as fields. */

export type Place = "path" | "query" | "header" | "part";

/** What a visitor can fill in. */
export type Field = {
  readonly place: Place;
  readonly name: string;
  readonly required: boolean;
  readonly kind: "text" | "file" | "choice" | "several";
  readonly choices: readonly string[];
  /** What stands in it at first. */
  readonly value: string;
  readonly example: string;
  /** The type of the documents whose ids it takes, where the path's last part is such an id. */
  readonly idOf: string;
};

export type Example = { readonly title: string; readonly json: string };

export type Response = {
  readonly status: string;
  readonly description: string;
  readonly properties: readonly Property[];
  readonly examples: readonly Example[];
};

/** One way to write the body of a request. */
export type Body = {
  readonly mediaType: string;
  readonly properties: readonly Property[];
  /** The parts of a form. */
  readonly parts: readonly Field[];
  /** What a JSON body begins with; undefined where the body is a form. */
  readonly json: string | undefined;
  /** The type of the documents whose id is a property of the JSON: `upload` for `upload_id`. */
  readonly idOf: string;
  /** The longest file that the JSON can describe; undefined where it describes none. */
  readonly longestFile: number | undefined;
};

export type Operation = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Property[];
  readonly fields: readonly Field[];
  /** The first one is chosen at first. None where the operation takes no body. */
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

/** The names in a pattern of a list of names with commas between them, such as `^(file|forwarding)(,(file|forwarding))*$`. */
const listedNames = ({ pattern }: Json): readonly string[] =>
  /^\^\(([^()]+)\)\(,\(\1\)\)\*\$$/.exec(textOf(pattern))?.[1]?.split("|") ?? [];

const exampleOf = (holder: Json, schema: Json): string => {
  const [first] = Array.isArray(schema.examples) ? schema.examples : [];
  return String(holder.example ?? first ?? "");
};

const parameterField = (parameter: Json, resolve: Resolve, idOf: string): Field => {
  const schema = resolve(parameter.schema);
  const name = textOf(parameter.name);
  const place = parameter.in === "path" || parameter.in === "query" ? parameter.in : "header";
  const choices = listedNames(schema);
  const kind = choices.length > 0 ? "several" : "text";
  const example = exampleOf(parameter, schema);
  return { place, name, required: parameter.required === true, kind, choices, value: "", example, idOf };
};

/** Optional parts stay empty: an example's `reference_id` can be used only once. */
const partField = (name: string, given: unknown, required: boolean, resolve: Resolve): Field => {
  const { schema } = withoutNull(resolve(given), resolve);
  const choices = choicesOf(schema);
  const kind = isFile(schema) ? "file" : choices.length > 0 ? "choice" : "text";
  const example = exampleOf({}, schema);
  const value = kind === "choice" ? textOf(schema.default) || (choices[0] ?? "") : required ? example : "";
  return { place: "part", name, required, kind, choices, value: kind === "file" ? "" : value, example, idOf: "" };
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

const longestFileOf = (data: Json, resolve: Resolve) => {
  const { maximum } = resolve(data.bytes);
  return data.sha256 !== undefined && typeof maximum === "number" ? maximum : undefined;
};

const formOf = (content: Json, resolve: Resolve) => ({
  properties: propertiesOf(content.schema, resolve),
  parts: partFields(resolve(content.schema), resolve),
  json: undefined,
  idOf: "",
  longestFile: undefined,
});

const jsonOf = (content: Json, resolve: Resolve) => {
  const data = dataOf(content.schema, resolve);
  return {
    properties: propertiesOf(content.schema, resolve),
    parts: [],
    json: examplesOf(content, resolve)[0]?.json ?? "{}",
    idOf: idTypeOf(data),
    longestFile: longestFileOf(data, resolve),
  };
};

const bodiesOf = (operation: Json, resolve: Resolve): readonly Body[] =>
  Object.entries(resolve(resolve(operation.requestBody).content)).map(([mediaType, content]) => ({
    mediaType,
    ...(mediaType === "multipart/form-data" ? formOf : jsonOf)(resolve(content), resolve),
  }));

/** The `type` of the document that a response holds. */
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
  if (!success) throw new Error(`${method} ${path} documents no success.`);
  const own = /\{([^}]+)\}$/.exec(path)?.[1];
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

/** The operations of a document in the order of its tags. */
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
