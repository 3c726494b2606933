import type { MiddlewareObj } from "@middy/core";
import type { APIGatewayProxyEvent } from "aws-lambda";
import * as z from "zod/mini";
import { type Fault, invalid } from "../errors.ts";
import type { Reads } from "../routes.ts";
import { check } from "../schema/check.ts";
import type { KeyUse } from "./idempotency.ts";
import type { Scope } from "./request.ts";

const Sent = z.object({ data: z.record(z.string(), z.unknown()) });

/** A property that may be echoed with its current value, but not changed. */
const immutableFaults = (input: unknown, names: readonly string[], current: Scope["current"]): Fault[] => {
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

/** Reads a body: what it says, and what is wrong with it beside the schema. Throws where it cannot be read at all. */
export type ReadBody = (
  event: APIGatewayProxyEvent,
) => Promise<{ readonly input: unknown; readonly faults: readonly Fault[] }>;

/** Reads and checks what the route takes; all faults come in one answer. A list's query is its guard's. */
export const readInput = <S extends z.core.$ZodType>(
  reads: Reads<S>,
  readBody: ReadBody,
): MiddlewareObj<APIGatewayProxyEvent & { scope: Scope; keyUse: KeyUse | undefined; input: z.output<S> }> => ({
  before: async ({ event }) => {
    if (reads.from === "nothing" || reads.from === "query") return;
    const { input, faults } = await readBody(event);
    const checked = check(reads.schema, input, "body");
    const immutable = reads.from === "json" ? immutableFaults(input, reads.immutable, event.scope.current) : [];
    const rules = (reads.from === "json" && reads.rules?.(input, event.scope.current)) || [];
    const all = [...faults, ...(checked.faults ?? []), ...immutable, ...rules, ...(event.keyUse?.faults ?? [])];
    if (checked.faults || all.length > 0) throw invalid(all);
    event.input = checked.value;
  },
});
