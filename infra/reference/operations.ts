import {
  at,
  dereferenced,
  isFile,
  type Json,
  listOf,
  parameterRow,
  propertiesOf,
  textOf,
  withoutNull,
} from "./schema.ts";

/** Prepares the OpenAPI document for the page: converts schemas to table rows, and parameters to fields. */

/** An input of the form for trying an operation. */
export type Field = {
  readonly location: "path" | "query" | "header" | "part";
  readonly name: string;
  readonly required: boolean;
  readonly kind: "text" | "file" | "select" | "checkboxes";
  readonly choices: readonly string[];
  /** The initial value. */
  readonly value: string;
  readonly example: string;
  /** The type of the documents whose id this is, if an operation creates them. Otherwise empty. */
  readonly idOf: string;
};

export type Example = { readonly title: string; readonly json: string };

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

const examplesOf = ({ examples, example }: Json): readonly Example[] => {
  if (example !== undefined) return [{ title: "Example", json: pretty(example) }];
  return Object.entries(at(examples)).map(([name, each]) => {
    const { summary, value } = at(each);
    return { title: textOf(summary) || name, json: pretty(value) };
  });
};

/** The content of a request or response, which has one media type at most. */
const contentOf = (holder: unknown) => {
  const [[mediaType, content] = ["", {}]] = Object.entries(at(holder, "content"));
  const schema = at(content, "schema");
  return { mediaType, schema, properties: propertiesOf(schema), examples: examplesOf(at(content)) };
};

const responseOf = ([status, response]: readonly [string, unknown]) => ({
  status,
  description: textOf(at(response).description),
  ...contentOf(response),
});

export type Response = ReturnType<typeof responseOf>;

const choicesOf = ({ enum: choices, const: only }: Json): readonly string[] =>
  (only === undefined ? listOf(choices) : [only]).map(String);

/** The names in the pattern of a comma-separated list, such as `^(file|forwarding)(,(file|forwarding))*$`. */
const listedNames = ({ pattern }: Json): readonly string[] =>
  /^\^\(([^()]+)\)\(,\(\1\)\)\*\$$/.exec(textOf(pattern))?.[1]?.split("|") ?? [];

const exampleOf = (schema: Json, example: unknown = listOf(schema.examples)[0] ?? "") => String(example);

const parameterField = (parameter: Json, idOf: string): Field => {
  const schema = at(parameter.schema);
  const name = textOf(parameter.name);
  const location = parameter.in === "path" || parameter.in === "query" ? parameter.in : "header";
  const choices = listedNames(schema);
  const kind = choices.length > 0 ? "checkboxes" : "text";
  const example = exampleOf(schema, parameter.example);
  return { location, name, required: parameter.required === true, kind, choices, value: "", example, idOf };
};

/** Optional parts are initially empty, because the `reference_id` of an example can be used only once. */
const partField = (name: string, given: unknown, required: boolean): Field => {
  const { schema } = withoutNull(at(given));
  const choices = choicesOf(schema);
  const kind = isFile(schema) ? "file" : choices.length > 0 ? "select" : "text";
  const example = exampleOf(schema);
  const value = kind === "select" ? textOf(schema.default) || (choices[0] ?? "") : required ? example : "";
  return { location: "part", name, required, kind, choices, value: kind === "file" ? "" : value, example, idOf: "" };
};

const partFields = ({ required, properties }: Json) =>
  Object.entries(at(properties)).map(([name, part]) => partField(name, part, listOf(required).includes(name)));

/** The largest file that `data` can describe, if it describes a file by its length and hash. */
const maxFileBytesOf = (schema: Json) => {
  const { bytes, sha256 } = at(schema, "properties", "data", "properties");
  const { maximum } = at(bytes);
  return sha256 !== undefined && typeof maximum === "number" ? maximum : undefined;
};

const bodyOf = ({ requestBody }: Json) => {
  const content = contentOf(requestBody);
  const isForm = content.mediaType === "multipart/form-data";
  if (!content.mediaType) return undefined;
  return {
    ...content,
    parts: isForm ? partFields(content.schema) : [],
    /** The initial JSON body. Undefined for a form. */
    json: isForm ? undefined : (content.examples[0]?.json ?? "{}"),
    maxFileBytes: maxFileBytesOf(content.schema),
  };
};

export type Body = NonNullable<ReturnType<typeof bodyOf>>;

const isSuccess = ([status]: readonly [string, unknown]) => status.startsWith("2");

/** The type of the documents that a path parameter identifies: what a POST to the path before it creates. */
const idTypeOf = (paths: Json, path: string, parameter: Json): string => {
  const [collection = ""] = parameter.in === "path" ? path.split(`/{${parameter.name}}`) : [];
  const [, created] = Object.entries(at(paths, collection, "post", "responses")).find(isSuccess) ?? [];
  return textOf(at(contentOf(created).schema, "properties", "type").const);
};

type Call = { readonly path: string; readonly method: string; readonly operation: Json };

const operationOf = (paths: Json, { path, method, operation }: Call) => {
  const parameters = listOf(operation.parameters).map((each) => at(each));
  const responses = Object.entries(at(operation.responses));
  const success = responses.find(isSuccess);
  if (!success) throw new Error(`${method} ${path} has no success response.`);
  return {
    id: textOf(operation.operationId),
    method: method.toUpperCase(),
    path,
    summary: textOf(operation.summary),
    description: textOf(operation.description),
    parameters: parameters.map(parameterRow),
    fields: parameters.map((each) => parameterField(each, idTypeOf(paths, path, each))),
    body: bodyOf(operation),
    success: responseOf(success),
    errors: responses.filter((each) => each !== success).map(responseOf),
  };
};

export type Operation = ReturnType<typeof operationOf>;

/** A webhook of the document: an event that the service sends. */
const eventOf = ({ path, operation }: Call) => ({
  name: path,
  summary: textOf(operation.summary) || path,
  description: textOf(operation.description),
  body: bodyOf(operation),
});

export type Event = ReturnType<typeof eventOf>;

/** The operations of paths or of webhooks. */
const callsIn = (paths: Json): readonly Call[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(at(methods)).map(([method, operation]) => ({ path, method, operation: at(operation) })),
  );

/** What the page shows of the document. Operations are grouped by tag, in the order of the tags. */
export const readPage = (document: Json) => {
  const { info, tags, paths, webhooks } = dereferenced(document);
  const calls = callsIn(at(paths));
  const groups = listOf(tags).map((tag) => {
    const { name, description } = at(tag);
    const own = calls.filter(({ operation }) => listOf(operation.tags).includes(name));
    return {
      name: textOf(name),
      description: textOf(description),
      operations: own.map((call) => operationOf(at(paths), call)),
    };
  });
  const events = callsIn(at(webhooks)).map(eventOf);
  const { title, version, description } = at(info);
  return { title: textOf(title), version: textOf(version), description: textOf(description), groups, events };
};

export type Page = ReturnType<typeof readPage>;
