import type { Route } from "../../shared/routes.ts";
import { documents, listOf } from "./documents.ts";
import { ErrorBody } from "./error-body.ts";
import { exampleOf } from "./examples/by-route.ts";
import { pascal } from "./names.ts";
import { type Refusal, reasons, refusalsOf } from "./refusals.ts";
import type { Json, Schemas } from "./schemas.ts";

const text = { type: "string" };

/** The response headers, by their names on the wire. */
export const headers: Readonly<Record<string, Json>> = {
  "X-Request-Id": { description: "Names this request in the service's log.", schema: text },
  ETag: { description: "The version of the document, for `If-Match`.", schema: text },
  "Idempotency-Replayed": {
    description: "`true` where this is the first answer to the same `Idempotency-Key` again.",
    schema: { type: "string", enum: ["true"] },
  },
  "Retry-After": { description: "After how many seconds to try again.", schema: { type: "integer", minimum: 0 } },
  "WWW-Authenticate": {
    description: "Which kind of authentication is expected.",
    schema: { type: "string", enum: ["Bearer"] },
  },
};

const headersNamed = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const outcome = {
  index: "One page of the list.",
  show: "The document.",
  create: "The document as it was created.",
  update: "The document as it is now.",
  delete: "The document as it was.",
} as const;

const successOf = (route: Route, { translate, named }: Schemas): Json => {
  const { resource, operation, method, summary } = route;
  const isList = operation === "index";
  const document = documents[resource];
  const schema = isList
    ? named(`${pascal(resource)}List`, translate(listOf(document), "output"))
    : translate(document, "output");
  const names = ["X-Request-Id", ...(isList ? [] : ["ETag"]), ...(method === "POST" ? ["Idempotency-Replayed"] : [])];
  const examples = { example: { summary, value: exampleOf(route).answer } };
  return {
    description: outcome[operation],
    headers: headersNamed(names),
    content: { "application/json": { schema, examples } },
  };
};

const refusalResponse = (refusals: readonly Refusal[], schema: Json): Json => {
  const codes = [...new Set(refusals.map(({ code }) => code))];
  const examples = refusals.map(({ title, error }) => [title, { summary: title, value: error.body }]);
  const extra = refusals.flatMap(({ error }) => Object.keys(error.headers));
  return {
    description: codes.map((code) => `\`${code}\`: ${reasons[code]}.`).join("\n\n"),
    headers: headersNamed(["X-Request-Id", ...new Set(extra)]),
    content: { "application/json": { schema, examples: Object.fromEntries(examples) } },
  };
};

/** All responses of an operation: its success, and for each status what refuses it. Those that all share get a name. */
export const responsesOf = (
  route: Route,
  schemas: Schemas,
  share: (name: string, response: Json) => Json,
): Readonly<Record<string, Json>> => {
  const schema = schemas.translate(ErrorBody, "output");
  const byStatus = Map.groupBy(refusalsOf(route), ({ error }) => error.status);
  const refused = [...byStatus].map(([status, refusals]): [string, Json] => {
    const response = refusalResponse(refusals, schema);
    const title = refusals[0]?.error.body.errors[0]?.title ?? "";
    const kind = status === 413 || status === 415 ? pascal(route.reads.from) : "";
    const own = status === 403 || status === 404 || status === 422;
    return [String(status), own ? response : share(pascal(title) + kind, response)];
  });
  return Object.fromEntries([[String(route.status), successOf(route, schemas)], ...refused]);
};
