import { readFileSync } from "node:fs";
import { afterAll, expect, it } from "vitest";
import * as z from "zod/mini";
import { orderWithOneAttachment } from "../../support/fixtures/orders.ts";
import { carrier } from "../../support/servers/carrier.ts";
import { loadStep } from "../../support/servers/workflow.ts";

/**
 * What the steps of an execution of version 1.0 hand to each other. Never change the file: executions of that version run for up to
 * a week after a deployment, with the definition that they started with and the functions of today.
 */
const Exchanges = z.array(
  z.object({
    step: z.string(),
    /** The carrier's call that gets a 503 meanwhile. */
    unavailable: z.optional(z.string()),
    input: z.record(z.string(), z.unknown()),
    output: z.record(z.string(), z.unknown()),
  }),
);
const frozen = readFileSync(new URL("states-of-1.0.json", import.meta.url), "utf8");

const upstream = await carrier();
afterAll(() => upstream.close());

it("the steps read the states of an execution of version 1.0, and write states that it can read", async () => {
  const { id, requests } = await orderWithOneAttachment();
  const text = frozen.replaceAll("ORDER", id).replaceAll("REQUEST", requests[0] ?? "");
  for (const [index, { step, unavailable, input, output }] of z.parse(Exchanges, JSON.parse(text)).entries()) {
    const busy = { action: "status", status: 503, headers: { "Retry-After": "600" } } as const;
    if (unavailable) await upstream.misbehave({ method: unavailable, ...busy });
    expect(await loadStep(`checkout/${step}`)?.(input), `${index}: ${step}`).toEqual(output);
  }
});
