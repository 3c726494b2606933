import * as z from "zod/mini";
import { type Fault, invalid, malformed, payloadTooLarge, unsupportedMediaType } from "../errors.ts";
import { limits } from "../limits.ts";
import type { BodyReads, QueryReads, Reads } from "../routes.ts";
import { check } from "../schema/check.ts";
import { header, type Incoming } from "./request.ts";

/** Reads a body: what it says, and what is wrong with it beside the schema. Throws where it cannot be read at all. */
export type ReadBody = (
  event: Incoming,
  reads: BodyReads,
) => Promise<{ readonly input: unknown; readonly faults: readonly Fault[] }>;

/** Reads a JSON body. 415 for another media type, 413 for one that is too large, 422 for one that cannot be read. */
export const readJson: ReadBody = async (event) => {
  if (!/^application\/json\s*(;|$)/i.test(header(event, "Content-Type") ?? ""))
    throw unsupportedMediaType("application/json");
  const body = event.isBase64Encoded ? Buffer.from(event.body ?? "", "base64").toString() : (event.body ?? "");
  if (Buffer.byteLength(body) > limits.jsonBytes) throw payloadTooLarge(limits.jsonBytes);
  try {
    return { input: JSON.parse(body), faults: [] };
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

/** Reads and checks what a route takes. All faults come in one response, those of the headers (`others`) too. */
export const readInput = async <S extends z.core.$ZodType>(
  event: Incoming,
  reads: Reads<S>,
  readBody: ReadBody,
  current: Current | undefined,
  others: readonly Fault[],
): Promise<z.output<S>> => {
  if (reads.from === "nothing") return z.parse(reads.schema, undefined);
  if (reads.from === "query") return parseQuery(event, reads);
  const { input, faults } = await readBody(event, reads);
  const checked = check(reads.schema, input, "body");
  const immutable = reads.from === "json" ? immutableFaults(input, reads.immutable, current) : [];
  const rules = (reads.from === "json" && reads.rules?.(input, current)) || [];
  const all = [...faults, ...(checked.faults ?? []), ...immutable, ...rules, ...others];
  if (checked.faults || all.length > 0) throw invalid(all);
  return checked.value;
};

const Sent = z.object({ data: z.record(z.string(), z.unknown()) });

/** A property that may be echoed with its current value, but not changed. */
const immutableFaults = (input: unknown, names: readonly string[], current: Current | undefined): Fault[] => {
  const sent = z.safeParse(Sent, input).data?.data ?? {};
  return names
    .filter((name) => Object.hasOwn(sent, name) && !echoes(sent[name], current?.[name]))
    .map((name) => ({
      in: "body",
      pointer: `/data/${name}`,
      sub_code: "constraint.immutable",
      detail: "can't be changed",
    }));
};

// Ids are compared without regard to case: ULIDs and UUIDs have none.
const echoes = (sent: unknown, current: unknown) =>
  sent === current ||
  (typeof sent === "string" && typeof current === "string" && sent.toLowerCase() === current.toLowerCase());
