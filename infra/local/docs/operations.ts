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
  readonly kind: "text" | "file" | "choice";
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

export type Operation = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Property[];
  readonly body: readonly Property[];
  readonly fields: readonly Field[];
  /** The JSON body to begin with; undefined where the body is a form, or where there is none. */
  readonly json: string | undefined;
  readonly isForm: boolean;
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

const exampleOf = (holder: Json, schema: Json): string => {
  const [first] = Array.isArray(schema.examples) ? schema.examples : [];
  return String(holder.example ?? first ?? "");
};

const parameterField = (parameter: Json, resolve: Resolve, idOf: string): Field => {
  const schema = resolve(parameter.schema);
  const name = textOf(parameter.name);
  const place = parameter.in === "path" || parameter.in === "query" ? parameter.in : "header";
  const rest = { kind: "text", choices: [], value: "", example: exampleOf(parameter, schema) } as const;
  return { place, name, required: parameter.required === true, ...rest, idOf };
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

const bodyOf = (operation: Json, resolve: Resolve) => {
  const body = resolve(operation.requestBody);
  const form = contentOf(body, resolve, "multipart/form-data");
  const json = contentOf(body, resolve, "application/json");
  return {
    body: propertiesOf((form ?? json)?.schema, resolve),
    parts: form ? partFields(resolve(form.schema), resolve) : [],
    json: form ? undefined : json && (examplesOf(json, resolve)[0]?.json ?? "{}"),
    isForm: form !== undefined,
  };
};

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
  const { parts, ...body } = bodyOf(operation, resolve);
  return {
    id: textOf(operation.operationId),
    method: method.toUpperCase(),
    path,
    summary: textOf(operation.summary),
    description: textOf(operation.description),
    parameters: parameters.map((parameter) => parameterRow(parameter, resolve)),
    ...body,
    fields: [...parameters.map((each) => parameterField(each, resolve, each.name === own ? type : "")), ...parts],
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
