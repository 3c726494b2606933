import { isUtf8 } from "node:buffer";
import * as z from "zod/mini";
import { invalid, malformed, type Problem, payloadTooLarge, problem, unsupportedMediaType } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Immutable, Properties, QueryReads, Reads } from "../route.ts";
import { check, repeatedNames } from "../schema/check.ts";
import { header, listHeader, type RequestEvent } from "./request.ts";

/** Parses a body, and reports problems that the schema does not cover. Throws if the body cannot be parsed. */
export type ReadBody = (event: RequestEvent) => Promise<ReadInput>;
export type ReadInput = { readonly input: unknown; readonly problems: readonly Problem[] };

/** Throws 415 for another media type, and for a body that is compressed or otherwise encoded. */
export const requireMediaType = (event: RequestEvent, expected: "application/json" | "multipart/form-data"): void => {
  const [sent = ""] = (header(event, "Content-Type") ?? "").split(";");
  if (sent.trim().toLowerCase() !== expected) throw unsupportedMediaType(expected);
  if (!/^(identity)?$/i.test(listHeader(event, "Content-Encoding")?.trim() ?? ""))
    throw unsupportedMediaType(expected, "The body must not have a Content-Encoding.");
};

/** Parses a JSON body. Throws 415 for another media type, 413 if the body is too large, and 422 if it cannot be parsed. */
export const readJson: ReadBody = async (event) => {
  requireMediaType(event, "application/json");
  const body = Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8");
  if (body.length > limits.jsonBytes) throw payloadTooLarge(limits.jsonBytes);
  if (!isUtf8(body)) throw malformed("is not valid UTF-8");
  const text = body.toString();
  if (text.startsWith("\ufeff")) throw malformed("must not begin with a byte order mark");
  try {
    return { input: JSON.parse(text), problems: repeatedNames(text) };
  } catch {
    throw malformed("is not valid JSON");
  }
};

/** Validates the query against the route's schema. Throws 422 with all problems. */
export const parseQuery = <S extends z.core.$ZodType>(event: RequestEvent, { schema }: QueryReads<S>): z.output<S> => {
  const all = Object.entries(event.multiValueQueryStringParameters ?? {});
  const repeated = new Map(all.filter(([, values = []]) => values.length > 1));
  // No parameter accepts a list, so a repeated one is invalid.
  const checked = check(schema, { ...event.queryStringParameters, ...Object.fromEntries(repeated) }, "query");
  const onlyOnce = (one: Problem) =>
    repeated.has(one.pointer.slice(1)) ? { ...one, detail: "must be given only once" } : one;
  if (checked.problems) throw invalid(checked.problems.map(onlyOnce));
  return checked.value;
};

/** The input for the endpoint's handler, and the content that is compared when an Idempotency-Key is used again. */
export type Input<T> = { readonly input: T; readonly compared: unknown };

/** Parses and validates the input of a route. One 422 reports all problems, including those of the headers. */
export const readInput = async <S extends z.core.$ZodType>(
  event: RequestEvent,
  reads: Reads<S>,
  readBody: ReadBody,
  current: Properties | undefined,
  headerProblems: readonly Problem[],
): Promise<Input<z.output<S>>> => {
  if (reads.from === "nothing") return { input: z.parse(reads.schema, undefined), compared: undefined };
  if (reads.from === "query") return { input: parseQuery(event, reads), compared: undefined };
  const { input: read, problems } = await readBody(event);
  const input = current ? read : withoutNulls(read);
  const checked = check(reads.schema, input, "body");
  const sent = dataOf(input);
  const immutable = reads.from === "json" ? immutableProblems(sent, reads.immutable ?? {}, current) : [];
  const rules = (reads.from === "json" && reads.rules?.(sent, current)) || [];
  const all = [...problems, ...(checked.problems ?? []), ...immutable, ...rules, ...headerProblems];
  if (checked.problems || all.length > 0) throw invalid(all);
  // The content to compare has no defaults, so that a deployment that changes one does not change the fingerprints of
  // Idempotency-Keys.
  const compared = Object.entries(dataOf(checked.value)).filter(([name]) => Object.hasOwn(sent, name));
  return { input: checked.value, compared };
};

const Body = z.looseObject({ data: z.record(z.string(), z.unknown()) });

/** In a create, null means that a property is left out, because serializers of Go, C# and Java write unset values so. */
const withoutNulls = (body: unknown): unknown => {
  const parsed = z.safeParse(Body, body).data;
  if (!parsed) return body;
  const given = Object.entries(parsed.data).filter(([, value]) => value !== null);
  return { ...parsed, data: Object.fromEntries(given) };
};

const dataOf = (body: unknown): Properties => z.safeParse(Body, body).data?.data ?? {};

const immutableProblems = (sent: Properties, immutable: Immutable, current: Properties | undefined): Problem[] =>
  Object.entries(immutable)
    .filter(([name, isSame]) => Object.hasOwn(sent, name) && !isSame(sent[name], current?.[name]))
    .map(([name]) => problem(name, "constraint.immutable", "can't be changed"));
