import { isUtf8 } from "node:buffer";
import * as z from "zod/mini";
import { type Fault, invalid, malformed, payloadTooLarge, unsupportedMediaType } from "../errors.ts";
import { limits } from "../limits.ts";
import type { BodyReads, Immutable, QueryReads, Reads } from "../routes.ts";
import { check } from "../schema/check.ts";
import { header, type Incoming } from "./request.ts";

/** Reads a body: what it says, and what is wrong with it beside the schema. Throws where it cannot be read at all. */
export type ReadBody = <S extends z.core.$ZodType>(event: Incoming, reads: BodyReads<S>) => Promise<ReadInput<S>>;
type ReadInput<S> = { readonly input: unknown; readonly faults: readonly Fault[]; readonly schema: S };

/** Reads a JSON body. 415 for another media type, 413 for one that is too large, 422 for one that cannot be read. */
export const readJson: ReadBody = async (event, { schema }) => ({ input: jsonOf(event), faults: [], schema });

/** Whether a body is JSON, by its Content-Type. */
export const isJson = (event: Incoming): boolean =>
  /^application\/json\s*(;|$)/i.test(header(event, "Content-Type") ?? "");

/** A JSON body as it was sent. */
export const jsonOf = (event: Incoming): unknown => {
  if (!isJson(event)) throw unsupportedMediaType("application/json");
  if (!/^(identity)?$/i.test(header(event, "Content-Encoding")?.trim() ?? ""))
    throw unsupportedMediaType("application/json", "The body must not have a Content-Encoding.");
  const body = Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8");
  if (body.length > limits.jsonBytes) throw payloadTooLarge(limits.jsonBytes);
  if (!isUtf8(body)) throw malformed("is not valid UTF-8");
  try {
    return JSON.parse(body.toString());
  } catch {
    throw malformed("is not valid JSON");
  }
};

/** The stored document that a request changes, by its properties. */
export type Current = Readonly<Record<string, unknown>>;

/** The query, checked against the route's schema. 422 with all its faults. */
export const parseQuery = <S extends z.core.$ZodType>(event: Incoming, { schema }: QueryReads<S>): z.output<S> => {
  const checked = check(schema, event.queryStringParameters ?? {}, "query");
  if (checked.faults) throw invalid(checked.faults);
  return checked.value;
};

/** What was sent: as the endpoint takes it, and as an Idempotency-Key compares it. */
export type Input<T> = { readonly input: T; readonly compared: unknown };

/** Reads and checks what a route takes. All faults come in one response, those of the headers (`others`) too. */
export const readInput = async <S extends z.core.$ZodType>(
  event: Incoming,
  reads: Reads<S>,
  readBody: ReadBody,
  current: Current | undefined,
  others: readonly Fault[],
): Promise<Input<z.output<S>>> => {
  if (reads.from === "nothing") return { input: z.parse(reads.schema, undefined), compared: undefined };
  if (reads.from === "query") return { input: parseQuery(event, reads), compared: undefined };
  const { input, faults, schema } = await readBody(event, reads);
  const checked = check(schema, input, "body");
  const immutable = reads.from === "json" ? immutableFaults(input, reads.immutable, current) : [];
  const rules = (reads.from === "json" && reads.rules?.(input, current)) || [];
  const all = [...faults, ...(checked.faults ?? []), ...immutable, ...rules, ...others];
  if (checked.faults || all.length > 0) throw invalid(all);
  return { input: checked.value, compared: sentProperties(input, checked.value) };
};

const dataOf = (body: unknown) => z.safeParse(Body, body).data?.data ?? {};

/**
 * The properties of `data` that were sent, as they were read. Without the defaults of the others, a deployment that
 * changes a default leaves the fingerprints of Idempotency-Keys as they are.
 */
const sentProperties = (sent: unknown, read: unknown) => {
  const names = dataOf(sent);
  return Object.entries(dataOf(read)).filter(([name]) => Object.hasOwn(names, name));
};

const Body = z.object({ data: z.record(z.string(), z.unknown()) });

/** A property that may be echoed with its current value, but not changed. */
const immutableFaults = (input: unknown, immutable: Immutable, current: Current | undefined): Fault[] => {
  const sent = dataOf(input);
  return Object.entries(immutable)
    .filter(([name, isSame]) => Object.hasOwn(sent, name) && !isSame(sent[name], current?.[name]))
    .map(([name]) => ({
      in: "body",
      pointer: `/data/${name}`,
      sub_code: "constraint.immutable",
      detail: "can't be changed",
    }));
};
